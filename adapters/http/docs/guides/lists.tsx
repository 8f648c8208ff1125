import { maxMessageLength } from '../../../../domain/message.js';
import { Call } from '../code.js';
import { grid, part } from '../text.js';
import type { Guide } from '../page.js';

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

const headers: readonly (readonly string[])[] = [
  ['`x-ratelimit-limit`', 'How many requests a minute the key may make.'],
  ['`x-ratelimit-remaining`', 'How many of them are left in this minute.'],
  ['`x-ratelimit-reset`', 'When the minute ends, in Unix seconds.'],
  ['`retry-after`', 'Seconds to wait, on a 429.'],
];

export const lists: Guide = ({ baseUrl }) => [
  part(
    'lists',
    'Reading lists',
    'Every list is `{object, has_more, next_cursor, data}`, newest first. While `has_more` is true, ask again with `starting_after` set to the `next_cursor` of the page you have:',
    <Call name="page" url={`${baseUrl}/api/v1/cards?limit=2&starting_after=$CARD`} />,
    'No row is skipped or repeated because cards are sent meanwhile, and what you have just written can be read at once. A page may be the last one and empty.',
  ),
  part(
    'rate-limits',
    'Rate limits',
    'Each key has a request limit per calendar minute. Every response reports how many remain:',
    grid('Headers about the rate', ['Header', 'Value'], headers),
    'Over the limit the response is a 429: nothing was done, so wait and send the same again.',
  ),
  part(
    'limits',
    'Limits',
    'Characters are Unicode code points, counted after white space around the text is gone. Your operator may have configured different values.',
    grid('Limits', ['What', 'Limit', 'Beyond it'], limits),
  ),
  part(
    'ignored-fields',
    'Fields with a typo',
    'Fields and parameters that an operation does not know are ignored, and the header `x-ignored-fields` names them. Send `Prefer: handling=strict` to have such a request refused before anything is done:',
    <Call
      name="strict"
      url={`${baseUrl}/api/v1/cards?limit=1`}
      headers={{ Prefer: 'handling=strict' }}
      shows="preference-applied"
    />,
  ),
];
