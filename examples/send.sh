#!/bin/sh
# Sends one card, and never two: every try has the same Idempotency-Key, so a try that repeats an earlier one
# is answered with the card that was made.
#
#   API_KEY=hck_… examples/send.sh order-4711 card.json
#
# The first argument is the Idempotency-Key: something of yours that names this one card, such as an order
# number. The second is a file with the request's body. Settings: API_KEY, BASE_URL (http://127.0.0.1:8080).
# Prints the card; exit code 1 if the request was refused, 64 if the file is missing, 75 if it is
# worth another try later.
set -eu

: "${API_KEY:?set it to an API key with the scope cards:send}"
key=${1:?the first argument is the Idempotency-Key}
body=${2:?the second argument is a file with the body}
[ -r "$body" ] || { echo "There is no file $body that can be read." >&2 && exit 64; }
url=${BASE_URL:-http://127.0.0.1:8080}/api/v1/cards
response=$(mktemp)
trap 'rm -f "$response"' EXIT

for wait in 1 2 4 8 0; do
  # The key stays off the command line, where other users of the machine could read it.
  status=$(printf 'header = "Authorization: Bearer %s"\n' "$API_KEY" | curl --config - --silent --output "$response" \
    --write-out '%{http_code}' --max-time 30 --header 'Content-Type: application/json' \
    --header "Idempotency-Key: $key" --data-binary "@$body" "$url") || status=000
  case $status in
  201) cat "$response" && echo && exit 0 ;;
  000 | 409 | 429 | 5??) [ "$wait" -eq 0 ] || sleep "$wait" ;; # not known, in progress, too fast, failed: try again
  *) cat "$response" >&2 && echo >&2 && exit 1 ;;
  esac
done
[ ! -s "$response" ] || cat "$response" >&2
echo "No response yet (last status: $status). Run it again later with the same Idempotency-Key." >&2
exit 75
