import type { Channel } from 'amqplib';
import type { Milliseconds } from '../../domain/ids.js';

/** Arguments of a queue can't be changed where it stands: another version stands beside it. */
const version = 'v1';

/** So often may a worker die with a message in its hands. */
const deliveryLimit = 5;

/** Waits that fit no other queue are put together from this one. */
const parking: Milliseconds = 5_000;

export interface Topology {
  /** The public stream: a topic exchange. Everybody may bind a queue of their own to it. */
  readonly events: string;
  /** Hints for workers, by lane. */
  readonly work: string;
  readonly lanes: { readonly first: string; readonly retry: string };
  /** Hints that wait, by their queue. */
  readonly retry: string;
  /** From short to long. */
  readonly waits: readonly { readonly queue: string; readonly time: Milliseconds }[];
  readonly dead: string;
  readonly deadQueue: string;
}

/**
 * `waits`: those between attempts. `namespace`: before every name, so that several deployments can share a
 * broker's virtual host.
 */
export const topologyOf = (waits: readonly Milliseconds[], namespace = ''): Topology => {
  const named = (name: string) => `${namespace}${name}`;
  const times = [...new Set([parking, ...waits.map(Math.ceil)])].toSorted((a, b) => a - b);
  return {
    events: named('cards.events'),
    work: named('wh.work'),
    lanes: { first: named(`wh.work.first.${version}`), retry: named(`wh.work.retry.${version}`) },
    retry: named('wh.retry'),
    waits: times.map((time) => ({ time, queue: named(`wh.wait.${time}ms.${version}`) })),
    dead: named('wh.dlx'),
    deadQueue: named(`wh.dead.${version}`),
  };
};

const durable = { durable: true };

export const declareEvents = async (
  channel: Channel,
  { events }: Pick<Topology, 'events'>,
): Promise<void> => {
  await channel.assertExchange(events, 'topic', durable);
};

/**
 * What fails to be handled goes to the dead letters and nowhere else; a full queue refuses new messages
 * instead of dropping old ones.
 */
const laneArguments = (dead: string) => ({
  'x-queue-type': 'quorum',
  'x-delivery-limit': deliveryLimit,
  'x-dead-letter-exchange': dead,
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
});

/**
 * One time for all messages of a queue: a message with a time of its own would wait for those in front of it.
 */
const waitArguments = (work: string, time: Milliseconds) => ({
  'x-queue-type': 'quorum',
  'x-message-ttl': time,
  'x-dead-letter-exchange': work,
  'x-dead-letter-routing-key': 'retry',
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
});

/** Everything that hints need. Repeating it changes nothing; what is missing is made. */
export const declareHints = async (
  channel: Channel,
  { work, lanes, retry, waits, dead, deadQueue }: Topology,
): Promise<void> => {
  await channel.assertExchange(dead, 'fanout', durable);
  await channel.assertQueue(deadQueue, { ...durable, arguments: { 'x-queue-type': 'quorum' } });
  await channel.bindQueue(deadQueue, dead, '');
  await channel.assertExchange(work, 'direct', durable);
  for (const [lane, queue] of Object.entries(lanes)) {
    await channel.assertQueue(queue, { ...durable, arguments: laneArguments(dead) });
    await channel.bindQueue(queue, work, lane);
  }
  await channel.assertExchange(retry, 'direct', durable);
  for (const { queue, time } of waits) {
    await channel.assertQueue(queue, { ...durable, arguments: waitArguments(work, time) });
    await channel.bindQueue(queue, retry, String(time));
  }
};

/** Removes everything, with what is in it: for tests. */
export const removeTopology = async (
  channel: Channel,
  { events, work, lanes, retry, waits, dead, deadQueue }: Topology,
): Promise<void> => {
  for (const queue of [lanes.first, lanes.retry, deadQueue, ...waits.map((wait) => wait.queue)])
    await channel.deleteQueue(queue);
  for (const exchange of [events, work, retry, dead]) await channel.deleteExchange(exchange);
};
