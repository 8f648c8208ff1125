import type { Channel } from 'amqplib';
import type { Topology } from '../../../adapters/rabbitmq/topology.js';

/** Deletes every exchange and queue, with the messages in them. */
export const removeTopology = async (
  channel: Channel,
  { events, workExchange, workQueues, waitExchange, waitQueues, deadExchange, deadQueue }: Topology,
): Promise<void> => {
  for (const queue of [
    workQueues.first,
    workQueues.retry,
    deadQueue,
    ...waitQueues.map((wait) => wait.queue),
  ])
    await channel.deleteQueue(queue);
  for (const exchange of [events, workExchange, waitExchange, deadExchange])
    await channel.deleteExchange(exchange);
};
