// $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g csharp -o cards --library httpclient --additional-properties targetFramework=netstandard2.0
// $ dotnet new console -o send
// $ dotnet add send reference cards/src/Org.OpenAPITools
// $ cp openapi-generator.cs send/Program.cs && dotnet run --project send
using System;
using Newtonsoft.Json.Linq;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

class Send {
  static void Main() {
    var settings = new Configuration { AccessToken = Environment.GetEnvironmentVariable("API_KEY") };
    var api = new CardsApi(settings);
    var ada = new RecipientInput(
      name: "Ada Lovelace", line1: "12 Analytical Way", city: "Springfield", state: "IL", zip: "62701");

    try {
      var card = new CardInput(recipient: ada, message: "Thank you, Ada!");
      Console.WriteLine("Sent " + api.SendCard(card, idempotencyKey: "order-4711").Id);
    } catch (ApiException refused) when (refused.ErrorCode == 402) {
      Console.WriteLine("Add credits, and send it again with the same key");
    } catch (ApiException refused) when (refused.ErrorCode == 422) {
      var error = JObject.Parse((string)refused.ErrorContent)["error"];
      Console.WriteLine("Correct the card: " + error["message"]);
    }

    var count = 0;
    for (var cursor = ""; cursor != null;) {
      var page = api.ListCards(startingAfter: cursor);
      count += page.Data.Count;
      cursor = page.NextCursor;
    }
    Console.WriteLine(count + " cards");
  }
}
