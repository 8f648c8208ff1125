import { join } from 'node:path';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoPersonalKeys } from '../../adapters/mongodb/records/personal-keys.js';
import { newGate } from '../../adapters/sqlite/gate.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { openLogReader } from '../../adapters/sqlite/log/log-reader.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { keyRing } from '../../application/personal/key-ring.js';
import { openedLog } from '../../application/personal/personal.js';
import type { LogReader } from '../../application/ports/event-store.js';
import type { PersonalKeys } from '../../application/ports/personal-keys.js';
import { masterKeys } from '../../bin/settings/secret-files.js';
import type { LoggedEvent } from '../../domain/events.js';
import { distributedWiring } from '../support/runner/wiring.js';

/** Where a service is killed again and again, and its log as somebody else sees it. */
export interface Stage {
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The log after a position, with personal data opened. Changes nothing: recovery is left to the service.
   */
  readonly readLog: (after: bigint) => Promise<readonly LoggedEvent[]>;
  readonly close: () => Promise<void>;
}

const clock = new SystemClock();
const entropy = new SystemEntropy();
const maxEvents = 1_000_000;

const fail = (error: unknown): never => {
  throw error;
};

const opened = (log: LogReader, store: PersonalKeys, file: string): LogReader =>
  openedLog(
    log,
    keyRing({ store, masters: masterKeys(file, entropy, false, 'PERSONAL_KEY_FILE'), clock, entropy }),
    clock,
  );

const readFiles = async (directory: string, after: bigint): Promise<readonly LoggedEvent[]> => {
  const path = join(directory, 'events.db');
  const head = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  Atomics.store(new BigInt64Array(head), 0, BigInt(maxEvents));
  const { reader, close } = openLogReader({ path, head, gate: newGate() }, { clock, onDamage: fail });
  const keys = openPersonalKeys(keysPath(directory), { readOnly: true });
  try {
    return await opened(reader, keys, join(directory, 'personal.key')).readLog(after, maxEvents);
  } finally {
    keys.close();
    close();
  }
};

/** Everything in files. */
export const inFiles = (directory: string): Stage => ({
  environment: {},
  readLog: (after) => readFiles(directory, after),
  close: () => Promise.resolve(),
});

/**
 * Everything on servers: those that MONGODB_URL, RABBITMQ_URL and EVENTSTORE_URL name, or a stand-in for the
 * last.
 */
export const onServers = async (directory: string): Promise<Stage> => {
  const { environment, namespace, eventStore, clear } = await distributedWiring(directory);
  const prefix = `soak.${namespace}`;
  const store = new EventStoreDbEventStore({ url: eventStore.url, prefix, clock, entropy });
  const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
  const keys = mongoPersonalKeys(database);
  const file = environment['SECRET_KEY_FILE'] ?? '';
  return {
    environment: {
      ...environment,
      EVENTSTORE_PREFIX: prefix,
      PERSONAL_KEY_FILE: file,
      CLAIM_TIMEOUT: '1s',
      RECONCILE_AFTER: '1s',
    },
    readLog: (after) => opened(store, keys, file).readLog(after, maxEvents),
    close: async () => {
      await store.close();
      await database.close();
      await clear();
    },
  };
};
