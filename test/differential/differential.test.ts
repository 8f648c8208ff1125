import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { mongoCheckpoints } from '../../adapters/mongodb/records/checkpoints.js';
import { mongoKeyUses } from '../../adapters/mongodb/records/key-uses.js';
import type { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../adapters/mongodb/deliveries/deliveries.js';
import type { Deliveries } from '../../application/ports/deliveries.js';
import { mongoHookCalls } from '../../adapters/mongodb/records/hook-calls.js';
import { mongoIdempotencyStore } from '../../adapters/mongodb/records/idempotency-store.js';
import { mongoLogTiles } from '../../adapters/mongodb/records/log-tiles.js';
import { mongoPersonalKeys } from '../../adapters/mongodb/records/personal-keys.js';
import { mongoProjectionStore } from '../../adapters/mongodb/read/projection-store.js';
import { mongoRateLimiter } from '../../adapters/mongodb/records/rate-limiter.js';
import { mongoReadModels } from '../../adapters/mongodb/read/read-models.js';
import { mongoImportRecords, mongoSignInRecords } from '../../adapters/mongodb/records/records.js';
import { mongoRequests } from '../../adapters/mongodb/records/requests.js';
import { keysPath, openPersonalKeys } from '../../adapters/sqlite/keys/personal-keys.js';
import { sqliteLogTiles } from '../../adapters/sqlite/notary/log-tiles.js';
import { sqliteProjectionStore } from '../../adapters/sqlite/read/projection-store.js';
import { sqliteReadModels } from '../../adapters/sqlite/read/read-models.js';
import { sqliteDeliveries } from '../../adapters/sqlite/records/deliveries.js';
import { sqliteHookCalls } from '../../adapters/sqlite/records/hook-calls.js';
import {
  sqliteCheckpoints,
  sqliteImportRecords,
  sqliteKeyUses,
  sqliteRequests,
  sqliteSignInRecords,
} from '../../adapters/sqlite/records/records.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { LocalRateLimiter } from '../../adapters/system/rate-limiter.js';
import type { KeyUseRows } from '../../application/ports/key-uses.js';
import { clock } from '../adapters/eventstoredb/support.js';
import { freshDatabase } from '../adapters/mongodb/support.js';
import { openNew, type OpenedFile } from '../adapters/sqlite/setup.js';
import { startOfContract } from '../contract/idempotency-store.js';
import { notes } from '../support/fixtures/notes.js';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../support/memory/deliveries.js';
import { MemoryEventStore } from '../support/memory/event-store.js';
import { MemoryHookCalls } from '../support/memory/hook-calls.js';
import { MemoryIdempotencyStore } from '../support/memory/idempotency-store.js';
import { MemoryKeyUses } from '../support/memory/key-uses.js';
import { MemoryLogTiles } from '../support/memory/log-tiles.js';
import { MemoryPersonalKeys } from '../support/memory/personal-keys.js';
import { MemoryReadModels } from '../support/memory/read-models.js';
import { memoryRequests } from '../support/memory/requests.js';
import { MemoryImportRecords, MemorySignInRecords } from '../support/memory/records.js';
import { VirtualClock } from '../support/memory/clock.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { eventStorePlace } from '../support/runner/wiring.js';
import { standingClock } from '../support/time/standing-clock.js';
import { compare, type Made, type Port } from './compare.js';
import { deliveries } from './deliveries.js';
import { claimLasts, Delivering, HandClock } from './delivering.js';
import {
  eventStore,
  hookCalls,
  idempotency,
  imports,
  logTiles,
  personalKeys,
  readModels,
  requests,
  signIn,
  type Projected,
} from './ports.js';
import { checkpoints, keyUses, rateLimits } from './small-ports.js';

const inMemory =
  <Subject>(make: () => Subject) =>
  (): Promise<Made<Subject>> =>
    Promise.resolve({ subject: make(), close: () => Promise.resolve() });

const inFile =
  <Subject>(make: (file: OpenedFile) => Subject) =>
  async (): Promise<Made<Subject>> => {
    const file = await openNew();
    return { subject: make(file), close: () => file.close() };
  };

const inDirectory =
  <Subject>(open: (directory: string) => { readonly subject: Subject; readonly close: () => void }) =>
  async (): Promise<Made<Subject>> => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-differential-'));
    const { subject, close } = open(directory);
    return {
      subject,
      close: async () => {
        close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  };

/** More runs than usual were asked for. */
const isLong = process.env['DIFFERENTIAL_RUNS'] !== undefined;

/** The same answers as in memory, operation by operation. */
const agrees = <Subject>(
  port: Port<Subject>,
  reference: () => Promise<Made<Subject>>,
  adapter: () => Promise<Made<Subject>>,
): void => {
  it(`give the same answers as in memory: ${port.name}`, async () => {
    const compared = await compare(port, reference, adapter);
    if (isLong) process.stdout.write(`      ${compared} operations\n`);
  }).timeout(isLong ? 3_600_000 : 120_000);
};

const standing = () => standingClock(startOfContract);
const memory = {
  idempotency: inMemory(() => ({ store: new MemoryIdempotencyStore(standing()), claims: [] })),
  signIn: inMemory(() => new MemorySignInRecords(new VirtualClock())),
  imports: inMemory(() => new MemoryImportRecords(new VirtualClock())),
  requests: inMemory(memoryRequests),
  personalKeys: inMemory(() => new MemoryPersonalKeys()),
  hookCalls: inMemory(() => new MemoryHookCalls()),
  logTiles: inMemory(() => new MemoryLogTiles()),
  readModels: inMemory(() => {
    const both = new MemoryReadModels();
    return { store: both, readModels: both };
  }),
  checkpoints: inMemory(() => new MemoryCheckpoints()),
  keyUses: inMemory(() => {
    const uses = new MemoryKeyUses();
    return {
      save: async (some) => some.forEach(([id, at]) => uses.used(id, at)),
      read: (ids) => uses.lastUses(ids),
    } satisfies KeyUseRows;
  }),
  rateLimits: inMemory(() => new LocalRateLimiter()),
  deliveries: (isShared: boolean) => (): Promise<Made<Delivering>> => {
    const clock = new HandClock();
    const first = new MemoryDeliveries(isShared ? { clock, lasts: claimLasts } : null);
    return Delivering.make({ clock, isShared }, () => first.restarted());
  },
  eventStore: (atomic: boolean) => inMemory(() => new MemoryEventStore({ atomic })),
};

/** Readers have nothing to ask before the projector has made a build. */
const begun = (make: () => Promise<Made<Projected>>) => async (): Promise<Made<Projected>> => {
  const made = await make();
  await made.subject.store.active(notes);
  return made;
};

describe('random operations on SQLite', () => {
  agrees(
    idempotency,
    memory.idempotency,
    inFile(({ idempotencyStore: store }) => ({ store, claims: [] })),
  );
  agrees(
    signIn,
    memory.signIn,
    inFile((file) => sqliteSignInRecords({ ...file, clock: new VirtualClock() })),
  );
  agrees(
    imports,
    memory.imports,
    inFile((file) => sqliteImportRecords({ ...file, clock: new VirtualClock() })),
  );
  agrees(
    requests,
    memory.requests,
    inFile((file) => sqliteRequests(file)),
  );
  agrees(
    hookCalls,
    memory.hookCalls,
    inFile((file) => sqliteHookCalls(file)),
  );
  agrees(deliveries, memory.deliveries(false), async () => {
    const file = await openNew();
    const given = { clock: new HandClock(), isShared: false };
    return Delivering.make(given, () => sqliteDeliveries(file), file.close);
  });
  agrees(
    keyUses,
    memory.keyUses,
    inFile((file) => sqliteKeyUses(file)),
  );
  agrees(
    checkpoints,
    memory.checkpoints,
    inFile((file) => sqliteCheckpoints(file)),
  );
  agrees(
    logTiles,
    memory.logTiles,
    inFile(({ database, writer }) =>
      sqliteLogTiles({ database, write: (name, input) => writer.run(name, input) }),
    ),
  );
  agrees(
    eventStore,
    memory.eventStore(true),
    inFile(({ eventStore: store }) => store),
  );
  agrees(
    personalKeys,
    memory.personalKeys,
    inDirectory((directory) => {
      const subject = openPersonalKeys(keysPath(directory));
      return { subject, close: () => subject.close() };
    }),
  );
  agrees(
    readModels,
    begun(memory.readModels),
    begun(
      inDirectory((directory) => {
        const path = join(directory, 'read.db');
        const store = sqliteProjectionStore({ path });
        const models = sqliteReadModels({ path, clock: new VirtualClock() });
        const close = (): void => {
          models.close();
          store.close();
        };
        return { subject: { store, readModels: models }, close };
      }),
    ),
  );
});

describe('random operations on EventStoreDB', () => {
  agrees(eventStore, memory.eventStore(false), async () => {
    const place = await eventStorePlace();
    const prefix = `test.${new SystemEntropy().uuid()}.`;
    const store = new EventStoreDbEventStore({ url: place.url, prefix, clock, entropy: new SystemEntropy() });
    return {
      subject: store,
      close: async () => {
        await store.close();
        place.close();
      },
    };
  });
});

describeWithEngines(['MONGODB_URL'], 'random operations on MongoDB', (url) => {
  const inDatabase =
    <Subject>(make: (database: MongoDatabase) => Subject) =>
    async (): Promise<Made<Subject>> => {
      const { database, end } = freshDatabase(url);
      return { subject: make(database), close: end };
    };
  agrees(
    idempotency,
    memory.idempotency,
    inDatabase((database) => ({
      store: mongoIdempotencyStore({ database, clock: standing() }),
      claims: [],
    })),
  );
  agrees(
    signIn,
    memory.signIn,
    inDatabase((database) => mongoSignInRecords({ database, clock: new VirtualClock() })),
  );
  agrees(
    imports,
    memory.imports,
    inDatabase((database) => mongoImportRecords({ database, clock: new VirtualClock() })),
  );
  agrees(requests, memory.requests, inDatabase(mongoRequests));
  agrees(
    hookCalls,
    memory.hookCalls,
    inDatabase((database) => mongoHookCalls({ database, keep: 86_400_000 })),
  );
  agrees(deliveries, memory.deliveries(true), () => {
    const { database, end } = freshDatabase(url);
    const clock = new HandClock();
    const times = { attemptTime: claimLasts / 2, recordedWithin: claimLasts / 2 };
    const newProcess = (): Deliveries =>
      mongoDeliveries({ database, clock, entropy: new SystemEntropy(), ...times });
    return Delivering.make({ clock, isShared: true }, newProcess, end);
  });
  agrees(keyUses, memory.keyUses, inDatabase(mongoKeyUses));
  agrees(
    checkpoints,
    memory.checkpoints,
    inDatabase((database) => mongoCheckpoints(database)),
  );
  agrees(
    rateLimits,
    memory.rateLimits,
    inDatabase((database) =>
      mongoRateLimiter({
        database,
        clock: new SystemClock(),
        fallback: new LocalRateLimiter(),
        timeout: 60_000,
      }),
    ),
  );
  agrees(
    logTiles,
    memory.logTiles,
    inDatabase((database) => mongoLogTiles(database)),
  );
  agrees(
    personalKeys,
    memory.personalKeys,
    inDatabase((database) => mongoPersonalKeys(database)),
  );
  agrees(
    readModels,
    begun(memory.readModels),
    begun(
      inDatabase((database) => {
        const at = standingClock(0);
        return {
          store: mongoProjectionStore({ database, clock: at }),
          readModels: mongoReadModels({ database, clock: at }),
        };
      }),
    ),
  );
});
