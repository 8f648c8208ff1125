import { connect, type ConfirmChannel, type GetMessage } from 'amqplib';
import { connectTimeout } from './connection.js';
import { hintOf, type RabbitDeliveryQueueOptions } from './delivery-queue.js';
import { declareHints, topologyOf } from './topology.js';

export type DeadLettersOptions = Pick<RabbitDeliveryQueueOptions, 'url' | 'waits' | 'namespace'>;

const onChannel = async (
  url: string,
  work: (channel: ConfirmChannel) => Promise<number>,
): Promise<number> => {
  const model = await connect(url, { timeout: connectTimeout });
  model.on('error', () => undefined);
  try {
    const channel = await model.createConfirmChannel();
    channel.on('error', () => undefined);
    return await work(channel);
  } finally {
    await model.close().catch(() => undefined);
  }
};

/** Counts the dead letters. Throws if the broker can't be reached. */
export const countDeadLetters = ({ url, waits, namespace }: DeadLettersOptions): Promise<number> =>
  onChannel(
    url,
    async (channel) => (await channel.checkQueue(topologyOf(waits, namespace).deadQueue)).messageCount,
  );

/**
 * Sends dead letters to the workers again, and returns how many it sent. Messages that can't be read stay. A
 * crash may send some twice. Throws if the broker can't be reached.
 */
export const redriveDeadLetters = ({ url, waits, namespace }: DeadLettersOptions): Promise<number> =>
  onChannel(url, async (channel) => {
    const topology = topologyOf(waits, namespace);
    await declareHints(channel, topology);
    const { messageCount } = await channel.checkQueue(topology.deadQueue);
    const unreadable: GetMessage[] = [];
    let sent = 0;
    for (let seen = 0; seen < messageCount; seen += 1) {
      const message = await channel.get(topology.deadQueue);
      if (message === false) break;
      if (hintOf(message) === null) {
        unreadable.push(message);
        continue;
      }
      channel.publish(topology.workExchange, 'retry', message.content, {
        contentType: 'application/json',
        persistent: true,
        mandatory: true,
      });
      await channel.waitForConfirms();
      channel.ack(message);
      sent += 1;
    }
    for (const message of unreadable) channel.nack(message, false, true);
    await channel.close();
    return sent;
  });
