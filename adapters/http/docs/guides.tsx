import { arrivalWindow } from '../../../domain/calendar.js';
import { schedule, type FirstEvent } from '../../../domain/card.js';
import { unwrap } from '../../../domain/errors.js';
import { LocalDate, OrganizationId, Uuid } from '../../../domain/ids.js';
import { exampleMessage, exampleRecipient, readCardFields } from '../card-fields.js';
import { sentCardBody } from '../cards.js';
import { block, type Html } from '../web/prose.js';

interface Guide {
  readonly id: string;
  readonly title: string;
  readonly body: (baseUrl: string) => Html;
}

/** The request and the response of the first card, made by the code that reads and answers requests. */
const firstRequest = { recipient: exampleRecipient, message: exampleMessage };

const firstCard = (baseUrl: string): string => `curl ${baseUrl}/api/v1/cards \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: order-1001' \\
  -d '${JSON.stringify(firstRequest, null, 2).replaceAll('\n', '\n  ')}'`;

const firstEvent = (): FirstEvent => {
  const { recipient, message } = readCardFields(firstRequest);
  const order = {
    org: OrganizationId.parse('0c6f1f3e-8d2b-4f5a-9b1e-3a7c5d9e2f10'),
    request: '',
    source: { kind: 'api', id: '' },
    design: { id: Uuid.parse('5d0a4c7e-2b9f-4e1d-8a6c-7f3b1e9d2c40'), slug: null, copied: false },
    handwriting: 'Everyday',
    window: arrivalWindow(LocalDate.parse('2026-03-10')),
    due: LocalDate.parse('2026-03-03'),
    reference: null,
    contact: null,
  } as const;
  return schedule(order, { recipient: unwrap(recipient), message: unwrap(message) });
};

const firstResponse = (baseUrl: string): string =>
  JSON.stringify(sentCardBody({ code: 'HC-7K3M9QX', event: firstEvent() }, baseUrl), null, 2);

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

const verifyInPython = `import hashlib, hmac, time

def is_ours(raw_body: bytes, header: str, secret: str) -> bool:
    parts = [part.split("=", 1) for part in header.split(",")]
    sent_at = next((value for name, value in parts if name == "t"), "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > 300:
        return False
    wanted = hmac.new(secret.encode(), sent_at.encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    return any(hmac.compare_digest(wanted, value) for name, value in parts if name == "v1")`;

const event = `{
  "id": "evt_2c5d4f6a",
  "type": "card.created",
  "created": "2026-03-02T15:04:05.678Z",
  "data": {"card": "HC-7K3M9QX", "recipient": "Ada Lovelace", "reference": "order-1001", "heldReason": null}
}`;

const followInNode = `import { connect } from 'amqplib';

const connection = await connect(process.env.RABBITMQ_URL);
const channel = await connection.createChannel();
await channel.assertExchange('cards.events', 'topic', { durable: true });
const { queue } = await channel.assertQueue('billing.cards', { durable: true });
await channel.bindQueue(queue, 'cards.events', 'card.*');
await channel.prefetch(50);
await channel.consume(queue, async (message) => {
  const { id, type, stream, data } = JSON.parse(message.content.toString()); // stream: card-HC-…
  await handleOnce(id, { type, stream, data }); // in one transaction: the effect, and the id as a unique key
  channel.ack(message);
});`;

