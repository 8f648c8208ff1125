import { webhookHeaders } from '../../schema/outbound.js';
import { Call, Code, Excerpt } from '../code.js';
import type { Guide } from '../page.js';
import { grid } from '../text.js';

export const verifyInNode = `import { createHmac, timingSafeEqual } from 'node:crypto';

// rawBody: the bytes as they came, not parsed and written again.
export const isOurs = (rawBody, header, secret, now = Date.now() / 1000) => {
  const parts = header.split(',').map((part) => part.split('='));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  if (!(Math.abs(now - Number(time)) <= 300)) return false;
  const wanted = createHmac('sha256', secret).update(time + '.').update(rawBody).digest();
  return parts
    .filter(([name]) => name === 'v1')
    .map(([, hex]) => Buffer.from(hex ?? '', 'hex'))
    .some((sent) => sent.length === wanted.length && timingSafeEqual(sent, wanted));
};`;

const attempts: readonly (readonly string[])[] = [
  ['1', 'at once'],
  ['2', '1 minute after the first'],
  ['3', '5 minutes after that'],
  ['4', '25 minutes after that'],
  ['5', '2 hours after that'],
  ['6', '10 hours after that'],
];

const endpoint = { url: 'https://shop.example.com/cards', events: ['card.mailed', 'card.held'] };

export const webhooks: Guide = ({ baseUrl }) => ({
  endpoints: [
    'Register an endpoint',
    'An https URL of yours, and the types that it wants; without `events` it gets all of them, and those that come later.',
    <Call name="register" url={`${baseUrl}/api/v1/webhooks`} body={endpoint} />,
    'Keep the `signing_secret` of the response: it is shown this once. The URL must be public and on port 443; the same URL registered again is the same endpoint. [Event types](/docs/events) has every type and field.',
  ],
  receiving: [
    'Receive',
    '- **Check the signature** over the raw bytes, before anything else.',
    '- **Respond with any 2xx within 10 seconds,** and do your work afterwards.',
    '- **Remember the `id` of the event.** It can arrive twice, and it is the same for all attempts and part of what is signed.',
    '- **Expect any order.** `card.written` may come after `card.mailed`: each event is a statement about the card.',
    <Excerpt language="js" file="receiver.mjs" first="const receive = async" last="};" />,
  ],
  signatures: [
    'Check the signature',
    '`service-signature` is `t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 over `t`, a dot and the raw body, keyed with the whole secret, `whsec_` included. Refuse a request whose time differs from yours by more than 300 seconds, so that an old one can’t be replayed.',
    <Code language="js" title="Node" source={verifyInNode} />,
    <Excerpt
      language="py"
      title="Python (examples/receiver.py)"
      file="receiver.py"
      first="def verify("
      last="    return any(matches) and abs(time.time() - int(times[0])) <= TOLERANCE"
    />,
    '`examples/verify-webhook.mjs` of the repository is a file to copy into your project; it also says why a delivery was refused. Libraries for [Standard Webhooks](#headers) work, too.',
  ],
  headers: [
    'Headers of a delivery',
    grid(
      'Headers of a delivery',
      ['Header', 'Value'],
      webhookHeaders.map(({ name, description }) => [`\`${name}\``, description]),
    ),
  ],
  redelivery: [
    'Attempts and failures',
    'Anything but a 2xx is a failure, a redirect too. The event is sent again, six times in all:',
    grid('Attempts', ['Attempt', 'When'], attempts),
    'After 20 failures in a row the endpoint is switched off, with the reason. Switch it on again, and what is still inside its window goes out; anything older can be replayed with `POST /api/v1/webhooks/{id}/replay`.',
    'For 30 days, unless the service keeps them for another time, `GET /api/v1/deliveries` lists deliveries with their attempts and the first 1 KiB of what you answered. A replay sends nothing that is older and no longer listed.',
  ],
  rotation: [
    'Change the secret',
    'Rotate it with `POST /api/v1/webhooks/{id}/rotate`. For 24 hours deliveries carry two `v1`, one of each secret; accept either.',
  ],
});

export const feeds: Guide = ({ baseUrl, operators }) => ({
  asking: [
    'Ask what happened',
    'The same events that webhooks tell, with the same ids and bodies, for those who would rather ask: newest first, by type or by card, for as long as the service keeps its log.',
    <Call name="ask" url={`${baseUrl}/api/v1/events?type=card.created&limit=10`} />,
  ],
  following: [
    'Follow as it happens',
    'With `Accept: text/event-stream` they come oldest first and go on as they happen. After a break, `Last-Event-ID` goes on after the event that you have handled last; an event may come again, so remember ids here, too.',
    'With `format=cloudevents` each event is a [CloudEvent](https://cloudevents.io) with the same fields and a few more, and `Accept: application/cloudevents-batch+json` makes a page a batch of them.',
    <Call name="follow" url={`${baseUrl}/api/v1/events`} headers={{ Accept: 'text/event-stream' }} streams />,
  ],
  which: [
    'Which one to choose',
    '- **Webhooks** if you have a public address: nothing to keep running, and the service tries again for you.',
    '- **The feed** behind a firewall, or to catch up after a time away.',
    '- **The list of cards** with `status=…` for a report now and then.',
    ...(operators.length === 0
      ? []
      : [
          '- **Every domain event**, for services of those who run this one: [For operators](/docs/operator#event-stream).',
        ]),
  ],
});
