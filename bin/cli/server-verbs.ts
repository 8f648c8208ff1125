import { grantReadOfAll } from '../../adapters/eventstoredb/rights.js';
import { Unreachable, WrongUsage } from './client.js';
import { longVerb, required, type Verb, type VerbContext } from './verb.js';
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
const queueVerb = (
  words: string,
  description: string,
  ask: (options: DeadLettersOptions) => Promise<number>,
): Verb =>
  longVerb(words, description, [], async ({ show, environment }) => {
    const options = broker(environment);
    const messages = await ask(options).catch((error: unknown) => {
      throw new Unreachable(`RabbitMQ: ${messageOf(error)}`);
    });
    show({ messages }, `Messages: ${messages}`);
  });

/** Verbs that talk to a server instead of the service. */
export const serverVerbs = [
  // Dead letters of RabbitMQ are hints that workers could not handle. Those of deliveries, which receivers
  // did not accept, are another kind: `delivery redrive`.
  queueVerb(
    'queue dead',
    'Count the dead letters in RabbitMQ: messages that workers could not handle',
    countDeadLetters,
  ),
  queueVerb(
    'queue redrive',
    'Redrive the dead letters in RabbitMQ: send them to the workers again',
    redriveDeadLetters,
  ),
  // For administrators of EventStoreDB.
  longVerb(
    'eventstore grant',
    "Let the service's user read $all in EventStoreDB; needs the connection string of an administrator as EVENTSTORE_URL",
    [required('user', "the service's user in EventStoreDB, or a group of his")],
    async ({ input, show, environment }) => {
      const user = input.text('user') ?? '';
      // The other settings need not be those of a service: an administrator runs this anywhere.
      const url = environment['EVENTSTORE_URL']?.trim() ?? '';
      if (url === '')
        throw new WrongUsage(
          'Set EVENTSTORE_URL to the connection string of an administrator: this verb talks to EventStoreDB itself.',
        );
      const readers = await grantReadOfAll(url, user);
      show({ readers }, `May read $all: ${readers.join(', ')}`);
    },
  ),
];
