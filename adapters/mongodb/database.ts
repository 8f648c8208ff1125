import {
  MongoBulkWriteError,
  MongoClient,
  MongoError,
  MongoServerError,
  type TopologyDescription,
  type Collection,
  type Db,
  type Document,
  type IndexDescription,
} from 'mongodb';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import { bounded, Bounds, MongoOverdue } from './bounds.js';

/** The database where the connection string names none. */
const usualName = 'handwritten_cards';
const namesDatabase = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

export interface MongoLimits {
  /** How long a server is looked for before a request is refused. */
  readonly find: Milliseconds;
  /** How long a server may be silent. */
  readonly answer: Milliseconds;
  readonly connections: number;
}

const usualLimits: MongoLimits = { find: 2_000, answer: 10_000, connections: 50 };

/** What the server can do, for the log of the start. Nothing here is built on sessions or change streams. */
export interface MongoAbilities {
  readonly version: string;
  readonly replicaSet: boolean;
  readonly sessions: boolean;
}

export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === 11_000;

/** Whether a bulk write failed by nothing but upserts that met each other: it can be sent again. */
const isOnlyDuplicates = (error: unknown): boolean => {
  if (!(error instanceof MongoBulkWriteError)) return false;
  const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  return errors.length > 0 && errors.every(({ code }) => code === 11_000);
};

const attemptsAtBulk = 3;

/** The server is known to be away: nothing was sent. */
class MongoAway extends MongoError {
  constructor() {
    super('MongoDB can not be reached at the moment');
  }
}

/** Whether some server takes writes. */
const takesWrites = ({ servers }: TopologyDescription): boolean =>
  [...servers.values()].some((server) => server.isWritable);

/** How often a server is looked after. */
const heartbeat: Milliseconds = 1_000;

/**
 * A database of a MongoDB server, 4.4 or newer, single or a replica set. Connects when it is first used and
 * again whenever it has to. Acknowledged writes are on a majority of the servers. No operation needs a
 * transaction. While the server is known to be away, every request is refused at once; any other ends within
 * twice the times of the limits, and what has failed then may have been done, or be done later.
 */
export class MongoDatabase {
  readonly #clock: Clock;
  readonly #url: string;
  readonly #limits: MongoLimits;
  readonly #name: string | undefined;
  readonly #bounds: Bounds;
  readonly #ready = new Map<string, Promise<unknown>>();
  #client: MongoClient;
  #isAway = false;
  #isProbing = false;
  #isClosed = false;

  /** Throws where the connection string can't be read. */
  constructor(url: string, clock: Clock, limits: Partial<MongoLimits> = {}) {
    this.#url = url;
    this.#clock = clock;
    this.#limits = { ...usualLimits, ...limits };
    // The driver looks for a server and waits for its answer a second time where the first fails.
    this.#bounds = new Bounds(clock, 2 * (this.#limits.find + this.#limits.answer));
    this.#name = namesDatabase.test(url) ? undefined : usualName;
    this.#client = this.#newClient();
  }

