import type { AnyBulkWriteOperation } from 'mongodb';
import {
  ReadModelsUnavailable,
  type BuildState,
  type EarlierBuild,
  type ProjectedBatch,
  type ProjectionStore,
  type Stored,
} from '../../application/ports/read-models.js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import {
  buildId,
  builds,
  documentIndexes,
  documentsName,
  documentsPrefix,
  eventAtCheckpoint,
  fromRow,
  shapeOf,
  toRow,
  activeBuildTrusted,
  asBuilt,
  seenBuild,
  type BuildRow,
  type DocumentRow,
} from './builds.js';
import { chunks } from './chunks.js';
import { guarded, sendAll, type MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';

/** How long a retired build is kept; readers have left it long before. */
const keptAfterSwitch: Milliseconds = 60 * 60 * 1000;

/** How often builds that nobody needs are looked for. */
const sweepEvery: Milliseconds = 10 * 60 * 1000;

export interface MongoProjectionStoreOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /**
   * The epoch of the projector's lease. A projector with an earlier epoch can't move a checkpoint any more.
   */
  readonly epoch?: () => number;
  /** The release that this process belongs to: processes of one release have the same projections. */
  readonly release?: string;
  /** Whether a projector of another release is at work. */
  readonly isFeeding?: (release: string) => boolean;
}

const stateOf = (row: BuildRow): BuildState => ({
  generation: row.generation,
  checkpoint: row.checkpoint,
  ...eventAtCheckpoint(row),
  ...(row.state === 'active' ? {} : { hidden: true }),
  ...(row.mixed === true && { mixed: true }),
});

/** The latest version of each document: one write per document. */
const latest = (documents: readonly Stored<unknown>[]): Stored<unknown>[] => {
  const byKey = new Map<string, Stored<unknown>>();
  for (const stored of documents) {
    const known = byKey.get(stored.key);
    if (known === undefined || known.position < stored.position) byKey.set(stored.key, stored);
  }
  return [...byKey.values()];
};

/**
 * Inserts the document if it is missing, then updates it if it is older. Repeats and late writes change
 * nothing.
 */
const writesOf = (row: DocumentRow): AnyBulkWriteOperation<DocumentRow>[] => {
  const { _id, agenda, ...fields } = row;
  const insert = {
    updateOne: {
      filter: { _id: { $eq: _id } },
      update: { $setOnInsert: { ...fields, ...(agenda !== undefined && { agenda }) } },
      upsert: true,
    },
  };
  if (row.created === row.position) return [insert];
  const change =
    agenda === undefined
      ? { $set: fields, $unset: { agenda: '' as const } }
      : { $set: { ...fields, agenda } };
  return [
    insert,
    { updateOne: { filter: { _id: { $eq: _id }, position: { $lt: row.position } }, update: change } },
  ];
};

/**
 * The read models in MongoDB, as the projector writes them: one collection per build, and their checkpoints.
 */
export class MongoProjectionStore implements ProjectionStore {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #epoch: () => number;
  readonly #release: string;
  readonly #isFeeding: (release: string) => boolean;
  /** By the names of projections. */
  readonly #shown = new Map<string, string>();
  #sweepAt: Milliseconds = 0;
  /** Nobody waits for a sweep but the next one. */
  #swept: Promise<void> = Promise.resolve();

  constructor({
    database,
    clock,
    epoch = () => 0,
    release = 'this',
    isFeeding = () => false,
  }: MongoProjectionStoreOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#epoch = epoch;
    this.#release = release;
    this.#isFeeding = isFeeding;
  }

  /** The ids of the builds that readers see and that are fed here, by the names of projections. */
  shown(): ReadonlyMap<string, string> {
    return this.#shown;
  }

  async active(projection: Projection<unknown>): Promise<BuildState> {
    const state = await this.#active(projection);
    const { generation, hidden } = state;
    const { name } = projection;
    if (hidden === true) this.#shown.delete(name);
    else this.#shown.set(name, buildId({ name, generation }));
    return state;
  }

  #active(projection: Projection<unknown>): Promise<BuildState> {
    return guarded(ReadModelsUnavailable, async () => {
      for (;;) {
        const rows = await this.#rows(projection);
        const shape = shapeOf(projection);
        const mine = rows.filter(
          (row) => row.version === projection.version && row.shape === shape && row.state !== 'retired',
        );
        const found = mine.findLast(({ state }) => state === 'active') ?? mine.at(-1);
        if (found !== undefined) return stateOf(found);
        const all = await builds(this.#database);
        const isFresh =
          !rows.some(({ state }) => state === 'active') && !(await all.findOne({ checkpoint: { $gt: 0n } }));
        const begun = await this.#begin(projection, rows, isFresh ? 'active' : 'building');
        if (begun !== null) return begun;
      }
    });
  }

