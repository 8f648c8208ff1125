// One send, its repetition, a page and two refusals with the client that openapi-generator makes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	cards "github.com/example/cards"
)

func newCard(zip string) cards.CardInput {
	recipient := cards.NewRecipientInput("Ada Lovelace", "1 Main St", "Springfield", "IL", zip)
	return *cards.NewCardInput(*recipient, "Thank you, Ada!")
}

func main() {
	settings := cards.NewConfiguration()
	settings.Servers = cards.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	api := cards.NewAPIClient(settings).CardsAPI
	with := func(key string) context.Context {
		return context.WithValue(context.Background(), cards.ContextAccessToken, os.Getenv(key))
	}
	send := func() string {
		sent, _, err := api.SendCard(with("API_KEY")).CardInput(newCard("62701")).IdempotencyKey("go").Execute()
		if err != nil {
			panic(err)
		}
		return sent.Id
	}
	refusal := func(key, zip string) string {
		_, response, err := api.SendCard(with(key)).CardInput(newCard(zip)).Execute()
		var refused *cards.GenericOpenAPIError
		if !errors.As(err, &refused) {
			panic(err)
		}
		body := refused.Model().(cards.Error)
		return fmt.Sprint(response.StatusCode, ":", body.Error.Code)
	}
	first, again := send(), send()
	page, _, err := api.ListCards(with("API_KEY")).Limit(1).Execute()
	if err != nil {
		panic(err)
	}
	fmt.Println(first, again, len(page.Data), refusal("POOR_KEY", "62701"), refusal("API_KEY", "6"))
}
