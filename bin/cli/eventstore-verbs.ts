import { grantReadOfAll, NotGranted } from '../../adapters/eventstoredb/rights.js';
import { ServiceRefused, Unreachable, WrongUsage } from './client.js';
import type { LongVerb } from './long-verbs.js';

/** Verbs for EventStoreDB itself, for its administrators. */
export const eventStoreVerbs: readonly LongVerb[] = [
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
