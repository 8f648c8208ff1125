import type { ErrorCode } from '../../../domain/errors.js';

/**
 * The page about a code: its meaning, and what to do next. `charged` replaces the usual "nothing was
 * charged".
 */
export interface ErrorPage {
  readonly means: string;
  readonly next: string;
  readonly charged?: string;
  /** Where in the console it is put right. */
  readonly place?: 'keys' | 'hooks';
}

const retryCard = 'Send the request again. With the same `Idempotency-Key` it never sends a second card.';
const rolledBack =
  'No. Whatever had been started was rolled back: nothing was charged and nothing will be mailed.';

export const errorPages: Readonly<Record<ErrorCode, ErrorPage>> = {
  invalid_json: {
    means: 'The body is empty, is not valid JSON, is not UTF-8, or nests deeper than 32 levels.',
    next: 'Check what your client really sends. The usual cause is an unescaped quotation mark or line break in the message: build the body with a JSON library, not by joining strings.',
  },
  invalid_body: {
    means: 'The body is valid JSON, but not an object.',
    next: 'Send one object. One request sends one card, so for several cards send several requests.',
  },
  missing_id: {
    means: 'There is no card code in the path.',
    next: 'Put the code after the slash: `/api/v1/cards/HC-…`. The usual cause is an empty variable in the program that builds the address. The path of the list of cards has no slash at its end.',
  },
  invalid_cursor: {
    means: 'The value of `starting_after` matches nothing in your organization.',
    next: 'Pass the `next_cursor` of the previous page as it is. To start again at the first page, leave `starting_after` out.',
  },
  invalid_idempotency_key: {
    means:
      'The `Idempotency-Key` is empty, longer than 255 characters, not plain ASCII, or sent twice; or the service cannot look keys up at the moment.',
    next: 'Use a random UUID per card and send the header once. If the key is fine, wait a moment and send the same request with the same key: it was refused before anything was created.',
  },
  missing_key: {
    means: 'The request has no bearer token.',
    next: 'Add the header `Authorization: Bearer`, followed by a space and your API key. Keys are created in the console, under Integrations.',
    place: 'keys',
  },
  malformed_key: {
    means: 'The bearer token does not look like a key of this service.',
    next: 'A key is `hck_` followed by 43 letters, digits, hyphens or underscores. Check that the whole key was copied, without quotation marks or spaces.',
  },
  invalid_key: {
    means: 'The key has the right form, but the service does not know it.',
    next: 'Check that the key belongs to this deployment. A lost key cannot be shown again: create a new one.',
    place: 'keys',
  },
  revoked_key: {
    means: 'The key was revoked. This cannot be undone.',
    next: 'Create a new key in the console, under Integrations, and replace the old one with it.',
    place: 'keys',
  },
  invalid_hook: {
    means: 'The hook URL is unknown, or the hook was deleted. The URL of a deleted hook never works again.',
    next: 'Copy the URL of the hook again. If the hook was deleted, create a new one and put its URL into the tool that calls it.',
    place: 'hooks',
  },
  no_credits: {
    means: 'The credit balance is empty, or ran out between the check and the charge.',
    next: 'Add credits, then send again. You can use the same `Idempotency-Key`: it was released.',
  },
  missing_scope: {
    means: 'The key is valid, but lacks the scope that this operation needs. The message names it.',
    next: 'Use a key that has the scope, or create one. The scopes of a key cannot be changed later.',
    place: 'keys',
  },
  hook_disabled: {
    means: 'The hook exists, but it is paused.',
    next: 'Resume it in the console, then send again. Calls that arrive while a hook is paused are not kept.',
    place: 'hooks',
  },
  suspended: {
    means:
      'The organization is suspended. All of its keys and hooks get this response, and its webhooks wait.',
    next: 'Ask the people who run the service. Nothing is lost: keys and hooks work again as soon as the suspension ends.',
  },
  card_not_found: {
    means:
      'Your organization has no card with this code. A card of another organization gets the same response.',
    next: 'Check the code. Its last character is a check character: if the message says that the code looks mistyped, one character is wrong or two are swapped.',
  },
  design_not_found: {
    means:
      'Your organization has no saved design with this id, or there is no card with this slug in the public collection.',
    next: 'List your designs with `GET /api/v1/designs`. The slug of a collection card is the last part of its page address: `card:<slug>`. Leave `design_id` out to use your newest design.',
  },
  request_in_progress: {
    means: 'The first request with this `Idempotency-Key` is still running.',
    next: 'Wait the number of seconds in `Retry-After`, then send the same request again. You get the response of the first one.',
    charged: 'Not by this request. The one that is still running may be charged, but only once.',
  },
  too_late_to_cancel: {
    means: 'The card has reached a machine. The message says where it is.',
    next: 'Production can no longer be stopped. Look the card up to follow it. Cards can be cancelled until their production starts: a later `arrive_on` leaves more time for that.',
    charged:
      'When the card was sent: the credit stays spent. If the card failed in production, its credit was returned then.',
  },
  unsupported_media_type: {
    means:
      'The body is not sent as JSON: the `Content-Type` is not `application/json` or has a charset other than `utf-8`, or the body is compressed.',
    next: 'Send the header `Content-Type: application/json` and the body as plain UTF-8. Form encodings are not supported.',
  },
  invalid_recipient: {
    means:
      'A required part of the address is missing or malformed. `param` names it, for example `recipient.zip`.',
    next: 'Send `name`, `line1`, `city`, a two-letter US state and a ZIP of five digits, optionally with +4. Send the ZIP as a string: a number loses its leading zeros. Cards are mailed inside the US only.',
  },
  missing_message: {
    means:
      'There is no message, or it is blank or not a string. For a hook: the payload has none, and the hook has no template.',
    next: 'Send the finished text for the inside of the card in `message`, or give the hook a template.',
  },
  message_too_long: {
    means: 'The message is longer than 500 characters; for a hook, the filled-in template may be.',
    next: 'Shorten the text. Characters are counted as Unicode code points; white space around the text does not count.',
  },
  broken_merge_field: {
    means:
      'The message still contains something that looks like a merge field: `{{…}}`, `[[…]]`, `<<…>>`, `«…»`, `*|…|*` or `${…}`.',
    next: 'Fill in the fields before you send: a pen writes the message exactly as it is. Only the template of a hook has merge fields.',
  },
  invalid_date: {
    means:
      'The date is not an existing day written as `YYYY-MM-DD`, is in the past, or is too soon. The message gives the earliest possible arrive-by date.',
    next: 'Send a later date, or omit `arrive_on` for the earliest possible date.',
  },
  unknown_handwriting: {
    means: 'There is no handwriting with this name on offer.',
    next: 'List the names with `GET /api/v1/handwriting`; their case does not matter. Omit the field for the house hand of your organization.',
  },
  no_design_available: {
    means: 'The request has no `design_id`, and your organization has no saved design.',
    next: 'Send `design_id` with `card:<slug>` from the public collection, or save a design in the web app.',
  },
  idempotency_key_reused: {
    means: 'This `Idempotency-Key` was used with another body in the last 24 hours.',
    next: 'Use a new key for a new card. To repeat a request, send the same body: only the order of its fields and white space between them may differ.',
  },
  missing_name: {
    means: 'The contact has no name.',
    next: 'Send `first_name`, `last_name` or both, or `name`.',
  },
  invalid_birthday: {
    means: 'The birthday is neither `MM-DD` nor `YYYY-MM-DD`, or the day does not exist.',
    next: 'Send `04-17`, for example. A year is accepted, but not kept.',
  },
  template_incomplete: {
    means:
      'The template of the hook uses fields that are missing from the payload. The message lists all of them.',
    next: 'Send values for these fields, or change the template. Names are compared exactly, including their case.',
    place: 'hooks',
  },
  rate_limited: {
    means:
      'The key has used up its requests for this minute; or there were too many attempts with wrong keys or hook URLs from your network address.',
    next: 'Wait the number of seconds in `Retry-After`, then continue. The `x-ratelimit` headers of every response say how many requests are left.',
  },
  read_failed: {
    means: 'Something went wrong on our side while reading.',
    next: 'Try again in a moment. If the error persists, tell us the `request_id`.',
  },
  create_failed: {
    means: 'Something went wrong on our side, and the record was not created.',
    next: 'Try again in a moment. A contact with an `external_id` is never created twice.',
  },
  update_failed: {
    means: 'Something went wrong on our side, and the record was left as it was.',
    next: 'Try again in a moment.',
  },
  order_failed: {
    means: 'Something went wrong on our side, and the card was not sent.',
    next: retryCard,
    charged: rolledBack,
  },
  production_failed: {
    means: 'The card was accepted, but could not be prepared for production, and was withdrawn.',
    next: retryCard,
    charged: 'No. The credit that was spent has been returned, and nothing will be mailed.',
  },
  log_damaged: {
    means: 'The event log behind the response is not as it was written, so that nothing is shown of it.',
    next: 'Nothing you can change helps. We restore the log; ask again later, and tell us the `request_id`.',
  },
  internal_error: {
    means: 'Something went wrong on our side.',
    next: 'Try again in a moment. If the error persists, tell us the `request_id`.',
    charged: rolledBack,
  },
  rehearsal: {
    means: 'This is a copy of the service, made for rehearsal: it shows what there is, and changes nothing.',
    next: 'Check the address: the service itself is elsewhere. If you run the service and the copy is to take its place, promote it.',
    charged: 'No. A copy changes nothing.',
  },
  not_found: {
    means: 'There is nothing at this path, or nothing with this id.',
    next: 'Compare the path with the documentation: its case and a slash at its end matter. The version is part of the path: `/api/v1`.',
  },
  method_not_allowed: {
    means: 'The path exists, but does not allow this method.',
    next: 'The header `Allow` lists the methods that it allows.',
  },
  body_too_large: {
    means: 'The body is larger than 100 KiB.',
    next: 'Send one card or one contact per request, and leave out what the service does not need. Artwork is uploaded in the web app.',
  },
  invalid_parameter: {
    means: 'A parameter, or a field without an error code of its own, has a wrong value. `param` names it.',
    next: 'Compare the value with the documentation of the operation. A query parameter may be sent only once; `limit` is a whole number.',
  },
  invalid_url: {
    means:
      'The URL of the webhook endpoint is not allowed: it is not https, contains a user name or an unusual port, is longer than 2,048 characters, or leads to this service or into a private network.',
    next: 'Use a public https URL. During development, use `webhook listen` on the command line, or a tunnel with a public name.',
  },
  invalid_events: {
    means: '`events` is not a list, or contains an event type that does not exist.',
    next: 'Choose from `card.created`, `card.written`, `card.mailed`, `card.held` and `card.cancelled`, or omit `events` to get all of them, including those that are added later.',
  },
  too_many_endpoints: {
    means:
      'The organization has as many webhook endpoints as are allowed, 100 unless this service was set up otherwise.',
    next: 'Delete endpoints that are not used any more, or let one receiver pass events on.',
  },
  too_many_designs: {
    means:
      'The organization has saved 2,000 designs, archived ones and copies of collection cards included, or their pictures take as much room as they may, 1 GB.',
    next: 'Use a saved design. For room, erase the pictures of designs that are not used any more; those that were uploaded and not saved count for 30 minutes.',
  },
  invalid_transition: {
    means: 'This action is not allowed in the current state. The message says what that state is.',
    next: 'Look up the current state and continue from there. The usual cause is an action that was already done.',
  },
  invalid_request: {
    means:
      'The request could not be read as HTTP: it is malformed, lacks a Host header, has headers that are too large, took too long to arrive, or has an unknown `Expect` header.',
    next: 'Use an ordinary HTTP client. If you do, check proxies on the way, and very long headers and cookies.',
  },
};
