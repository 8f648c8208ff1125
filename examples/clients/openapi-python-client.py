# $ python3 -m venv .venv
# $ .venv/bin/pip install openapi-python-client==0.29.1
# $ .venv/bin/openapi-python-client generate --url http://127.0.0.1:8080/api/openapi.json --meta none --output-path cards
# $ .venv/bin/python openapi-python-client.py
import os

from cards import AuthenticatedClient
from cards.api.cards import list_cards, send_card
from cards.models import CardInput, RecipientInput

client = AuthenticatedClient("http://127.0.0.1:8080", os.environ["API_KEY"])
address = {"line1": "12 Analytical Way", "city": "Springfield", "state": "IL", "zip_": "62701"}
card = CardInput(RecipientInput(name="Ada Lovelace", **address), "Thank you, Ada!")

sent = send_card.sync_detailed(client=client, body=card, idempotency_key="order-4711")
if sent.status_code == 201:
    print("Sent", sent.parsed.id)
elif sent.status_code == 402:
    print("Add credits, and send it again with the same key")
elif sent.status_code == 422:
    print(f"Correct the card: {sent.parsed.error.message}")
else:
    raise RuntimeError(sent.content)

count, cursor = 0, ""
while cursor is not None:
    page = list_cards.sync(client=client, starting_after=cursor)
    count, cursor = count + len(page.data), page.next_cursor
print(count, "cards")
