import { firstRequest, firstResponse } from '../../document/first-card.js';
import { Call, Code, Json, SendCard } from '../code.js';
import type { Guide } from '../page.js';
import { grid, note } from '../text.js';

const card = `cat > card.json <<'EOF'
${JSON.stringify(firstRequest, null, 2)}
EOF`;
/** The card that was written down is sent in the second terminal. */
const written = { file: 'card.json', terminal: 2 } as const;

const contact = {
  external_id: 'crm-7',
  name: 'Ada Lovelace',
  company: 'Analytical Engines',
  birthday: '12-10',
};

const hook = `npm run -s cli -- hook create --org "$ORG" --signed-by 'The Shop' \\
  --template 'Dear {{first_name}}, thank you for order {{order.number}}. {{sender_name}}'`;

const order = { ...firstRequest.recipient, order: { number: 42 } };

const listen = 'npm run -s cli -- webhook listen --forward-to http://127.0.0.1:3000/';

/** The first lines in a terminal: the key, and the service's address if tools would look elsewhere. */
const settings = (baseUrl: string): string =>
  `export API_KEY=hck_…${baseUrl === 'http://127.0.0.1:8080' ? '' : `\nexport BASE_URL=${baseUrl}`}`;

/** Everything that is typed here is run by a test, in this order. */
export const quickStart: Guide = ({ baseUrl, hasConsole }) => ({
  start: [
    'Start a service of your own',
    'In a checkout of this service, with Node and nothing else installed. It makes a demo organization with 1,000 credits, and prints its API key once.',
    <Code language="sh" title="First terminal" terminal={1} source="FLOOR_SIMULATION=on npm start" />,
    note(
      '**This is your sandbox.** A service that you start on your machine mails nothing. `FLOOR_SIMULATION=on` plays the production floor, so that cards go through their six steps by themselves. If someone else runs the service for you, ask them for a key. Cards sent with it are real and are mailed.',
    ),
    'Put the key that it printed into a variable of a second terminal, and check it. (A call in Node goes into a file such as `call.mjs`, one in Python into `call.py`; nothing has to be installed for either.)',
    <Code language="sh" title="Second terminal" terminal={2} source={settings(baseUrl)} />,
    <Call name="account" url={`${baseUrl}/api/v1/account`} terminal={2} />,
  ],
  'first-card': [
    'Send your first card',
    'One request sends one card and spends one credit. Write the card down:',
    <Code language="sh" terminal={2} source={card} />,
    'Send it. The `Idempotency-Key` is something of yours that stays the same when you try again, such as the number of an order:',
    <SendCard name="send" baseUrl={baseUrl} idempotencyKey="quick-start-1001" {...written} />,
    'The response is a 201 with the code of the card and the window in which it arrives:',
    <Json value={firstResponse(baseUrl)} />,
    'Leave `design_id` out for your newest design, `handwriting` for the house hand, `arrive_on` for the earliest possible date. [Cards and their life](/docs/cards) has the rest.',
  ],
  'try-again': [
    'Try again without a second card',
    'Pretend that the response was lost: send the same request with the same key.',
    <SendCard
      name="repeat"
      baseUrl={baseUrl}
      idempotencyKey="quick-start-1001"
      shows="idempotent-replay"
      {...written}
    />,
    'You get the same card with `idempotent-replay: true`, and nothing was charged. [Idempotency and retries](/docs/idempotency) says when to try again.',
  ],
  follow: [
    'See how far it is',
    'Look the card up by the code in its `id`:',
    <Code language="sh" terminal={2} source="export CARD=HC-…" />,
    <Call name="look" url={`${baseUrl}/api/v1/cards/$CARD`} terminal={2} />,
    hasConsole
      ? '`steps` shows what is done. The page at its `url` shows the same to people, with the letter as it is written; the link that the service printed lets you in.'
      : '`steps` shows what is done.',
  ],
  contact: [
    'Keep a contact',
    'Contacts are made and replaced by an id of yours, so that you can send the same again:',
    <Call name="contact" url={`${baseUrl}/api/v1/contacts`} body={contact} terminal={2} />,
  ],
  hook: [
    'Let a shop send cards',
    'An inbound hook is a secret URL. Every JSON payload posted to the URL sends a card; the payload fills in its message template. The command line of your own service makes a hook; elsewhere the operator does. It needs the id of your organization, which the check of the key showed:',
    <Code language="sh" terminal={2} source="export ORG=…" />,
    <Code language="sh" terminal={2} source={hook} />,
    'It prints the URL, this once. Do what the shop would do:',
    <Code language="sh" terminal={2} source="export HOOK_URL=…" />,
    <Call name="fire" url="$HOOK_URL" credential={null} body={order} terminal={2} />,
  ],
  webhook: [
    'Receive a webhook',
    'Webhooks tell you what becomes of each card. In production they go to your https address. On your machine, the command line stands in for it: it receives your card events, signs them, and forwards them to your local program. Start it in a terminal of its own:',
    <Code language="sh" title="Third terminal" terminal={3} source={`${settings(baseUrl)}\n${listen}`} />,
    'It prints a line when it is ready, and the secret that it signs with. Start a receiver that checks the signature:',
    <Code
      language="sh"
      title="Fourth terminal"
      terminal={4}
      source={'export WEBHOOK_SECRET=whsec_…\nnode examples/receiver.mjs'}
    />,
    'Send another card, and look at the fourth terminal:',
    <SendCard
      name="send-another"
      baseUrl={baseUrl}
      idempotencyKey="order-1002"
      title="Second terminal"
      {...written}
    />,
    <Code language="text" source="card.created HC-…" />,
    "You've now sent a card, saved a contact, used a hook, and received a webhook. [Webhooks and signatures](/docs/webhooks) shows how to register your own address, and how to check a signature in your own program.",
  ],
});

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

