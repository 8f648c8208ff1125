# One send, its repetition, a page and two refusals with the client that openapi-generator makes.
import os

import cards


def api(key):
    settings = cards.Configuration(host=os.environ["BASE_URL"], access_token=os.environ[key])
    return cards.CardsApi(cards.ApiClient(settings))


def new_card(**changes):
    address = {"line1": "1 Main St", "city": "Springfield", "state": "IL", "zip": "62701"}
    recipient = cards.RecipientInput(name="Ada Lovelace", **{**address, **changes})
    return cards.CardInput(recipient=recipient, message="Thank you, Ada!")


def refusal(key, card):
    try:
        api(key).send_card(card)
    except cards.ApiException as refused:
        return f"{refused.status}:{refused.data.error.code}"


first, again = (api("API_KEY").send_card(new_card(), idempotency_key="python").id for _ in range(2))
rows = len(api("API_KEY").list_cards(limit=1).data)
print(first, again, rows, refusal("POOR_KEY", new_card()), refusal("API_KEY", new_card(zip="6")))
