import { grantReadOfAll, NotGranted } from '../../adapters/eventstoredb/rights.js';
import { ServiceRefused, Unreachable, WrongUsage } from './client.js';
import type { LongVerb, VerbContext } from './long-verbs.js';
import {
  countDeadLetters,
  redriveDeadLetters,
  type DeadLettersOptions,
} from '../../adapters/rabbitmq/dead-letters.js';
import { messageOf } from '../../domain/errors.js';
import { readSettings } from '../settings/settings.js';

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
const queueVerbs: readonly LongVerb[] = [
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

/** Verbs for EventStoreDB itself, for its administrators. */
const eventStoreVerbs: readonly LongVerb[] = [
  {
    noun: 'eventstore',
    verb: 'grant',
    description:
      "Let the service's user read $all in EventStoreDB; needs the connection string of an administrator as EVENTSTORE_URL",
    options: [
      { name: 'user', description: "the service's user in EventStoreDB, or a group of his", required: true },
    ],
    run: async ({ input, show, environment }) => {
      const user = input.text('user') ?? '';
      // The other settings need not be those of a service: an administrator runs this anywhere.
      const url = environment['EVENTSTORE_URL']?.trim() ?? '';
      if (user === '' || url === '')
        throw new WrongUsage(
          'Name the user with --user, and set EVENTSTORE_URL to the connection string of an administrator: this verb talks to EventStoreDB itself.',
        );
      const readers = await grantReadOfAll(url, user).catch((error: unknown) => {
        if (!(error instanceof NotGranted)) throw error;
        throw error.isAway ? new Unreachable(error.message) : new ServiceRefused(error.message, '', 0);
      });
      show({ readers }, `May read $all: ${readers.join(', ')}`);
    },
  },
];

/** Verbs that talk to a server instead of the service. */
export const serverVerbs: readonly LongVerb[] = [...queueVerbs, ...eventStoreVerbs];
