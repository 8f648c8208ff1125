import type { scopes } from '../../../../domain/api-key.js';
import type { ErrorCode } from '../../../../domain/errors.js';
import { maxMessageLength } from '../../../../domain/message.js';
import { fileOf } from '../../web/prose.js';
import { Call, Code, SendCard } from '../code.js';
import { errorGrid } from '../errors.js';
import type { Guide } from '../page.js';
import { grid, rowsAbout } from '../text.js';

const scopeMeanings: Readonly<Record<(typeof scopes)[number], string>> = {
  'cards:send': 'Send cards and cancel them.',
  'cards:read': 'Look cards up, list them, follow their events.',
  'contacts:write': 'Create and replace contacts.',
  'contacts:read': 'List contacts.',
  'webhooks:manage': 'Register, change, test and delete endpoints; read and retry deliveries.',
};

const refusals: readonly ErrorCode[] = [
  'missing_key',
  'malformed_key',
  'invalid_key',
  'revoked_key',
  'missing_scope',
  'suspended',
];

export const authentication: Guide = ({ baseUrl, hasConsole }) => ({
  keys: [
    'Keys',
    'Send your key with every request, in the header `Authorization: Bearer <key>`. A key is `hck_` and 43 characters.',
    <Call name="account" url={`${baseUrl}/api/v1/account`} />,
    'Every sample of these pages finds the key in the variable `API_KEY`. One in Node goes into a file such as `call.mjs`, for `node call.mjs`, one in Python into `call.py`, for `python3 call.py`; neither needs anything installed.',
    `Keys are made ${hasConsole ? 'in [the console](/console?place=keys), under Integrations' : 'by the people who run the service'}, and shown once: the service keeps only their digest. Revoking one works within seconds and for good. Keep keys out of browsers, apps and repositories; there is no CORS for that reason.`,
  ],
  scopes: [
    'Scopes',
    'A key may do what its scopes say, and no more. Your account, credits, designs and handwritings can be read with any key.',
    grid('Scopes', ['Scope', 'Allows'], rowsAbout(scopeMeanings)),
  ],
  'refused-keys': [
    'When a key is refused',
    'A refused request did nothing and cost nothing.',
    errorGrid('Refusals of keys', refusals),
    'The key is checked before anything else about the request; the order is key, rate limit, scope, content type, JSON, fields. Too many failed attempts from one network address are answered with 429, and a right key from there still works.',
  ],
});

const outcomes: readonly (readonly string[])[] = [
  [
    'No response, or the connection broke',
    'Not known.',
    'Send the same request with the same key. You get the first response, or the card is sent now.',
  ],
  [
    '201 with `Idempotent-Replay: true`',
    'It was sent before. Nothing more was charged.',
    'Nothing. It is the response of the first request.',
  ],
  [
    '409 [`request_in_progress`](/docs/errors/request_in_progress)',
    'The first request is still running.',
    'Wait for `Retry-After` seconds.',
  ],
  ['429 [`rate_limited`](/docs/errors/rate_limited)', 'Nothing was sent.', 'Wait for `Retry-After` seconds.'],
  ['402 [`no_credits`](/docs/errors/no_credits)', 'Nothing was sent.', 'Add credits, then use the same key.'],
  [
    '422 [`idempotency_key_reused`](/docs/errors/idempotency_key_reused)',
    'The key belongs to another body.',
    'Use a new key for a new card.',
  ],
  ['Any other 4xx', 'Nothing was sent.', 'Correct the request; the key is free again.'],
  ['Any 500', 'Everything was rolled back.', 'Send it again, with the same key.'],
];

