// $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g java -o cards --library native
// $ mvn -q -f cards package dependency:copy-dependencies -Dmaven.test.skip -Dmaven.javadoc.skip
// $ java -cp 'cards/target/*:cards/target/dependency/*' openapi-generator.java
import com.fasterxml.jackson.databind.ObjectMapper;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CardsApi;
import org.openapitools.client.model.CardInput;
import org.openapitools.client.model.RecipientInput;

class Send {
  public static void main(String[] args) throws Exception {
    var client = new ApiClient();
    var key = "Bearer " + System.getenv("API_KEY");
    client.setRequestInterceptor(request -> request.header("Authorization", key));
    var api = new CardsApi(client);
    var ada = new RecipientInput().name("Ada Lovelace").line1("12 Analytical Way");
    ada.city("Springfield").state("IL").zip("62701");

    try {
      var card = new CardInput().recipient(ada).message("Thank you, Ada!");
      System.out.println("Sent " + api.sendCard(card, "order-4711", null).getId());
    } catch (ApiException refused) {
      var error = new ObjectMapper().readTree(refused.getResponseBody()).get("error");
      switch (refused.getCode()) {
        case 402 -> System.out.println("Add credits, and send it again with the same key");
        case 422 -> System.out.println("Correct the card: " + error.get("message").asText());
        default -> throw refused;
      }
    }

    var count = 0;
    for (var cursor = ""; cursor != null; ) {
      var page = api.listCards(null, null, null, cursor, null);
      count += page.getData().size();
      cursor = page.getNextCursor();
    }
    System.out.println(count + " cards");
  }
}
