// $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g go -o cards --package-name cards --git-user-id example --git-repo-id cards
// $ go -C cards mod tidy
// $ go run -C cards ../openapi-generator.go
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/example/cards"
)

func main() {
	api := cards.NewAPIClient(cards.NewConfiguration()).CardsAPI
	ctx := context.WithValue(context.Background(), cards.ContextAccessToken, os.Getenv("API_KEY"))
	ada := cards.NewRecipientInput("Ada Lovelace", "12 Analytical Way", "Springfield", "IL", "62701")
	card := cards.NewCardInput(*ada, "Thank you, Ada!")

	sent, response, err := api.SendCard(ctx).CardInput(*card).IdempotencyKey("order-4711").Execute()
	if err == nil {
		fmt.Println("Sent", sent.Id)
	} else if response != nil && response.StatusCode == 402 {
		fmt.Println("Add credits, and send it again with the same key")
	} else if response != nil && response.StatusCode == 422 {
		refused := err.(*cards.GenericOpenAPIError).Model().(cards.Error).Error
		fmt.Println("Correct the card:", refused.Message)
	} else {
		panic(err)
	}

	count := 0
	for cursor, more := "", true; more; {
		page, _, err := api.ListCards(ctx).StartingAfter(cursor).Execute()
		if err != nil {
			panic(err)
		}
		count += len(page.Data)
		if more = page.NextCursor.Get() != nil; more {
			cursor = *page.NextCursor.Get()
		}
	}
	fmt.Println(count, "cards")
}
