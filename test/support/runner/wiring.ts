import { connect } from 'amqplib';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MongoDatabase } from '../../../adapters/mongodb/database.js';
import { topologyOf } from '../../../adapters/rabbitmq/topology.js';
import { removeTopology } from '../servers/topology.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { wiringVariable } from './wiring-variable.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';

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

const embedded: Wiring = { environment: {}, namespace: '', clear: () => Promise.resolve() };

export const isDistributed = (): boolean => process.env[wiringVariable] === 'distributed';

const databaseUrl = (server: string, name: string): string => {
  const [address = '', options] = server.split('?');
  return `${address.replace(/^(mongodb(\+srv)?:\/\/[^/]+).*$/, '$1')}/${name}${options === undefined ? '' : `?${options}`}`;
};

/** A key file for services whose events are on a server; it is not made by them. */
export const writeKeyFile = (directory: string): string => {
  const path = join(directory, 'secret.key');
  writeFileSync(path, `test:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  return path;
};

/** Waits between attempts whose queues are removed after the test. */
export const testWaits = '40ms,200ms,40ms,200ms,40ms,200ms';

/** An event store (the stand-in where no server is named), a database, and names in RabbitMQ of its own. */
export const distributedWiring = async (
  directory: string,
  rabbit = process.env['RABBITMQ_URL'] ?? '',
): Promise<Wiring & { readonly standIn: EventStoreDbStandIn }> => {
  const mongo = process.env['MONGODB_URL'] ?? '';
  const unique = randomBytes(6).toString('hex');
  const standIn = await EventStoreDbStandIn.start(new SystemClock());
  const mongoUrl = databaseUrl(mongo, `test_${unique}`);
  const namespace = `test.${unique}.`;
  return {
    environment: {
      EVENTSTORE_URL: standIn.url,
      MONGODB_URL: mongoUrl,
      RABBITMQ_URL: rabbit,
      SECRET_KEY_FILE: writeKeyFile(directory),
    },
    namespace,
    standIn,
    clear: async () => {
      standIn.down();
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
  isDistributed() ? distributedWiring(directory) : Promise.resolve(embedded);