  #newClient(): MongoClient {
    const { find, answer, connections } = this.#limits;
    const client = new MongoClient(this.#url, {
      appName: 'handwritten-card-service',
      serverSelectionTimeoutMS: find,
      connectTimeoutMS: find,
      socketTimeoutMS: answer,
      waitQueueTimeoutMS: answer,
      heartbeatFrequencyMS: heartbeat,
      maxPoolSize: connections,
      retryReads: true,
      retryWrites: true,
      writeConcern: { w: 'majority' },
      readConcern: { level: 'majority' },
      useBigInt64: true,
      ignoreUndefined: true,
    });
    client.on('topologyDescriptionChanged', ({ previousDescription, newDescription }) => {
      if (client !== this.#client || this.#isClosed) return;
      if (takesWrites(newDescription)) this.#isAway = false;
      else if (takesWrites(previousDescription)) this.#isAway = true;
    });
    return client;
  }

  /** Every request goes through here, and has its end by the clock. */
  #requests(name = this.#name): Db {
    const client = this.#client;
    return bounded(client.db(name), (asked) =>
      this.#bounds.end(asked).catch((error: unknown) => {
        if (error instanceof MongoOverdue) this.#replace(client);
        throw error;
      }),
    );
  }

  /** A client that has lost a request has lost a connection with it. */
  #replace(lost: MongoClient): void {
    if (lost !== this.#client || this.#isClosed) return;
    this.#client = this.#newClient();
    this.#isAway = true;
    void lost.close().catch(() => undefined);
    void this.#probe();
  }

  /**
   * A collection, with its indexes once `prepared`. Throws a MongoError while the server is known to be away.
   */
  collection<Schema extends Document>(name: string): Collection<Schema> {
    if (this.#isAway) {
      void this.#probe();
      throw new MongoAway();
    }
    return this.#requests().collection<Schema>(name);
  }

  /** A collection whose indexes exist. They are made by whoever comes first, once per process. */
  async prepared<Schema extends Document>(
    name: string,
    indexes: readonly IndexDescription[],
  ): Promise<Collection<Schema>> {
    const collection = this.collection<Schema>(name);
    if (indexes.length === 0) return collection;
    const making = this.#ready.get(name) ?? collection.createIndexes([...indexes]);
    this.#ready.set(name, making);
    try {
      await making;
    } catch (error) {
      if (this.#ready.get(name) === making) this.#ready.delete(name);
      throw error;
    }
    return collection;
  }

  /** Collections whose names begin so. */
  async names(prefix: string): Promise<readonly string[]> {
    const found = await this.#requests().listCollections({}, { nameOnly: true }).toArray();
    return found.map(({ name }) => name).filter((name) => name.startsWith(prefix));
  }

  async drop(name: string): Promise<void> {
    this.#ready.delete(name);
    await this.collection(name).drop();
  }

  /** For readiness: rejects where no server answers. */
  async ping(): Promise<void> {
    // The driver would connect again.
    if (this.#isClosed) throw new MongoAway();
    const client = this.#client;
    try {
      // After a first connect that failed the driver would refuse everything for ever.
      await this.#bounds.end(client.connect());
      await this.#requests().command({ ping: 1 });
      if (client === this.#client) this.#isAway = this.#isClosed;
    } catch (error) {
      if (client === this.#client) this.#isAway = true;
      throw error;
    }
  }

  /** Looks whether the server is back; one look at a time. */
  async #probe(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    await this.ping().catch(() => undefined);
    this.#isProbing = false;
  }

  async abilities(): Promise<MongoAbilities> {
    const admin = this.#requests('admin');
    const hello = await admin.command({ hello: 1 }).catch(() => admin.command({ isMaster: 1 }));
    const build = await admin.command({ buildInfo: 1 });
    return {
      version: String(build['version']),
      replicaSet: typeof hello['setName'] === 'string',
      sessions:
        hello['logicalSessionTimeoutMinutes'] !== undefined && hello['logicalSessionTimeoutMinutes'] !== null,
    };
  }

  /** Removes everything: for tests. */
  async dropAll(): Promise<void> {
    this.#ready.clear();
    await this.#requests().dropDatabase();
  }

  /** Ends what is under way, as overdue. A server that is silent is not waited for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isAway = true;
    this.#bounds.stop();
    await within(this.#clock, this.#limits.find, this.#client.close(), () => null);
  }
}

/** What a socket failed with: the driver passes it on as it is where a connection breaks under its write. */
const isSocketError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;

/** Runs work, and turns whatever the driver throws into the port's own error. */
export const guarded = async <T>(
  Unavailable: new (message: string, options: ErrorOptions) => Error,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MongoError || isSocketError(error))
      throw new Unavailable(`MongoDB: ${messageOf(error)}`, { cause: error });
    throw error;
  }
};

/**
 * Sends writes that may repeat and come in any order; upserts of one document that met each other are sent
 * again.
 */
export const sendAll = async (send: () => Promise<unknown>): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await send();
      return;
    } catch (error) {
      if (!isOnlyDuplicates(error) || attempt === attemptsAtBulk) throw error;
    }
  }
};
