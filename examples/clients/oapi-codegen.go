// $ go mod init example.com/send
// $ go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package main -o cards.go http://127.0.0.1:8080/api/openapi.json
// $ go mod tidy
// $ go run .
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
)

func withKey(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	return nil
}

func main() {
	ctx, key := context.Background(), "order-4711"
	api, err := NewClientWithResponses("http://127.0.0.1:8080", WithRequestEditorFn(withKey))
	if err != nil {
		panic(err)
	}
	ada := RecipientInput{Name: "Ada Lovelace", Line1: "12 Analytical Way", City: "Springfield", State: "IL", Zip: "62701"}
	card := CardInput{Recipient: ada, Message: "Thank you, Ada!"}

	sent, err := api.SendCardWithResponse(ctx, &SendCardParams{IdempotencyKey: &key}, card)
	if err != nil {
		panic(err)
	} else if sent.JSON201 != nil {
		fmt.Println("Sent", sent.JSON201.Id)
	} else if sent.JSON402 != nil {
		fmt.Println("Add credits, and send it again with the same key")
	} else if sent.JSON422 != nil {
		fmt.Println("Correct the card:", sent.JSON422.Error.Message)
	} else {
		panic(sent.Status())
	}

	count := 0
	for cursor := new(string); cursor != nil; {
		page, err := api.ListCardsWithResponse(ctx, &ListCardsParams{StartingAfter: cursor})
		if err != nil || page.JSON200 == nil {
			panic(fmt.Sprint(page, err))
		}
		count, cursor = count+len(page.JSON200.Data), page.JSON200.NextCursor
	}
	fmt.Println(count, "cards")
}
