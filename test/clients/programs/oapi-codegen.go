// One send, its repetition, a page and two refusals with the client that oapi-codegen makes.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	send := func(key, zip string, once *string) *SendCardResponse {
		to := RecipientInput{Name: "Ada Lovelace", Line1: "1 Main St", City: "Springfield", State: "IL", Zip: zip}
		card := CardInput{Recipient: to, Message: "Thank you, Ada!"}
		return must(api(key).SendCardWithResponse(ctx, &SendCardParams{IdempotencyKey: once}, card))
	}
	key, limit := "oapi-codegen", 1
	first, again := send("API_KEY", "62701", &key), send("API_KEY", "62701", &key)
	page := must(api("API_KEY").ListCardsWithResponse(ctx, &ListCardsParams{Limit: &limit}))
	poor, wrong := send("POOR_KEY", "62701", nil), send("API_KEY", "6", nil)
	fmt.Println(first.JSON201.Id, again.JSON201.Id, len(page.JSON200.Data),
		fmt.Sprint(poor.StatusCode(), ":", poor.JSON402.Error.Code),
		fmt.Sprint(wrong.StatusCode(), ":", wrong.JSON422.Error.Code))
}

func api(key string) *ClientWithResponses {
	return must(NewClientWithResponses(os.Getenv("BASE_URL"), WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv(key))
			return nil
		})))
}
