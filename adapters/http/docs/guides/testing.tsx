import { Code } from '../code.js';
import { grid, part } from '../text.js';
import type { Guide } from '../page.js';

const tries: readonly (readonly string[])[] = [
  ['A card that waits for a person', 'An emoji in the message: it is held, and nothing is charged.'],
  ['A message that does not fit', '40 short lines; `POST /api/v1/previews` says so without a card.'],
  ['A refused address', 'A ZIP of four digits: 422 `invalid_recipient`, with `param` `recipient.zip`.'],
  [
    'A date that is too soon',
    '`arrive_on` tomorrow: 422 `invalid_date`, and the message has the soonest date.',
  ],
  ['A repeat', 'The same `Idempotency-Key` twice, then with another message.'],
  ['A cancel', 'A far `arrive_on`, then DELETE: the credit is back.'],
  ['A code with a typo', 'Change one character of a code: the 404 says that it looks mistyped.'],
];

export const testing: Guide = () => [
  part(
    'sandbox',
    'This is your sandbox',
    'There is no test mode, and there are no test keys: a card that is accepted in production gets made. Instead, run your own copy of the service: it is complete, has its own data and its own credits, and **mails nothing**.',
    <Code language="sh" title="In a checkout" source="FLOOR_SIMULATION=on npm start" />,
    '`FLOOR_SIMULATION=on` plays the production floor: within a minute a card that is due is written, packed and posted by itself, and webhooks report it. Without it queued cards wait until you report each step, as the people at the machines would.',
    'Data is in `data/`: delete the folder to start over.',
  ),
  part('things-to-try', 'Things to try', grid('Things to try', ['To see', 'Send'], tries)),
  part(
    'webhooks-here',
    'Webhooks on this machine',
    'Webhook endpoints must be public https URLs, so localhost is rejected. To receive events locally:',
    '- `webhook listen --forward-to` needs only an API key and forwards events to your local program, signed with a secret that stays the same, as in [the quick start](/docs/quick-start#webhook).',
    '- With `--endpoint` it forwards the deliveries to one of your endpoints, signed with that same secret, even while the endpoint is disabled. Responses of your program never count against the endpoint.',
    '- `webhook trigger card.mailed` gives a made-up event of any type to every `webhook listen` of your key on this machine, and `webhook resend evt_…` an earlier event.',
    '- A tunnel with a public name, registered as an endpoint.',
    <Code language="sh" source="npm run -s cli -- webhook listen --forward-to http://127.0.0.1:3000/" />,
  ),
  part(
    'automated-tests',
    'In your automated tests',
    '- Start the service with `PORT=0 DATA_DIR=$(mktemp -d)`: it takes a free port and prints its address and key.',
    '- Use an `Idempotency-Key` per test case, and look cards up by `reference`.',
    '- Check signatures with a secret of your own; `examples/verify-webhook.mjs` takes the time as an argument.',
  ),
];
