import {
  countDeadLetters,
  redriveDeadLetters,
  type DeadLettersOptions,
} from '../../adapters/rabbitmq/dead-letters.js';
import { messageOf } from '../../domain/errors.js';
import { readSettings } from '../settings.js';
import { Unreachable, WrongUsage } from './client.js';
import type { LongVerb } from './long-verbs.js';

const broker = (): DeadLettersOptions => {
  const { rabbitUrl, webhooks } = readSettings(process.env);
  if (rabbitUrl === null) throw new WrongUsage('Set RABBITMQ_URL: this verb speaks to the broker itself.');
  return { url: rabbitUrl, waits: webhooks.backoff };
};

/** A verb that asks the broker for a number of messages. */
const verbOf = (
  verb: string,
  about: string,
  ask: (options: DeadLettersOptions) => Promise<number>,
): LongVerb => ({
  noun: 'queue',
  verb,
  about,
  options: [],
  run: async ({ json, print }) => {
    const options = broker();
    const messages = await ask(options).catch((error: unknown) => {
      throw new Unreachable(`RabbitMQ: ${messageOf(error)}`);
    });
    print(json ? JSON.stringify({ messages }) : `Messages: ${messages}`);
  },
});

/**
 * The messages that workers could not handle, in RabbitMQ's queue of dead letters: not the deliveries that
 * receivers did not take.
 */
export const queueVerbs: readonly LongVerb[] = [
  verbOf('dead', 'How many messages to workers lie among the dead letters of RabbitMQ', countDeadLetters),
  verbOf('redrive', 'Send the dead letters of RabbitMQ to the workers again', redriveDeadLetters),
];