  earlier(projection: Projection<unknown>): Promise<EarlierBuild | null> {
    return guarded(ReadModelsUnavailable, async () => {
      const seen = seenBuild(projection, await this.#rows(projection));
      if (seen === null) return null;
      if (seen.version === projection.version && seen.shape === shapeOf(projection)) return null;
      const { fedBy = null } = seen;
      if (fedBy !== null && fedBy !== this.#release && this.#isFeeding(fedBy)) return null;
      const all = await builds(this.#database);
      await all.updateOne({ _id: { $eq: seen._id } }, { $set: { fedBy: this.#release, mixed: true } });
      this.#shown.set(projection.name, seen._id);
      return { ...stateOf(seen), projection: asBuilt(projection, seen) };
    });
  }

  leave({ name, version }: Projection<unknown>, generation: number): Promise<void> {
    return guarded(ReadModelsUnavailable, async () => {
      const all = await builds(this.#database);
      await all.updateOne(
        { name: { $eq: name }, version, generation, fedBy: this.#release },
        { $set: { fedBy: null } },
      );
    });
  }

  /** Says that their builds are needed, although nothing happens, and removes those that nothing needs. */
  needed(projections: readonly Projection<unknown>[]): Promise<void> {
    return guarded(ReadModelsUnavailable, async () => {
      const all = await builds(this.#database);
      const those = projections.map(({ name, version }) => ({ name, version }));
      await all.updateMany({ $or: those }, { $set: { neededAt: this.#clock.now() } });
      this.#swept = this.#sweepAll(projections);
    });
  }

  startBuild(projection: Projection<unknown>): Promise<BuildState> {
    return guarded(ReadModelsUnavailable, async () => {
      for (;;) {
        const rows = await this.#rows(projection);
        const begun = await this.#begin(projection, rows, 'building');
        if (begun === null) continue;
        const unfinished = rows.filter(
          ({ state, version }) => state === 'building' && version === projection.version,
        );
        for (const row of unfinished) await this.#remove(row);
        return begun;
      }
    });
  }

  activate(projection: Projection<unknown>, generation: number): Promise<void> {
    return guarded(ReadModelsUnavailable, async () => {
      const { name, version } = projection;
      const all = await builds(this.#database);
      const build = { name: { $eq: name }, version, generation };
      const before = await all.findOneAndUpdate(
        build,
        { $set: { state: 'active', retiredAt: null } },
        { returnDocument: 'before' },
      );
      if (before === null) throw this.#unknownBuild(projection, generation);
      // Processes of earlier versions go on reading and feeding theirs.
      const { modifiedCount } = await all.updateMany(
        { name: { $eq: name }, state: { $ne: 'retired' }, version, generation: { $lt: generation } },
        { $set: { state: 'retired', retiredAt: this.#clock.now() } },
      );
      // Until the last reader has left the old build nothing is saved, and so no write is acknowledged that
      // only the new build would show.
      if (modifiedCount > 0 || before.state !== 'active') await this.#clock.sleep(2 * activeBuildTrusted);
      this.#shown.set(name, buildId({ name, generation }));
    });
  }

  load<Document>(
    projection: Projection<Document>,
    generation: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, Stored<Document>>> {
    return guarded(ReadModelsUnavailable, async () => {
      const { name, version } = projection;
      const documents = this.#database.collection<DocumentRow>(documentsName({ name, version, generation }));
      const found = new Map<string, Stored<Document>>();
      for (const some of chunks(keys)) {
        for (const row of await documents
          .find({ _id: { $in: some } }, { batchSize: some.length + 1 })
          .toArray())
          found.set(row._id, fromRow<Document>(row));
      }
      return found;
    });
  }

  /**
   * The documents first, then the checkpoints, whose filter is the fence: no lease has to be read to know
   * that it is still held.
   */
  save(batches: readonly ProjectedBatch[]): Promise<void> {
    return guarded(ReadModelsUnavailable, async () => {
      await Promise.all(batches.map((batch) => this.#saveDocuments(batch)));
      await this.#saveCheckpoints(batches);
      const now = this.#clock.now();
      if (now < this.#sweepAt) return;
      this.#sweepAt = now + sweepEvery;
      this.#swept = this.#sweepAll(batches.map(({ projection }) => projection));
    });
  }

  async #saveDocuments({ projection, generation, documents }: ProjectedBatch): Promise<void> {
    if (documents.length === 0) return;
    const { name, version } = projection;
    const collection = this.#database.collection<DocumentRow>(documentsName({ name, version, generation }));
    const rows = latest(documents).map((stored) => toRow(projection, stored));
    for (const some of chunks(rows))
      await sendAll(() => collection.bulkWrite(some.flatMap(writesOf), { ordered: true }));
  }

  async #saveCheckpoints(batches: readonly ProjectedBatch[]): Promise<void> {
    if (batches.length === 0) return;
    const epoch = this.#epoch();
    const all = await builds(this.#database);
    const updates = batches.map(({ projection: { name, version }, generation, checkpoint, event }) => ({
      updateOne: {
        filter: {
          _id: { $eq: buildId({ name, generation }) },
          version,
          state: { $ne: 'retired' as const },
          $or: [{ fedBy: { $ne: this.#release } }, { epoch: { $lte: epoch } }],
        },
        update: {
          $max: { checkpoint },
          $set: {
            epoch,
            fedBy: this.#release,
            neededAt: this.#clock.now(),
            ...(event !== undefined && { event: { ...event, position: checkpoint } }),
          },
        },
      },
    }));
    const { matchedCount } = await all.bulkWrite(updates);
    if (matchedCount < updates.length)
      throw new ReadModelsUnavailable('A build was removed, or another projector has taken over.');
  }

  async #rows({ name }: Projection<unknown>): Promise<readonly BuildRow[]> {
    const all = await builds(this.#database);
    return all
      .find({ name: { $eq: name } })
      .sort({ generation: 1 })
      .toArray();
  }

  /** Inserts a build; null if another process has inserted one at the same time. */
  async #begin(
    projection: Projection<unknown>,
    rows: readonly BuildRow[],
    state: BuildRow['state'],
  ): Promise<BuildState | null> {
    const { name, version } = projection;
    const generation = Math.max(0, ...rows.map((row) => row.generation)) + 1;
    await this.#database.indexed(documentsName({ name, version, generation }), documentIndexes(projection));
    const all = await builds(this.#database);
    const row = {
      _id: buildId({ name, generation }),
      name,
      version,
      generation,
      checkpoint: 0n,
      epoch: this.#epoch(),
      fedBy: this.#release,
      neededAt: this.#clock.now(),
      state,
      shape: shapeOf(projection),
      retiredAt: null,
    };
    try {
      await all.insertOne(row);
    } catch (error) {
      if (isDuplicate(error)) return null;
      throw error;
    }
    return { generation, checkpoint: 0n, ...(state === 'building' && { hidden: true }) };
  }

  async #remove(row: BuildRow): Promise<void> {
    const all = await builds(this.#database);
    await all.deleteOne({ _id: { $eq: row._id } });
    await this.#database.drop(documentsName(row));
  }

  /** What fails is left to a later sweep. */
  async #sweepAll(projections: readonly Projection<unknown>[]): Promise<void> {
    await this.#swept;
    for (const projection of projections) await this.#sweep(projection).catch(() => undefined);
  }

  /**
   * Removes builds that were retired long ago, those of earlier versions that nobody has needed for as long,
   * and collections without a build.
   */
  async #sweep(projection: Projection<unknown>): Promise<void> {
    const now = this.#clock.now();
    const all = await this.#rows(projection);
    const newest = Math.max(...all.filter(({ state }) => state === 'active').map(({ version }) => version));
    for (const row of all) {
      const since =
        row.state === 'retired' ? row.retiredAt : row.version < newest ? (row.neededAt ?? 0) : null;
      if (since !== null && since + keptAfterSwitch <= now) await this.#remove(row);
    }
    const rows = await this.#rows(projection);
    const last = Math.max(0, ...rows.map(({ generation }) => generation));
    const known = new Set(rows.map(documentsName));
    const prefix = documentsPrefix(projection);
    for (const name of await this.#database.collectionNames(prefix)) {
      const [, generation] = /^\d+_g(\d+)$/.exec(name.slice(prefix.length)) ?? [];
      if (!known.has(name) && Number(generation) < last) await this.#database.drop(name);
    }
  }

  #unknownBuild({ name, version }: Projection<unknown>, generation: number): ReadModelsUnavailable {
    return new ReadModelsUnavailable(`${name} v${version} has no build ${generation}`);
  }
}
