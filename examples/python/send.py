r"""Sends a card with a client that openapi-python-client makes from the service's OpenAPI document.

In a checkout, with Python 3.11 or later, while the service runs:

    cd examples/python
    python3 -m venv .venv && . .venv/bin/activate
    pip install -r requirements.txt
    openapi-python-client generate --url http://127.0.0.1:8080/api/openapi.json \
        --config config.yml --meta none --output-path handwritten_cards
    API_KEY=hck_… python send.py order-4711

The argument is the Idempotency-Key: something of yours that names this one card. Run again, the program shows
the card that was made. Settings: API_KEY, BASE_URL (http://127.0.0.1:8080), and FOLLOW, for how many seconds
it shows what becomes of the card (0).
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import httpx
from handwritten_cards import AuthenticatedClient
from handwritten_cards.api.cards import get_card, send_card
from handwritten_cards.api.contacts import save_contact
from handwritten_cards.models import (
    CardInput,
    CardStatus,
    ContactInput,
    ContactInputAddress,
    Error,
    RecipientInput,
)
from handwritten_cards.types import Response

WORTH_ANOTHER_TRY = ("rate_limited", "request_in_progress")
NOTHING_FOLLOWS = (CardStatus.POSTED, CardStatus.CANCELLED, CardStatus.FAILED)
Result = TypeVar("Result")


class Refused(Exception):
    """The service refused a call, or failed. `code` is stable: switch on it."""

    def __init__(self, error: Error) -> None:
        super().__init__(f"{error.error.code}: {error.error.message} ({error.error.docs})")
        self.code = error.error.code


def result_of(call: Callable[[], Response[Result | Error]], pauses: Sequence[float] = (1, 2, 4)) -> Result:
    """Calls, and again where that helps. Each call here may be repeated: an Idempotency-Key, or the
    `external_id` of a contact, keeps it from being done twice. Raises Refused.
    """
    pause = pauses[0] if pauses else None
    try:
        response = call()
    except httpx.TransportError:
        if pause is None:
            raise
    else:
        found = response.parsed
        if not isinstance(found, Error):
            assert found is not None, "undocumented statuses raise"
            return found
        if pause is None or not (response.status_code >= 500 or found.error.code in WORTH_ANOTHER_TRY):
            raise Refused(found)
        pause = float(response.headers.get("retry-after", pause))
    time.sleep(pause)
    return result_of(call, pauses[1:])


def follow(client: AuthenticatedClient, code: str, seconds: float) -> None:
    """Shows the status of a card, and each one that comes after it. Webhooks tell the same without asking."""
    until, shown = time.monotonic() + seconds, None
    while True:
        card = result_of(lambda: get_card.sync_detailed(code, client=client))
        if card.status != shown:
            shown = card.status
            done = sum(step.completed_at is not None for step in card.steps)
            print(f"{shown}, {done} of {len(card.steps)} steps done", flush=True)
        if card.status in NOTHING_FOLLOWS or time.monotonic() > until:
            return
        time.sleep(1)


def main(order: str) -> None:
    client = AuthenticatedClient(
        base_url=os.environ.get("BASE_URL", "http://127.0.0.1:8080"),
        token=os.environ["API_KEY"],
        timeout=httpx.Timeout(30),
        raise_on_unexpected_status=True,
    )
    address = {"line1": "12 Analytical Way", "city": "Springfield", "state": "IL", "zip_": "62701"}
    card = CardInput(
        recipient=RecipientInput(name="Ada Lovelace", **address),
        message="Thank you for everything, Ada.",
        reference=order,
    )
    # `prefer` refuses what the service does not know, rather than ignoring it.
    sent = result_of(
        lambda: send_card.sync_detailed(
            client=client, body=card, idempotency_key=order, prefer="handling=strict"
        )
    )
    print(f"{sent.id} {sent.status}: {sent.note}")
    print(f"arrives between {sent.arrives_between.earliest} and {sent.arrives_between.latest}")

    person = ContactInput(external_id="crm-7", name="Ada Lovelace", address=ContactInputAddress(**address))
    contact = result_of(lambda: save_contact.sync_detailed(client=client, body=person))
    print(f"contact {contact.external_id}: {contact.name}")

    follow(client, sent.id, float(os.environ.get("FOLLOW", "0")))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Refused as refused:
        match refused.code:
            case "no_credits":
                sys.exit(f"Add credits, then run this again with the same key. {refused}")
            case "idempotency_key_reused":
                sys.exit(f"This key has sent another card: take another key. {refused}")
            case _:
                sys.exit(str(refused))
