import { connect, type Channel } from 'amqplib';
import {
  RabbitDeliveryQueue,
  type RabbitDeliveryQueueOptions,
} from '../../../adapters/rabbitmq/delivery-queue.js';
import { topologyOf, type Topology } from '../../../adapters/rabbitmq/topology.js';
import { removeTopology } from '../../support/servers/topology.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { derivedUuid } from '../../../domain/ids.js';
import { eventually } from '../../support/time/eventually.js';

export const clock = new SystemClock();
export const shortWaits = [40, 400];

let made = 0;
const run = derivedUuid('rabbitmq tests', process.pid, Date.now()).slice(0, 8);

/** A namespace that no other test uses. */
export const freshNamespace = (): string => `test.${run}.${(made += 1)}.`;

/** Works on a channel of its own, without the adapter. */
export const withChannel = async <T>(url: string, work: (channel: Channel) => Promise<T>): Promise<T> => {
  const model = await connect(url);
  try {
    const channel = await model.createChannel();
    const result = await work(channel);
    await channel.close();
    return result;
  } finally {
    await model.close();
  }
};

export interface Rig {
  readonly queue: RabbitDeliveryQueue;
  readonly topology: Topology;
  readonly namespace: string;
  readonly errors: unknown[];
}

/**
 * Runs a test with queues of its own on the broker, and deletes them. `direct`: the broker's URL, if the
 * adapter connects through a proxy.
 */
export const withQueue = async (
  {
    url,
    direct = url,
    ...more
  }: Partial<RabbitDeliveryQueueOptions> & { readonly url: string; readonly direct?: string },
  run: (rig: Rig) => Promise<void>,
): Promise<void> => {
  const namespace = freshNamespace();
  const topology = topologyOf(shortWaits, namespace);
  const errors: unknown[] = [];
  const queue = new RabbitDeliveryQueue({
    clock,
    waits: shortWaits,
    namespace,
    onError: (error) => errors.push(error),
    ...more,
    url,
  });
  try {
    await run({ queue, topology, namespace, errors });
  } finally {
    await queue.close();
    await withChannel(direct, (channel) => removeTopology(channel, topology));
  }
};

export const isUp = (queue: RabbitDeliveryQueue): Promise<true> =>
  eventually(() => queue.down === null, { what: 'the connection' });

export const depthOf = (url: string, queue: string): Promise<number> =>
  withChannel(url, async (channel) => (await channel.checkQueue(queue)).messageCount);
