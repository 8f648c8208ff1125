import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { mongoPersonalKeys } from '../../../adapters/mongodb/records/personal-keys.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { keyRing } from '../../../application/personal/key-ring.js';
import { openedEvents } from '../../../application/personal/personal.js';
import type { EventStore } from '../../../application/ports/event-store.js';
import type { Timeouts } from '../../../bin/wiring/engine.js';
import type { Role } from '../../../bin/wiring/roles.js';
import { masterKeys } from '../../../bin/settings/secret-files.js';
import { startService, type Service } from '../../../bin/wiring/service.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { cheapPasswords } from '../fixtures/cheap-passwords.js';
import { Proxy, type ProxyState } from './proxy.js';
import { authority, receiverSettings } from '../http/receiver.js';
import { clientsOf, type Clients } from '../http/service.js';
import type { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { distributedWiring, testWaits } from '../runner/wiring.js';

const engines = ['EVENTSTORE_URL', 'MONGODB_URL', 'RABBITMQ_URL'] as const;
export type EngineUrl = (typeof engines)[number];

/** One process of the service, with proxies of its own in front of every engine. */
export interface Node extends Service, Clients {
  readonly proxies: Readonly<Record<EngineUrl, Proxy>>;
  /** Cuts it off from every engine, as if its machine were gone. */
  readonly isolate: () => Promise<void>;
}

export interface Cluster {
  readonly start: (
    role: Role,
    state?: ProxyState,
    environment?: Readonly<Record<string, string>>,
  ) => Promise<Node>;
  readonly namespace: string;
  /** The events, read on a path without faults. */
  readonly store: EventStore;
  /** The event store, if it is not a real one. */
  readonly standIn: EventStoreDbStandIn | null;
  /**
   * Ends the event store with everything that is under way; a server that is not ours is cut off from every
   * process.
   */
  readonly endEventStore: () => Promise<void>;
  readonly restoreEventStore: () => Promise<void>;
  /** What the processes are started with, without the proxies. */
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

const defaultPorts = { EVENTSTORE_URL: 2113, MONGODB_URL: 27017, RABBITMQ_URL: 5672 } as const;

/**
 * Engines with places of their own for one test, and processes that share them. `rabbit`: another broker than
 * the one that the environment names.
 */
export const startCluster = async ({
  rabbit,
  timeouts = {},
}: { readonly rabbit?: string; readonly timeouts?: Timeouts } = {}): Promise<Cluster> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-'));
  const wiring = await distributedWiring(directory, rabbit);
  const { eventStore, namespace } = wiring;
  const clock = new SystemClock();
  const entropy = new SystemEntropy();
  const sealed = new EventStoreDbEventStore({ url: eventStore.url, prefix: namespace, clock, entropy });
  const common = {
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    RATE_LIMIT_PER_MINUTE: '1000000000',
    WEBHOOK_BACKOFF: testWaits,
    ...receiverSettings,
    ...wiring.environment,
  };
  const nodes: Node[] = [];
  const database = new MongoDatabase(wiring.environment['MONGODB_URL'] ?? '', clock);
  const { personalKeyFile } = readSettings(common);
  const keys = keyRing({
    store: mongoPersonalKeys(database),
    masters: masterKeys(personalKeyFile, entropy, true, 'PERSONAL_KEY_FILE'),
    clock,
    entropy,
  });

  const start: Cluster['start'] = async (role, state = 'up', environment = {}) => {
    const urlOf = (name: EngineUrl): string => wiring.environment[name] ?? '';
    const before = async (name: EngineUrl): Promise<Proxy> =>
      Proxy.before(urlOf(name), defaultPorts[name], state);
    const proxies = {
      EVENTSTORE_URL: await before('EVENTSTORE_URL'),
      MONGODB_URL: await before('MONGODB_URL'),
      RABBITMQ_URL: await before('RABBITMQ_URL'),
    };
    const urls = Object.fromEntries(engines.map((name) => [name, proxies[name].urlFor(urlOf(name))]));
    const settings = readSettings({ ...common, ...urls, ...environment });
    const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' });
    const fail = (error: unknown): void => {
      throw error;
    };
    const service = await startService({
      settings,
      role,
      clock,
      entropy,
      log,
      fail,
      extraCertificates: [authority.cert],
      namespace,
      timeouts,
      passwordCost: cheapPasswords,
    });
    const all = Object.values(proxies);
    const node: Node = {
      ...service,
      ...clientsOf(service),
      proxies,
      isolate: async () => {
        for (const proxy of all) await proxy.set('down');
      },
      stop: async () => {
        nodes.splice(nodes.indexOf(node), 1);
        await service.stop();
        for (const proxy of all) await proxy.close();
      },
    };
    nodes.push(node);
    return node;
  };

  return {
    start,
    namespace,
    store: openedEvents(sealed, keys, clock),
    standIn: eventStore.standIn,
    endEventStore: async () => {
      eventStore.standIn?.down();
      if (eventStore.standIn === null)
        for (const { proxies } of nodes) await proxies.EVENTSTORE_URL.set('down');
    },
    restoreEventStore: async () => {
      await eventStore.standIn?.up();
      for (const { proxies } of nodes) await proxies.EVENTSTORE_URL.set('up');
    },
    environment: common,
    close: async () => {
      await Promise.all([...nodes].map((node) => node.stop()));
      await sealed.close();
      await database.close();
      await wiring.clear();
      await rm(directory, { recursive: true, force: true });
    },
  };
};
