import type { Channel } from 'amqplib';
import type { Milliseconds } from '../../domain/ids.js';

/** The arguments of an existing queue can't be changed: a changed queue gets a name with another version. */
const version = 'v1';

/** How often a message comes again after its worker has failed, before it becomes a dead letter. */
const deliveryLimit = 5;

/** Any wait that no other queue fits is made of several of these. */
const shortestWait: Milliseconds = 5_000;

/**
 * The names of exchanges and queues. `waits`: the times between attempts. `namespace`: a prefix for every
 * name, so that several deployments can share a virtual host.
 */
export const topologyOf = (waits: readonly Milliseconds[], namespace = '') => {
  const named = (name: string) => `${namespace}${name}`;
  const times = [...new Set([shortestWait, ...waits.map(Math.ceil)])].toSorted((a, b) => a - b);
  return {
    /** The public stream, a topic exchange. Consumers bind their own queues to it. */
    events: named('cards.events'),
    /** Hints for workers. The routing key is the name of the work queue: `first` or `retry`. */
    workExchange: named('wh.work'),
    workQueues: { first: named(`wh.work.first.${version}`), retry: named(`wh.work.retry.${version}`) },
    /** Hints that wait. The routing key is the time in milliseconds. */
    waitExchange: named('wh.retry'),
    /** From the shortest time to the longest. */
    waitQueues: times.map((time) => ({ time, queue: named(`wh.wait.${time}ms.${version}`) })),
    deadExchange: named('wh.dlx'),
    deadQueue: named(`wh.dead.${version}`),
  } as const;
};
export type Topology = ReturnType<typeof topologyOf>;

const durable = { durable: true };

/** A full queue refuses new messages instead of dropping old ones. */
const keepingAll = {
  'x-queue-type': 'quorum',
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
};

/** A message that keeps failing becomes a dead letter. */
const workQueueArguments = (deadExchange: string) => ({
  ...keepingAll,
  'x-delivery-limit': deliveryLimit,
  'x-dead-letter-exchange': deadExchange,
});

/**
 * All messages of a queue wait equally long: a message with its own time to live would also wait for those
 * ahead of it. (docs/engines.md#rabbitmq)
 */
const waitQueueArguments = (workExchange: string, time: Milliseconds) => ({
  ...keepingAll,
  'x-message-ttl': time,
  'x-dead-letter-exchange': workExchange,
  'x-dead-letter-routing-key': 'retry',
});

/** Makes whatever is missing of the exchanges and queues for hints. */
export const declareHints = async (
  channel: Channel,
  { workExchange, workQueues, waitExchange, waitQueues, deadExchange, deadQueue }: Topology,
): Promise<void> => {
  await channel.assertExchange(deadExchange, 'fanout', durable);
  await channel.assertQueue(deadQueue, { ...durable, arguments: { 'x-queue-type': 'quorum' } });
  await channel.bindQueue(deadQueue, deadExchange, '');
  await channel.assertExchange(workExchange, 'direct', durable);
  for (const [key, queue] of Object.entries(workQueues)) {
    await channel.assertQueue(queue, { ...durable, arguments: workQueueArguments(deadExchange) });
    await channel.bindQueue(queue, workExchange, key);
  }
  await channel.assertExchange(waitExchange, 'direct', durable);
  for (const { queue, time } of waitQueues) {
    await channel.assertQueue(queue, { ...durable, arguments: waitQueueArguments(workExchange, time) });
    await channel.bindQueue(queue, waitExchange, String(time));
  }
};
