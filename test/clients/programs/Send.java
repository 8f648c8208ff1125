// One send, its repetition, a page and two refusals with the client that openapi-generator makes.
import com.fasterxml.jackson.databind.ObjectMapper;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CardsApi;
import org.openapitools.client.model.CardInput;
import org.openapitools.client.model.RecipientInput;

class Send {
  static CardsApi api(String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv(key)));
    return new CardsApi(client);
  }

  static CardInput card(String zip) {
    RecipientInput recipient = new RecipientInput().name("Ada Lovelace").line1("1 Main St");
    recipient.city("Springfield").state("IL").zip(zip);
    return new CardInput().recipient(recipient).message("Thank you, Ada!");
  }

  static String refusal(String key, String zip) throws Exception {
    try {
      return api(key).sendCard(card(zip), null, null).getId();
    } catch (ApiException refused) {
      var error = new ObjectMapper().readTree(refused.getResponseBody()).get("error");
      return refused.getCode() + ":" + error.get("code").asText();
    }
  }

  public static void main(String[] args) throws Exception {
    String first = api("API_KEY").sendCard(card("62701"), "java", null).getId();
    String again = api("API_KEY").sendCard(card("62701"), "java", null).getId();
    int rows = api("API_KEY").listCards(1, null, null, null, null).getData().size();
    String refusals = refusal("POOR_KEY", "62701") + " " + refusal("API_KEY", "6");
    System.out.println(first + " " + again + " " + rows + " " + refusals);
  }
}