export const testing: Guide = () => ({
  sandbox: [
    'This is your sandbox',
    'There is no test mode, and there are no test keys: a card that is accepted in production gets made. Instead, run your own copy of the service: it is complete, has its own data and its own credits, and **mails nothing**.',
    <Code language="sh" title="In a checkout" source="FLOOR_SIMULATION=on npm start" />,
    '`FLOOR_SIMULATION=on` plays the production floor: within a minute a card that is due is written, packed and posted by itself, and webhooks report it. Without it queued cards wait until you report each step, as the people at the machines would.',
    'Data is in `data/`: delete the folder to start over.',
  ],
  'things-to-try': ['Things to try', grid('Things to try', ['To see', 'Send'], tries)],
  'webhooks-here': [
    'Webhooks on this machine',
    'Webhook endpoints must be public https URLs, so localhost is rejected. To receive events locally:',
    '- `webhook listen --forward-to` needs only an API key and forwards events to your local program, signed with a secret that stays the same, as in [the quick start](/docs/quick-start#webhook).',
    '- With `--endpoint` it forwards the deliveries to one of your endpoints, signed with that same secret, even while the endpoint is disabled. Responses of your program never count against the endpoint.',
    '- `webhook trigger card.mailed` gives a made-up event of any type to every `webhook listen` of your key on this machine, and `webhook resend evt_…` an earlier event.',
    '- A tunnel with a public name, registered as an endpoint.',
    <Code language="sh" source="npm run -s cli -- webhook listen --forward-to http://127.0.0.1:3000/" />,
  ],
  'automated-tests': [
    'In your automated tests',
    '- Start the service with `PORT=0 DATA_DIR=$(mktemp -d)`: it takes a free port and prints its address and key.',
    '- Use an `Idempotency-Key` per test case, and look cards up by `reference`.',
    '- Check signatures with a secret of your own; `examples/verify-webhook.mjs` takes the time as an argument.',
  ],
});
