import type { EventStore, StreamWrite, WriteOutcome } from '../../../application/ports/event-store.js';
import type { IdempotencyStore } from '../../../application/ports/idempotency-store.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import type { Engine } from '../../../bin/wiring/engine.js';
import { openEngine } from '../../../bin/engines/open.js';

type Append = (writes: readonly StreamWrite[]) => Promise<readonly WriteOutcome[]>;

/**
 * Interferes between the service and its engine, at the calls for which a function is given. What it throws,
 * the port throws.
 */
export interface Interference {
  /** Once the engine is open, for what writes or reads beside the service. */
  opened?: (engine: Engine) => void;
  /** Instead of an append; `append` is the engine's own. */
  append?: (writes: readonly StreamWrite[], append: Append) => Promise<readonly WriteOutcome[]>;
  /** Before a stream, the log or its head is read. */
  readEvents?: () => Promise<void>;
  /** What is read of the log from now on, instead of the engine's own. */
  log?: (store: EventStore) => Pick<EventStore, 'readLog' | 'head' | 'follow'>;
  /** Before a read model is asked. */
  readModels?: () => Promise<void>;
  /** Before a key is claimed. */
  claim?: () => Promise<void>;
}

const eventStore = (store: EventStore, interference: Interference): EventStore => ({
  append: (writes, completing) =>
    interference.append === undefined
      ? store.append(writes, completing)
      : interference.append(writes, (wanted) => store.append(wanted, completing)),
  readStream: async (stream, from, limit) => {
    await interference.readEvents?.();
    return store.readStream(stream, from, limit);
  },
  readLast: async (stream) => {
    await interference.readEvents?.();
    return store.readLast(stream);
  },
  readLog: async (after, limit) => {
    await interference.readEvents?.();
    return (interference.log?.(store) ?? store).readLog(after, limit);
  },
  positionBefore: (time) => store.positionBefore(time),
  head: async () => {
    await interference.readEvents?.();
    return (interference.log?.(store) ?? store).head();
  },
  markAt: async (position) => {
    await interference.readEvents?.();
    return store.markAt(position);
  },
  follow: (after, options) => (interference.log?.(store) ?? store).follow(after, options),
});

const models = (readModels: ReadModels, interference: Interference): ReadModels => ({
  get: async (projection, key) => {
    await interference.readModels?.();
    return readModels.get(projection, key);
  },
  page: async (projection, query) => {
    await interference.readModels?.();
    return readModels.page(projection, query);
  },
  count: async (projection, query) => {
    await interference.readModels?.();
    return readModels.count(projection, query);
  },
  agenda: async (projection, query) => {
    await interference.readModels?.();
    return readModels.agenda(projection, query);
  },
});

const idempotencyStore = (store: IdempotencyStore, interference: Interference): IdempotencyStore => ({
  clock: store.clock,
  claim: async (wanted) => {
    await interference.claim?.();
    return store.claim(wanted);
  },
  replace: (held, next) => store.replace(held, next),
  complete: (held) => store.complete(held),
  release: (held) => store.release(held),
});

/** Opens the engine that the settings ask for, with something in its way. */
export const openInterfered =
  (interference: Interference): typeof openEngine =>
  async (options): Promise<Engine> => {
    const engine = await openEngine(options);
    interference.opened?.(engine);
    return {
      ...engine,
      store: eventStore(engine.store, interference),
      readModels: models(engine.readModels, interference),
      idempotency: idempotencyStore(engine.idempotency, interference),
    };
  };
