// Follows the event log over HTTP, without RabbitMQ: strictly in order, one event at a time, with the position
// written in the same line as the effect. After a crash or a lost connection it goes on after that position.
//
//   OPERATOR_TOKEN=$(cat data/operator.token) node examples/follow.mjs
//
// Settings: OPERATOR_TOKEN, BASE_URL (http://127.0.0.1:8080), CATEGORY (card; empty for all), INBOX
// (log.jsonl).
import { setTimeout as pause } from 'node:timers/promises';
import { Inbox } from './inbox.mjs';

const {
  OPERATOR_TOKEN,
  BASE_URL = 'http://127.0.0.1:8080',
  CATEGORY = 'card',
  INBOX = 'log.jsonl',
} = process.env;
if (!OPERATOR_TOKEN) {
  console.error('Set OPERATOR_TOKEN to the token of the operator API, as in data/operator.token.');
  process.exit(64);
}
const inbox = new Inbox(INBOX);

/** The data of each server-sent event; comments, which only show that the connection lives, are skipped. */
const eventsOf = async function* (body) {
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice('data: '.length));
    }
  }
};

const follow = async () => {
  const query = new URLSearchParams({
    from: inbox.last?.position ?? '0',
    ...(CATEGORY && { category: CATEGORY }),
  });
  const response = await fetch(`${BASE_URL}/operator/v1/events?${query}`, {
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
  });
  if (response.status >= 400 && response.status < 500) {
    console.error(await response.text());
    process.exit(1); // Trying again would not help: the token or the address is wrong.
  }
  if (!response.ok) throw new Error(`status ${response.status}`);
  for await (const { position, id, type, stream, data } of eventsOf(response.body)) {
    if (inbox.add({ position, id, type, stream, data })) console.log(`${position} ${type} ${stream}`);
  }
};

for (let wait = 1_000; ; wait = Math.min(wait * 2, 30_000)) {
  const before = inbox.last?.position;
  await follow().catch((error) => console.warn(`${error.cause?.message ?? error.message}: trying again`));
  if (inbox.last?.position !== before) wait = 1_000;
  await pause(wait * (0.5 + Math.random() / 2));
}