/** What the reference alone doesn't explain. */
export const guides: readonly Guide[] = [
  {
    id: 'first-card',
    title: 'Your first card',
    body: (baseUrl) => (
      <>
        <p>
          One request sends one card and spends one credit. There is no sandbox: the card below is written by
          a pen, put in an envelope, stamped and mailed.
        </p>
        <p>
          Put your key into a variable, <code>export API_KEY=hck_…</code>, and send:
        </p>
        {block(firstCard(baseUrl))}
        <p>The response is a 201 with the code of the card, its status and the window in which it arrives:</p>
        {block(firstResponse(baseUrl))}
        <p>
          <code>GET /api/v1/cards/&lt;code&gt;</code> shows how far it is, and <code>DELETE</code> cancels it
          before it is made. Omit <code>design_id</code> for your newest saved design,{' '}
          <code>handwriting</code> for the house hand of your organization, and <code>arrive_on</code> for the
          earliest possible date.
        </p>
      </>
    ),
  },
  {
    id: 'sending-safely',
    title: 'Sending safely',
    body: () => (
      <>
        <p>
          Send an <code>Idempotency-Key</code> with every card: something that stays the same when you try
          again, such as the number of an order. It has at most 255 ASCII characters, and it is remembered for
          24 hours for your whole organization.
        </p>
        <ul>
          <li>
            There was no response, or the connection broke: send the same request with the same key. You get
            the first response with <code>Idempotent-Replay: true</code>, or the card is sent now. There are
            never two cards.
          </li>
          <li>
            409 <code>request_in_progress</code>: the first request is still running. Wait the number of
            seconds in <code>Retry-After</code>.
          </li>
          <li>
            Any 4xx: nothing was sent and nothing was charged. Correct the request; you can use the key again.
          </li>
          <li>
            402 <code>no_credits</code>: add credits, then send again with the same key.
          </li>
          <li>
            429: wait the number of seconds in <code>Retry-After</code>.
          </li>
          <li>Any 500: everything was rolled back. Try again.</li>
          <li>
            422 <code>idempotency_key_reused</code>: the key was used with another body. A new card needs a
            new key.
          </li>
        </ul>
        <p>
          Bodies are compared as JSON: the order of fields and white space between them do not matter.
          Everything else does, including fields that the service does not know.
        </p>
      </>
    ),
  },
  {
    id: 'arrival',
    title: 'When a card arrives',
    body: () => (
      <>
        <p>
          <code>arrives_between</code> is a window of four or five days that ends on the arrive-by date: the{' '}
          <code>arrive_on</code> that you sent, or the earliest possible date. Making a card takes business
          days, and mailing it takes calendar days; the earliest possible date is never a Sunday or a postal
          holiday. A date that is too soon is refused with <code>invalid_date</code>, and the message gives
          the earliest possible one.
        </p>
        <p>
          Until production has to begin, a card is <code>pending</code>; then it is <code>queued</code>. In
          both states you can cancel it. Once it has reached a machine you can't:{' '}
          <code>too_late_to_cancel</code>. The six steps of a card show how far it is, and{' '}
          <code>mailed_at</code> is set when it is handed to the carrier.
        </p>
      </>
    ),
  },
  {
    id: 'held-cards',
    title: 'Cards that wait for a person',
    body: () => (
      <p>
        Some valid requests need a person to look at them before the card is written: a line does not fit on
        the envelope, the pen can't write some of the characters, or the recipient is on your do-not-mail
        list. The response is still a 201. Its status is <code>held</code>, <code>held_reason</code> says why
        in plain words, and nothing is charged. When you look the card up, its status is <code>blocked</code>.
        When it is released, one credit is spent; when you cancel it, there is nothing to refund.
      </p>
    ),
  },
  {
    id: 'lists',
    title: 'Reading lists',
    body: () => (
      <p>
        Lists are ordered newest first and have 50 rows per page; <code>limit</code> can be up to 200. While{' '}
        <code>has_more</code> is true, ask again with <code>starting_after</code> set to the{' '}
        <code>next_cursor</code> of the page you have. No row is skipped or repeated because cards are sent in
        the meantime. What you have just written can be read at once.
      </p>
    ),
  },
  {
    id: 'inbound-hooks',
    title: 'Cards from a form or a shop',
    body: () => (
      <>
        <p>
          An inbound hook is a secret URL: a form tool or a shop posts JSON to it, and a card is sent. The
          token in the URL is its only credential, so treat the URL like a password. A hook has a design, a
          name for the signature, and a template such as:
        </p>
        {block('Dear {{first_name}},\nthank you for your order {{order.number}}.\n{{sender_name}}')}
        <p>
          Every field of the payload can be used in the template, nested ones with dots. The service itself
          provides <code>{'{{first_name}}'}</code>, <code>{'{{full_name}}'}</code> and{' '}
          <code>{'{{sender_name}}'}</code>, and no field replaces them. If a field is missing or blank,
          nothing is sent: 422 <code>template_incomplete</code> lists every missing one. A{' '}
          <code>message</code> in the payload wins over the template.
        </p>
        <p>
          One POST sends one card. You can't test a token with GET: it is there for tools that verify a URL
          before they save it, and it doesn't check the token.
        </p>
      </>
    ),
  },
  {
    id: 'events',
    title: 'Webhooks: events about your cards',
    body: () => (
      <>
        <p>
          Register an https URL with <code>POST /api/v1/webhooks</code>, and keep the{' '}
          <code>signing_secret</code> in the response: it is shown only this once. Each event is a POST like
          this one:
        </p>
        {block(event)}
        <ul>
          <li>
            <code>card.created</code>: accepted and scheduled. For cards sent through the API or a hook.
          </li>
          <li>
            <code>card.held</code>: a person has to look at it; <code>heldReason</code> says why. For cards
            sent through the API or a hook.
          </li>
          <li>
            <code>card.written</code>: the pen has finished the card and the envelope. For every card of your
            organization.
          </li>
          <li>
            <code>card.mailed</code>: handed to the carrier. For every card; the last event of a card.
          </li>
          <li>
            <code>card.cancelled</code>: stopped before it was made, through the API.
          </li>
        </ul>
        <p>
          Respond with any 2xx within 10 seconds, and do your work afterwards. After anything else, including
          a redirect, the event is sent again after 1 minute, 5 minutes, 25 minutes, 2 hours and 10 hours: six
          attempts in all. After 20 failures in a row the endpoint is disabled. Events can arrive twice and in
          any order: remember the <code>id</code> in the body, which is the same for all attempts and part of
          what is signed, and treat each event as a statement about the card.
        </p>
        <h3>Verify the signature</h3>
        <p>
          <code>service-signature: t=&lt;unix seconds&gt;,v1=&lt;hex&gt;</code> is an HMAC-SHA256 over{' '}
          <code>t</code>, a dot and the raw body, keyed with the whole secret. For 24 hours after a secret was
          rotated there are two <code>v1</code>. Refuse a request whose time differs from yours by more than
          300 seconds. In Node:
        </p>
        {block(verifyInNode)}
        <p>In Python:</p>
        {block(verifyInPython)}
        <p>
          Libraries for Standard Webhooks work too: the headers <code>webhook-id</code>,{' '}
          <code>webhook-timestamp</code> and <code>webhook-signature</code> are sent with every delivery.
        </p>
      </>
    ),
  },
  {
    id: 'event-stream',
    title: 'Following every event',
    body: () => (
      <>
        <p>
          Webhooks are for customers. Services of your own can follow every domain event: with{' '}
          <code>GET /operator/v1/events?from=&lt;position&gt;</code>, and on the RabbitMQ topic exchange{' '}
          <code>cards.events</code> if the service runs with RabbitMQ. Both give the same JSON;{' '}
          <a href="/asyncapi.json">the AsyncAPI document</a> has the schema of every event.
        </p>
        <p>
          The routing key is category and type, such as <code>card.CardScheduled</code>. Bind a durable queue
          of your own; events for which no queue is bound are not kept, but you can read earlier events over
          HTTP. Every event arrives at least once, and after a failure not always in order: remember the{' '}
          <code>id</code> of each event that you have handled, in the same transaction as its effect. The
          greatest <code>position</code> alone would lose events. Ignore types and fields that you do not
          know.
        </p>
        {block(followInNode)}
      </>
    ),
  },
];

export const guideSections = (baseUrl: string): readonly Html[] =>
  guides.map(({ id, title, body }) => (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {body(baseUrl)}
    </section>
  ));
