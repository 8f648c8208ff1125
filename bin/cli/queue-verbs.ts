import {
  countDeadLetters,
  redriveDeadLetters,
  type DeadLettersOptions,
} from '../../adapters/rabbitmq/dead-letters.js';
import { messageOf } from '../../domain/errors.js';
import { readSettings } from '../settings.js';
import { Unreachable, WrongUsage } from './client.js';
import type { LongVerb, VerbContext } from './long-verbs.js';

const broker = (environment: VerbContext['environment']): DeadLettersOptions => {
  const { servers, webhooks } = readSettings(environment);
  if (servers === null)
    throw new WrongUsage(
      'Set RABBITMQ_URL and those of the other servers: this verb talks to the broker itself.',
    );
  return { url: servers.rabbitUrl, waits: webhooks.backoff };
};

/** A verb whose result is a number of messages in the broker. */
const verbOf = (
  verb: string,
  description: string,
  ask: (options: DeadLettersOptions) => Promise<number>,
): LongVerb => ({
  noun: 'queue',
  verb,
  description,
  options: [],
  run: async ({ show, environment }) => {
    const options = broker(environment);
    const messages = await ask(options).catch((error: unknown) => {
      throw new Unreachable(`RabbitMQ: ${messageOf(error)}`);
    });
    show({ messages }, `Messages: ${messages}`);
  },
});

/**
 * Verbs for the dead letters of RabbitMQ: hints that workers could not handle. (Deliveries that receivers did
 * not accept are dead letters of another kind: `delivery redrive`.)
 */
export const queueVerbs: readonly LongVerb[] = [
  verbOf(
    'dead',
    'Count the dead letters in RabbitMQ: messages that workers could not handle',
    countDeadLetters,
  ),
  verbOf(
    'redrive',
    'Redrive the dead letters in RabbitMQ: send them to the workers again',
    redriveDeadLetters,
  ),
];
