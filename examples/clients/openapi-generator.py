# $ java -jar openapi-generator-cli-7.17.0.jar generate -i http://127.0.0.1:8080/api/openapi.json -g python -o cards --package-name cards
# $ python3 -m venv .venv
# $ .venv/bin/pip install ./cards
# $ .venv/bin/python openapi-generator.py
import os

import cards

settings = cards.Configuration(access_token=os.environ["API_KEY"])
api = cards.CardsApi(cards.ApiClient(settings))
address = {"line1": "12 Analytical Way", "city": "Springfield", "state": "IL", "zip": "62701"}
recipient = cards.RecipientInput(name="Ada Lovelace", **address)

try:
    card = cards.CardInput(recipient=recipient, message="Thank you, Ada!")
    print("Sent", api.send_card(card, idempotency_key="order-4711").id)
except cards.ApiException as refused:
    if refused.status == 402:
        print("Add credits, and send it again with the same key")
    elif refused.status == 422:
        print(f"Correct the card: {refused.data.error.message}")
    else:
        raise

count, cursor = 0, ""
while cursor is not None:
    page = api.list_cards(starting_after=cursor)
    count, cursor = count + len(page.data), page.next_cursor
print(count, "cards")
