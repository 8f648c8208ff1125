"""A client that the OpenAPI document makes, with the Python standard library alone.

    API_KEY=hck_… python3 examples/client.py order-4711

`Api` reads the document of the service and has a method for each operation: `sendCard`, `listCards`, … Path and
query parameters and headers are keyword arguments, with `_` for `-`; the JSON is `body`. Sends one card under
the given Idempotency-Key, looks it up, and counts all. Settings: API_KEY, BASE_URL (http://127.0.0.1:8080).
"""

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

TIMEOUT = 30  # seconds


class Refused(Exception):
    """The service refused a call. `code` is stable; nothing was done."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']} ({error['docs']})")
        self.status, self.code, self.param = status, error["code"], error.get("param")


class Api:
    def __init__(self, base_url: str, key: str) -> None:
        self.base_url, self.key = base_url, key
        with urllib.request.urlopen(f"{base_url}/api/openapi.json", timeout=TIMEOUT) as response:
            document = json.load(response)
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }

    def __getattr__(self, operation_id: str) -> Callable[..., Any]:
        if operation_id not in self.operations:
            raise AttributeError(f"The document has no operation {operation_id}.")
        return lambda body=None, **given: self.call(operation_id, body, given)

    def call(self, operation_id: str, body: Any, given: dict[str, Any]) -> Any:
        method, path, operation = self.operations[operation_id]
        headers, query = {"Authorization": f"Bearer {self.key}"}, {}
        for parameter in operation.get("parameters", []):
            name, place = parameter["name"], parameter["in"]
            value = given.pop(name.replace("-", "_"), None)
            if value is None:
                if parameter["required"]:
                    raise TypeError(f"{operation_id} needs {name}.")
            elif place == "path":
                path = path.replace("{%s}" % name, urllib.parse.quote(str(value), safe=""))
            else:
                (headers if place == "header" else query)[name] = str(value)
        if given:
            raise TypeError(f"{operation_id} has no {', '.join(given)}.")
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(
            f"{self.base_url}{path}?{urllib.parse.urlencode(query)}" if query else f"{self.base_url}{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers=headers,
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                return json.load(response)
        except urllib.error.HTTPError as refusal:
            raise Refused(refusal.code, json.load(refusal)["error"]) from None

    def pages(self, operation_id: str, **given: Any) -> Iterator[dict[str, Any]]:
        """The rows of every page of a list."""
        while True:
            page = self.call(operation_id, None, dict(given))
            yield from page["data"]
            if page["next_cursor"] is None:
                return
            given["starting_after"] = page["next_cursor"]


def main() -> None:
    api = Api(os.environ.get("BASE_URL", "http://127.0.0.1:8080"), os.environ["API_KEY"])
    order = sys.argv[1]
    card = {
        "recipient": {
            "name": "Ada Lovelace",
            "line1": "12 Analytical Way",
            "city": "Springfield",
            "state": "IL",
            "zip": "62701",
        },
        "message": "Thank you for everything, Ada.",
        "reference": order,
    }
    sent = api.sendCard(card, Idempotency_Key=order, Prefer="handling=strict")
    print(f"{sent['id']} {sent['status']}: {sent['note']}")
    window = api.getCard(card_code=sent["id"])["arrives_between"]
    print(f"arrives between {window['earliest']} and {window['latest']}")
    print(f"{sum(1 for _ in api.pages('listCards', limit=200))} in all")


if __name__ == "__main__":
    try:
        main()
    except Refused as refusal:
        sys.exit(str(refusal))
