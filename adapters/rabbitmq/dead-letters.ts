import { connect, type GetMessage } from 'amqplib';
import type { Milliseconds } from '../../domain/ids.js';
import { isHint } from './delivery-queue.js';
import { declareHints, topologyOf } from './topology.js';

export interface DeadLettersOptions {
  readonly url: string;
  readonly waits: readonly Milliseconds[];
  readonly namespace?: string;
}

const connectTimeout: Milliseconds = 5_000;

/** Counts the dead letters. Throws if the broker can't be reached. */
export const countDeadLetters = async ({ url, waits, namespace }: DeadLettersOptions): Promise<number> => {
  const { deadQueue } = topologyOf(waits, namespace);
  const model = await connect(url, { timeout: connectTimeout });
  model.on('error', () => undefined);
  try {
    const channel = await model.createChannel();
    channel.on('error', () => undefined);
    return (await channel.checkQueue(deadQueue)).messageCount;
  } finally {
    await model.close().catch(() => undefined);
  }
};

/**
 * Sends dead letters to the workers again, and returns how many it sent. Messages that can't be read stay. A
 * crash may send some twice. Throws if the broker can't be reached.
 */
export const redriveDeadLetters = async ({ url, waits, namespace }: DeadLettersOptions): Promise<number> => {
  const topology = topologyOf(waits, namespace);
  const model = await connect(url, { timeout: connectTimeout });
  model.on('error', () => undefined);
  try {
    const channel = await model.createConfirmChannel();
    channel.on('error', () => undefined);
    await declareHints(channel, topology);
    const { messageCount } = await channel.checkQueue(topology.deadQueue);
    const unreadable: GetMessage[] = [];
    let sent = 0;
    for (let seen = 0; seen < messageCount; seen += 1) {
      const message = await channel.get(topology.deadQueue);
      if (message === false) break;
      if (!isHint(message)) {
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
  } finally {
    await model.close().catch(() => undefined);
  }
};
