import {
  GridFSBucket,
  MongoClient,
  MongoError,
  ReadConcern,
  ReadPreference,
  type TopologyDescription,
  type Collection,
  type Db,
  type DbOptions,
  type Document,
  type IndexDescription,
} from 'mongodb';
import { uncounted, type CountCall } from '../../../application/ports/tracing.js';
import type { Clock } from '../../../application/ports/system.js';
import { explainingFailures } from '../../../application/timing/explaining-failures.js';
import { withTimeout } from '../../../application/timing/with-timeout.js';
import { WriteHealth } from '../../../application/writing/write-health.js';
import { messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { bounded, Bounds, MongoOverdue } from './bounds.js';
import { allIndexes } from './indexes.js';
import { duplicatesOf, refusesWrites } from './refusals.js';

/** The database to use if the connection string names none. */
const defaultName = 'handwritten_cards';
const namesDatabase = /^mongodb(\+srv)?:\/\/[^/]+\/[^?]/;

export interface MongoLimits {
  /** How long to look for a server before a request is refused. */
  readonly find: Milliseconds;
  /** How long to wait for a server's response. */
  readonly respond: Milliseconds;
  readonly connections: number;
  /** A collection with at least this many documents gets its indexes one by one, without a time limit. */
  readonly large: number;
}

/** Called with the index that is being made, and the number of documents in its collection. */
export type IndexReport = (index: {
  readonly collection: string;
  readonly name: string;
  readonly rows: number;
}) => void;

const defaultLimits: MongoLimits = { find: 2_000, respond: 10_000, connections: 50, large: 10_000 };

const bulkTries = 3;

/** The server is known to be away: nothing was sent. */
class MongoAway extends MongoError {
  constructor() {
    super("MongoDB can't be reached at the moment");
  }
}

/** How far a clock was ahead at least, if the server's time was read between `before` and `after` by it. */
export const aheadOf = (there: Date, before: Milliseconds, after: Milliseconds): Milliseconds => {
  const time = there.getTime();
  if (time < before) return before - time;
  return time > after ? after - time : 0;
};

/** Whether any server accepts writes. */
const acceptsWrites = ({ servers }: TopologyDescription): boolean =>
  [...servers.values()].some((server) => server.isWritable);

/**
 * For every request, whatever the connection string says: acknowledged writes survive the loss of a server,
 * and every read shows them.
 */
const guarantees: DbOptions = {
  readPreference: ReadPreference.primary,
  readConcern: new ReadConcern('majority'),
  writeConcern: { w: 'majority' },
};

const heartbeat: Milliseconds = 1_000;

/**
 * A database of a MongoDB server, 4.4 or newer, single or a replica set. Connects when it is first used, and
 * reconnects by itself. Acknowledged writes are on a majority of the servers. No operation needs
 * transactions. While the server is known to be away, every request is refused at once. Otherwise a request
 * ends within twice the sum of the limits; one that failed may still have taken effect, or take effect later.
 */
export class MongoDatabase {
  readonly #limits: MongoLimits;
  readonly #name: string | undefined;
  readonly #bounds: Bounds;
  readonly #indexed = new Map<string, Promise<void>>();
  /** The clients that make indexes. */
  readonly #unhurried = new Set<MongoClient>();
  /** Of the client, by name: making one takes longer than most of the driver's work for a request. */
  readonly #databases = new Map<string | undefined, Db>();
  readonly #writes: WriteHealth;
  #client: MongoClient;
  #isAway = false;
  #isProbing = false;
  #isClosed = false;

  /**
   * `count` is called with every request, by method and collection, but not with the driver's retries and
   * further batches of a cursor. Throws if the connection string can't be read.
   */
  constructor(
    private readonly url: string,
    private readonly clock: Clock,
    limits: Partial<MongoLimits> = {},
    private readonly count: CountCall = uncounted,
  ) {
    this.#limits = { ...defaultLimits, ...limits };
    // If the first try fails, the driver looks for a server and waits for its response a second time.
    this.#bounds = new Bounds(clock, 2 * (this.#limits.find + this.#limits.respond));
    this.#name = namesDatabase.test(url) ? undefined : defaultName;
    this.#writes = new WriteHealth(clock, () =>
      this.collection<{ readonly _id: string }>('probe').updateOne(
        { _id: 'probe' },
        { $set: { filler: 'x'.repeat(65_536), at: clock.instant() } },
        { upsert: true },
      ),
    );
    this.#client = this.#newClient();
  }

  #clientOf({ respond, connections }: Pick<MongoLimits, 'respond' | 'connections'>): MongoClient {
    const { find } = this.#limits;
    return new MongoClient(this.url, {
      appName: 'handwritten-card-service',
      serverSelectionTimeoutMS: find,
      connectTimeoutMS: find,
      socketTimeoutMS: respond,
      waitQueueTimeoutMS: this.#limits.respond,
      heartbeatFrequencyMS: heartbeat,
      maxPoolSize: connections,
      retryReads: true,
      retryWrites: true,
      useBigInt64: true,
      ignoreUndefined: true,
    });
  }

  #newClient(): MongoClient {
    const client = this.#clientOf(this.#limits);
    // Before any request is sent: this process never goes by its own clock beside others.
    client.once('serverHeartbeatSucceeded', ({ reply, duration }) => {
      const now = this.clock.now();
      const { localTime } = reply;
      if (localTime instanceof Date) this.clock.agree?.(-aheadOf(localTime, now - duration, now));
    });
    client.on('topologyDescriptionChanged', ({ previousDescription, newDescription }) => {
      if (client !== this.#client || this.#isClosed) return;
      if (acceptsWrites(newDescription)) this.#isAway = false;
      else if (acceptsWrites(previousDescription)) this.#isAway = true;
    });
    return client;
  }

  /** Every request goes through here, and has a time limit. */
  #requests(name = this.#name): Db {
    const known = this.#databases.get(name);
    if (known !== undefined) return known;
    const client = this.#client;
    const database = bounded(client.db(name, guarantees), (request, call) => {
      this.count(call);
      return this.#bounds.limit(request).catch((error: unknown) => {
        if (error instanceof MongoOverdue) this.#replace(client);
        if (refusesWrites(error)) this.#writes.wrote(error);
        throw error;
      });
    });
    this.#databases.set(name, database);
    return database;
  }

  /** A client whose request is overdue has lost a connection with it: a new client takes its place. */
  #replace(lost: MongoClient): void {
    if (lost !== this.#client || this.#isClosed) return;
    this.#client = this.#newClient();
    this.#databases.clear();
    this.#isAway = true;
    void lost.close().catch(() => undefined);
    void this.#probe();
  }

  /** A collection. Throws a MongoError while the server is known to be away. */
  collection<Schema extends Document>(name: string): Collection<Schema> {
    if (this.#isAway) {
      void this.#probe();
      throw new MongoAway();
    }
    return this.#requests().collection<Schema>(name);
  }

  /** A bucket of GridFS. */
  bucket(bucketName: string): GridFSBucket {
    return new GridFSBucket(this.#requests(), { bucketName });
  }

  /**
   * A collection with its indexes. A request waits for unfinished ones no longer than for anything else, and
   * making them goes on. Throws a MongoError.
   */
  async indexed<Schema extends Document>(
    name: string,
    indexes: readonly IndexDescription[] = allIndexes[name] ?? [],
  ): Promise<Collection<Schema>> {
    const collection = this.collection<Schema>(name);
    if (indexes.length > 0) await this.#bounds.limit(this.prepare(name, indexes));
    return collection;
  }

  /**
   * Makes the indexes that a collection lacks, once in this process, however long it takes. An index that
   * changes needs another name. Throws a MongoError.
   */
  prepare(
    name: string,
    indexes: readonly IndexDescription[],
    report: IndexReport = () => undefined,
  ): Promise<void> {
    const known = this.#indexed.get(name);
    if (known !== undefined) return known;
    const making = this.#makeIndexes(name, indexes, report).catch((error: unknown) => {
      if (this.#indexed.get(name) === making) this.#indexed.delete(name);
      throw error;
    });
    this.#indexed.set(name, making);
    return making;
  }

  /**
   * Makes all indexes that are missing, one after the other, however long it takes. Other processes may be at
   * work meanwhile. Throws a MongoError.
   */
  async prepareAll(report: IndexReport): Promise<void> {
    for (const [name, indexes] of Object.entries(allIndexes)) await this.prepare(name, indexes, report);
  }

  async #makeIndexes(name: string, indexes: readonly IndexDescription[], report: IndexReport): Promise<void> {
    const collection = this.collection(name);
    const there = new Set(await indexNames(collection));
    const missing = indexes.filter((index) => !there.has(index.name ?? ''));
    if (missing.length === 0) return;
    const rows = await collection.estimatedDocumentCount();
    if (rows < this.#limits.large) {
      await collection.createIndexes(missing);
      return;
    }
    const client = this.#clientOf({ respond: 0, connections: 1 });
    this.#unhurried.add(client);
    try {
      for (const index of missing) {
        report({ collection: name, name: index.name ?? '', rows });
        await client.db(this.#name, guarantees).collection(name).createIndexes([index]);
      }
    } finally {
      this.#unhurried.delete(client);
      await client.close();
    }
  }

  /** The names of the collections that begin with the prefix. */
  async collectionNames(prefix: string): Promise<readonly string[]> {
    const found = await this.#requests().listCollections({}, { nameOnly: true }).toArray();
    return found.map(({ name }) => name).filter((name) => name.startsWith(prefix));
  }

  async drop(name: string): Promise<void> {
    this.#indexed.delete(name);
    await this.collection(name).drop();
  }

  /** For readiness: rejects if no server responds, or if it takes no writes. */
  async ping(): Promise<void> {
    // Otherwise the driver would connect again.
    if (this.#isClosed) throw new MongoAway();
    const client = this.#client;
    try {
      // If the first attempt to connect has failed, the driver refuses everything until `connect` is called.
      await this.#bounds.limit(client.connect());
      await this.#requests().command({ ping: 1 });
      if (client === this.#client) this.#isAway = this.#isClosed;
    } catch (error) {
      if (client === this.#client) this.#isAway = true;
      throw error;
    }
    const failure = await this.#writes.failure();
    if (failure !== null) throw new MongoError(`MongoDB accepts no writes: ${failure}`);
  }

  /** Checks whether the server is back; one check at a time. */
  async #probe(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    await this.ping().catch(() => undefined);
    this.#isProbing = false;
  }

  /** The server's capabilities, for the log. Sessions and change streams are not needed. */
  async capabilities() {
    const hello = await this.#hello();
    const build = await this.#requests('admin').command({ buildInfo: 1 });
    return {
      version: String(build['version']),
      replicaSet: typeof hello['setName'] === 'string',
      sessions: (hello['logicalSessionTimeoutMinutes'] ?? null) !== null,
    };
  }

  /** The time by the clock of the server. */
  async serverTime(): Promise<Date> {
    const { localTime } = await this.#hello();
    if (localTime instanceof Date) return localTime;
    throw new MongoError('The server does not report its time');
  }

  #hello(): Promise<Document> {
    const admin = this.#requests('admin');
    return admin.command({ hello: 1 }).catch(() => admin.command({ isMaster: 1 }));
  }

  /** Deletes the database: for tests. */
  async dropAll(): Promise<void> {
    this.#indexed.clear();
    await this.#requests().dropDatabase();
  }

  /** Ends pending requests as overdue. Does not wait for a server that does not respond. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isAway = true;
    this.#bounds.stop();
    const clients = [this.#client, ...this.#unhurried];
    const closing = Promise.all(clients.map((client) => client.close()));
    await withTimeout(this.clock, this.#limits.find, closing, () => null);
  }
}

const noSuchCollection = 26;

const indexNames = async (collection: Collection): Promise<readonly string[]> => {
  try {
    return (await collection.indexes()).map(({ name }) => name ?? '');
  } catch (error) {
    if (error instanceof MongoError && error.code === noSuchCollection) return [];
    throw error;
  }
};

/**
 * Whether a socket failed: if a connection breaks during a write, the driver passes on the socket's own
 * error.
 */
const isSocketError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;

type Unavailable = new (message: string, options: ErrorOptions) => Error;

/** The same port, whose own error takes the place of whatever the driver rejects with. */
export const guardedPort = <Port extends object>(Unavailable: Unavailable, port: Port): Port =>
  explainingFailures(port, (error) =>
    error instanceof MongoError || isSocketError(error)
      ? new Unavailable(`MongoDB: ${messageOf(error)}`, { cause: error })
      : error,
  );

/**
 * Sends writes that may be repeated and reordered. Sends them again if upserts of the same document have
 * collided.
 */
export const sendAll = async (send: () => Promise<unknown>): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await send();
      return;
    } catch (error) {
      if (duplicatesOf(error) === null || attempt === bulkTries) throw error;
    }
  }
};
