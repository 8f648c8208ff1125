import { connect } from 'amqplib';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { topologyOf } from '../../../adapters/rabbitmq/topology.js';
import { removeTopology } from '../servers/topology.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { wiringVariable } from './wiring-variable.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { writeEventKeys } from '../fixtures/seal-events.js';

/**
 * What a service is started on: nothing (the embedded engine), or servers with places of their own for one
 * test.
 */
export interface Wiring {
  /** Settings, as the service reads them. */
  readonly environment: Readonly<Record<string, string>>;
  readonly namespace: string;
  /** Removes what the service has left on the servers. */
  readonly clear: () => Promise<void>;
}

const uniqueNamespace = (): string => `test.${randomBytes(6).toString('hex')}.`;

const embedded = (): Wiring => ({
  environment: {},
  namespace: uniqueNamespace(),
  clear: () => Promise.resolve(),
});

/**
 * An event store for one test: the server that EVENTSTORE_URL names, whose streams the namespace keeps apart
 * and which keeps them, else a stand-in.
 */
export interface EventStorePlace {
  readonly url: string;
  /** Null: it is a server, which no test can end. */
  readonly standIn: EventStoreDbStandIn | null;
  readonly close: () => void;
}

export const eventStorePlace = async (): Promise<EventStorePlace> => {
  const url = process.env['EVENTSTORE_URL'] ?? '';
  if (url !== '') return { url, standIn: null, close: () => undefined };
  const standIn = await EventStoreDbStandIn.start(new SystemClock());
  return { url: standIn.url, standIn, close: () => standIn.down() };
};

export const isDistributed = (): boolean => process.env[wiringVariable] === 'distributed';

const databaseUrl = (server: string, name: string): string => {
  const [address = '', options] = server.split('?');
  return `${address.replace(/^(mongodb(\+srv)?:\/\/[^/]+).*$/, '$1')}/${name}${options === undefined ? '' : `?${options}`}`;
};

/** The key files of services whose events are on a server; they are not made by them. */
export const writeKeyFile = (directory: string): string => {
  const path = join(directory, 'secret.key');
  for (const file of [path, join(directory, 'personal.key')])
    writeFileSync(file, `test:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  return path;
};

/** Waits between attempts whose queues are removed after the test. */
export const testWaits = '40ms,200ms,40ms,200ms,40ms,200ms';

/** An event store, a database, and names in RabbitMQ of its own. */
export const distributedWiring = async (
  directory: string,
  rabbit = process.env['RABBITMQ_URL'] ?? '',
): Promise<Wiring & { readonly eventStore: EventStorePlace }> => {
  const mongo = process.env['MONGODB_URL'] ?? '';
  const eventStore = await eventStorePlace();
  const namespace = uniqueNamespace();
  const mongoUrl = databaseUrl(mongo, namespace.replaceAll('.', '_'));
  return {
    environment: {
      EVENTSTORE_URL: eventStore.url,
      MONGODB_URL: mongoUrl,
      RABBITMQ_URL: rabbit,
      SECRET_KEY_FILE: writeKeyFile(directory),
      EVENT_KEY_FILE: writeEventKeys(directory),
    },
    namespace,
    eventStore,
    clear: async () => {
      eventStore.close();
      const database = new MongoDatabase(mongoUrl, new SystemClock());
      await database.dropAll();
      await database.close();
      const model = await connect(rabbit);
      try {
        const channel = await model.createChannel();
        // The waits are those of the default settings and of the tests.
        await removeTopology(
          channel,
          topologyOf([60_000, 300_000, 1_500_000, 7_200_000, 36_000_000, 40, 200], namespace),
        );
        await channel.close();
      } finally {
        await model.close();
      }
    },
  };
};

/** The wiring that this run of the tests asks for. */
export const wiringFor = (directory: string): Promise<Wiring> =>
  isDistributed() ? distributedWiring(directory) : Promise.resolve(embedded());
