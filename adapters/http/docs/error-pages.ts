import type { ErrorCode } from '../../../domain/errors.js';

/**
 * What a page about a code tells: what happened, and what to do next. `charged` says what differs from
 * "nothing was charged".
 */
export interface ErrorPage {
  readonly means: string;
  readonly next: string;
  readonly charged?: string;
}

const retryCard = 'Send the request again. With the same `Idempotency-Key` it can never make a second card.';
const rolledBack =
  'No. Whatever had been started was rolled back: nothing was charged and nothing will be mailed.';

export const errorPages: Readonly<Record<ErrorCode, ErrorPage>> = {
  invalid_json: {
    means: 'The body is empty, is not valid JSON, is not UTF-8, or nests deeper than 32 levels.',
    next: 'Check what your client really sends: an unescaped quotation mark or line break in the message is the usual cause. Build the body with a JSON library rather than by joining strings.',
  },
  invalid_body: {
    means: 'The body is valid JSON, but not an object.',
    next: 'Send one object. One request sends one card, so there is no array form: send several requests instead.',
  },
  missing_id: {
    means: 'There is no card code in the path.',
    next: 'Put the code after the slash: `/api/v1/cards/HC-…`. The usual cause is an empty variable in the program that builds the address. The list of cards has no slash at its end.',
  },
  invalid_cursor: {
    means: 'The value of `starting_after` matches nothing in your organization.',
    next: 'Pass the `next_cursor` of the previous page as it is. To start over, leave `starting_after` out.',
  },
  invalid_idempotency_key: {
    means:
      'The `Idempotency-Key` is empty, longer than 255 characters, not plain ASCII or sent twice; or the service cannot look keys up just now.',
    next: 'Use a random UUID per card and send the header once. If the key is fine, wait a moment and send the same request with the same key: it was refused before anything was made.',
  },
  missing_key: {
    means: 'The request has no bearer token.',
    next: 'Add the header `Authorization: Bearer`, followed by a space and your API key. Keys are made in the web app under Integrations.',
  },
  malformed_key: {
    means: 'The bearer token does not look like a key of this service.',
    next: 'A key is `hck_` followed by 43 letters, digits, hyphens or underscores. Check that the whole key was copied, without quotation marks or spaces.',
  },
  invalid_key: {
    means: 'The key has the right form, but the service does not know it.',
    next: 'Check that the key belongs to this deployment. A key that was lost cannot be shown again: make a new one.',
  },
  revoked_key: {
    means: 'The key was revoked. That is final.',
    next: 'Make a new key in the web app under Integrations and put it in place of the old one.',
  },
  invalid_hook: {
    means: 'The hook address is not known, or the hook was deleted. A deleted address never works again.',
    next: 'Copy the address of the hook again. If it was deleted, make a new hook and put the new address into the tool that calls it.',
  },
  no_credits: {
    means: 'The credit balance is empty, or ran out between the check and the charge.',
    next: 'Add credits, then send again. The same `Idempotency-Key` works: it was released.',
  },
  missing_scope: {
    means: 'The key is valid, but lacks the scope that this operation needs. The message names it.',
    next: 'Use a key that has the scope, or make one. The scopes of a key cannot be changed later.',
  },
  hook_disabled: {
    means: 'The hook exists, but is paused.',
    next: 'Resume it in the web app, then send again. Nothing that arrives while a hook is paused is kept.',
  },
  card_not_found: {
    means:
      'Your organization has no card with this code. Cards of other organizations look the same from outside.',
    next: 'Check the code. Its last character is a check character: if the message says that the code looks mistyped, one character is wrong or two are swapped.',
  },
  design_not_found: {
    means:
      'Your organization has no saved design with this id, or there is no card with this slug in the public collection.',
    next: 'List your designs with `GET /api/v1/designs`. The slug of a collection card is the last part of its page address: `card:<slug>`. To send with your newest design, leave `design_id` out.',
  },
  request_in_progress: {
    means: 'The first request with this `Idempotency-Key` is still running.',
    next: 'Wait for the seconds in `Retry-After` and send the same request again. You then get the answer of the first one.',
    charged: 'Not by this request. The one that is still running may be charged, once.',
  },
  too_late_to_cancel: {
    means: 'The card has reached a machine. The message says where it is.',
    next: 'Production cannot be stopped any more: look the card up to follow it. To be able to cancel, choose a later `arrive_on`: a card can be cancelled until its production starts.',
    charged:
      'Yes, when the card was sent; the credit stays spent. If the card failed in production, its credit was returned then.',
  },
  unsupported_media_type: {
    means:
      'The body is not sent as JSON: the `Content-Type` is not `application/json`, names another charset than `utf-8`, or the body is compressed.',
    next: 'Send the header `Content-Type: application/json` and the body as plain UTF-8. Form encodings are not understood.',
  },
  invalid_recipient: {
    means:
      'A required part of the address is missing or malformed. `param` names it, for example `recipient.zip`.',
    next: 'Send `name`, `line1`, `city`, a two-letter US state and a ZIP of five digits, optionally with +4. Send the ZIP as a string: a number loses its leading zeros. Cards are mailed inside the US only.',
  },
  missing_message: {
    means:
      'There is no message, or it is blank or not a string. For a hook: the payload has none, and the hook has no template.',
    next: 'Send the finished text of the inside of the card in `message`, or give the hook a template.',
  },
  message_too_long: {
    means: 'The message is longer than 500 characters. For a hook, the filled-in template is.',
    next: 'Shorten the text. Characters are counted as Unicode code points; white space around the text does not count.',
  },
  broken_merge_field: {
    means:
      'The message still contains something that looks like a merge field: `{{…}}`, `[[…]]`, `<<…>>`, `«…»`, `*|…|*` or `${…}`.',
    next: 'Fill the fields in before you send: the message is written exactly as it stands, by a pen. Only the template of a hook has fields.',
  },
  invalid_date: {
    means:
      'The date is not a real day written as `YYYY-MM-DD`, lies in the past, or is too soon to honor. In the last case the message gives the soonest date.',
    next: 'Send a later date, or leave `arrive_on` out: the card then arrives as soon as it can.',
  },
  unknown_handwriting: {
    means: 'No handwriting of this name is offered.',
    next: 'List the names with `GET /api/v1/handwriting`; upper and lower case do not matter. Leave the field out for the house hand of your organization.',
  },
  no_design_available: {
    means: 'The request names no design, and your organization has no saved one.',
    next: 'Send `design_id` with `card:<slug>` from the public collection, or save a design in the web app.',
  },
  idempotency_key_reused: {
    means: 'This `Idempotency-Key` was used with another body in the last 24 hours.',
    next: 'Use a new key for a new card. To repeat a request, repeat its body unchanged: the order of fields and white space do not matter, everything else does.',
  },
  missing_name: {
    means: 'The contact has no name.',
    next: 'Send `first_name`, `last_name` or both, or `name`.',
  },
  invalid_birthday: {
    means: 'The birthday is neither `MM-DD` nor `YYYY-MM-DD`, or there is no such day.',
    next: 'Send for example `04-17`. A year is taken and thrown away.',
  },
  template_incomplete: {
    means: 'The template of the hook uses fields that the payload lacks. The message names all of them.',
    next: 'Send the fields that are named, filled in, or change the template. Names are compared exactly, upper and lower case included.',
  },
  rate_limited: {
    means:
      'The key has used up its requests for this minute; or too many attempts with wrong keys or hook addresses came from your network address.',
    next: 'Wait for the seconds in `Retry-After`, then go on. The `x-ratelimit` headers of every answer tell how many requests are left.',
  },
  read_failed: {
    means: 'Something went wrong on our side while reading.',
    next: 'Try again in a moment. If it stays, tell us the `request_id`.',
  },
  create_failed: {
    means: 'Something went wrong on our side, and the record was not created.',
    next: 'Try again in a moment. A contact with an `external_id` is never made twice.',
  },
  update_failed: {
    means: 'Something went wrong on our side, and the record was left as it was.',
    next: 'Try again in a moment.',
  },
  order_failed: {
    means: 'Something went wrong on our side, and the card was not made.',
    next: retryCard,
    charged: rolledBack,
  },
  production_failed: {
    means: 'The card was accepted, but could not be prepared for production, and was taken back.',
    next: retryCard,
    charged: 'No. The credit that was spent has been returned, and nothing will be mailed.',
  },
  internal_error: {
    means: 'Something went wrong on our side.',
    next: 'Try again in a moment. If it stays, tell us the `request_id`.',
    charged: rolledBack,
  },
  not_found: {
    means: 'There is nothing at this path, or no thing with this id.',
    next: 'Compare the path with the documentation: upper and lower case and a slash at the end matter. The version is part of the path: `/api/v1`.',
  },
  method_not_allowed: {
    means: 'The path exists, but does not take this method.',
    next: 'The header `Allow` lists the methods that it takes.',
  },
  body_too_large: {
    means: 'The body is larger than 100 KiB.',
    next: 'Send one card or contact a request, and leave out what the service does not need. Artwork is uploaded in the web app.',
  },
  invalid_parameter: {
    means: 'A parameter or a field without a code of its own has a wrong value. `param` names it.',
    next: 'Compare the value with the documentation of the operation. A query parameter may be sent only once; `limit` is a whole number.',
  },
  invalid_url: {
    means:
      'The address of the webhook endpoint is not accepted: it is not https, has user info or an unusual port, is longer than 2,048 characters, or points at this service or into a private network.',
    next: 'Use a public https address. For development, a tunnel with a public name works.',
  },
  invalid_events: {
    means: 'The list of event types holds one that does not exist, or is not a list.',
    next: 'Choose from `card.created`, `card.written`, `card.mailed`, `card.held` and `card.cancelled`, or leave `events` out to get all of them, including those that are added later.',
  },
  invalid_transition: {
    means: 'The thing is not in a state in which this can be done to it. The message says where it stands.',
    next: 'Look it up and go on from where it is. Repeating the same step twice is the usual cause.',
  },
  invalid_request: {
    means:
      'The request could not be read as HTTP: it is malformed, lacks a Host header, has headers that are too large, took too long to arrive, or expects something unknown.',
    next: 'Use an ordinary HTTP client. If you do, look at proxies on the way, and at very long headers and cookies.',
  },
};
