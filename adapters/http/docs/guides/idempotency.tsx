import { fileOf } from '../../web/prose.js';
import { Code, Call } from '../code.js';
import { grid, part } from '../text.js';
import { firstRequest } from '../../document/first-card.js';
import type { Guide } from '../page.js';

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

export const idempotency: Guide = ({ baseUrl }) => [
  part(
    'sending-safely',
    'One key for one card',
    'Send an `Idempotency-Key` with every card: something that stays the same when you try again, such as the number of an order. There are never two cards for one key.',
    <Call
      name="send"
      url={`${baseUrl}/api/v1/cards`}
      headers={{ 'Idempotency-Key': 'thank-you-4711' }}
      body={firstRequest}
    />,
    '- A key has at most 255 ASCII characters. Case matters.',
    '- It is remembered for 24 hours from the first acceptance, for all keys of your organization.',
    '- It counts on `POST /api/v1/cards` and is ignored elsewhere. Contacts have `external_id` for the same purpose.',
  ),
  part(
    'retries',
    'What to do about each outcome',
    grid('Outcomes', ['You get', 'What happened', 'What to do'], outcomes),
  ),
  part(
    'same-body',
    'What counts as the same request',
    'Bodies are compared as JSON: the order of fields and white space between them do not matter. Everything else does, including fields that the service does not know. Only a 201 is remembered, so a refused request never blocks its key.',
  ),
  part(
    'a-script',
    'A script that never sends twice',
    'It tries again where that helps, and tells you to come back where it does not.',
    <Code language="sh" title="examples/send.sh" source={fileOf('examples/send.sh').trimEnd()} />,
  ),
];
