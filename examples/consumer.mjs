// Follows the domain events on RabbitMQ. Every event arrives at least once. With a prefetch over 1 messages
// may be handled, acknowledged and, after a crash, delivered again out of order: so it remembers the ids of
// the events it has handled. Remembering only the greatest position would lose events.
//
//   RABBITMQ_URL=amqp://… node examples/consumer.mjs
//
// Settings: RABBITMQ_URL, QUEUE (examples.cards), EXCHANGE (cards.events), BINDING (card.*), INBOX
// (cards.jsonl). Needs the package amqplib.
import { connect } from 'amqplib';
import { Inbox } from './inbox.mjs';

const {
  RABBITMQ_URL,
  QUEUE = 'examples.cards',
  EXCHANGE = 'cards.events',
  BINDING = 'card.*',
  INBOX = 'cards.jsonl',
} = process.env;

const inbox = new Inbox(INBOX);
const connection = await connect(RABBITMQ_URL);
// A service manager starts it again; what was not acknowledged is delivered again.
connection.on('error', (error) => console.warn(error.message)).on('close', () => process.exit(1));
const channel = await connection.createChannel();
await channel.assertExchange(EXCHANGE, 'topic', { durable: true });
await channel.assertQueue(QUEUE, { durable: true });
await channel.bindQueue(QUEUE, EXCHANGE, BINDING);
await channel.prefetch(50);

await channel.consume(QUEUE, (message) => {
  if (message === null) return process.exit(1); // The queue was deleted.
  const { id, type, stream, revision, position, data } = JSON.parse(message.content.toString());
  // `stream` says which card: card-HC-…; `data` holds what happened.
  if (inbox.add({ id, type, stream, revision, position, data })) console.log(`${type} ${stream}`);
  channel.ack(message);
});
console.log(`consuming ${QUEUE}`);