export const idempotency: Guide = ({ baseUrl }) => ({
  'sending-safely': [
    'One key for one card',
    'Send an `Idempotency-Key` with every card: something that stays the same when you try again, such as the number of an order. There are never two cards for one key.',
    <SendCard name="send" baseUrl={baseUrl} idempotencyKey="thank-you-4711" />,
    '- A key has at most 255 ASCII characters. Case matters.',
    '- It is remembered for 24 hours from the first acceptance, for all keys of your organization.',
    '- It counts on `POST /api/v1/cards` and is ignored elsewhere. Contacts have `external_id` for the same purpose.',
  ],
  retries: [
    'What to do about each outcome',
    grid('Outcomes', ['You get', 'What happened', 'What to do'], outcomes),
  ],
  'same-body': [
    'What counts as the same request',
    'Bodies are compared as JSON: the order of fields and white space between them do not matter. Everything else does, including fields that the service does not know. Only a 201 is remembered, so a refused request never blocks its key.',
  ],
  'a-script': [
    'A script that never sends twice',
    'It tries again where that helps, and tells you to come back where it does not.',
    <Code language="sh" title="examples/send.sh" source={fileOf('examples/send.sh').trimEnd()} />,
  ],
});

const limits: readonly (readonly string[])[] = [
  ['Requests', '120 per clock minute and key, unless the key has its own limit', '429 `rate_limited`'],
  ['Calls of a hook', '600 per clock minute', '429 `rate_limited`'],
  ['Failed attempts', '300 per clock minute and network address', '429 `rate_limited`'],
  ['Body', '100 KiB, 32 levels deep', '413 `body_too_large`, 400 `invalid_json`'],
  ['Message', `${maxMessageLength} characters`, '422 `message_too_long`'],
  ['Lines on the card', '24 in the smallest writing', 'held'],
  ['Name; other lines of the envelope', '40; 50 characters', 'held'],
  ['Any part of an address', '200 characters', '422 `invalid_recipient`'],
  ['`reference`', '40 characters', 'cut'],
  ['`Idempotency-Key`', '255 characters, remembered for 24 hours', '400 `invalid_idempotency_key`'],
  ['Rows of a page', '50, at most 200', 'clamped'],
  ['Delivery of a webhook', '10 seconds, 6 attempts', 'exhausted'],
  ['Failures of an endpoint', '20 in a row', 'switched off'],
];

const rateHeaders = {
  'x-ratelimit-limit': 'How many requests a minute the key may make.',
  'x-ratelimit-remaining': 'How many of them are left in this minute.',
  'x-ratelimit-reset': 'When the minute ends, in Unix seconds.',
  'retry-after': 'Seconds to wait, on a 429.',
};

export const lists: Guide = ({ baseUrl }) => ({
  lists: [
    'Reading lists',
    'Every list is `{object, has_more, next_cursor, data}`, newest first. While `has_more` is true, ask again with `starting_after` set to the `next_cursor` of the page you have:',
    <Call name="page" url={`${baseUrl}/api/v1/cards?limit=2&starting_after=$CARD`} />,
    'No row is skipped or repeated because cards are sent meanwhile, and what you have just written can be read at once. A page may be the last one and empty.',
  ],
  'rate-limits': [
    'Rate limits',
    'Each key has a request limit per calendar minute. Every response reports how many remain:',
    grid('Headers about the rate', ['Header', 'Value'], rowsAbout(rateHeaders)),
    'Over the limit the response is a 429: nothing was done, so wait and send the same again.',
  ],
  limits: [
    'Limits',
    'Characters are Unicode code points, counted after white space around the text is gone. Your operator may have configured different values.',
    grid('Limits', ['What', 'Limit', 'Beyond it'], limits),
  ],
  'ignored-fields': [
    'Fields with a typo',
    'Fields and parameters that an operation does not know are ignored, and the header `x-ignored-fields` names them. Send `Prefer: handling=strict` to have such a request refused before anything is done:',
    <Call
      name="strict"
      url={`${baseUrl}/api/v1/cards?limit=1`}
      headers={{ Prefer: 'handling=strict' }}
      shows="preference-applied"
    />,
  ],
});
