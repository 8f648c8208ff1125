import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import {
  ReadModelsUnavailable,
  type BuildState,
  type ProjectedBatch,
  type ProjectionStore,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import {
  buildId,
  builds,
  documentIndexes,
  documentsName,
  documentsPrefix,
  eventAtCheckpoint,
  fromRow,
  seenBuild,
  shapeOf,
  toRow,
  activeBuildTtl,
  isBuildOf,
  type BuildRow,
  type DocumentRow,
} from './builds.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { chunks, findAll } from '../client/documents.js';
import { duplicatesIn, isInserted } from '../client/refusals.js';

/** How long a build is kept that is retired, or fed no longer. */
const keptFor: Milliseconds = 60 * 60 * 1000;

interface MongoProjectionStoreOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /**
   * The epoch of the projector's lease. A projector with an earlier epoch can't move a checkpoint any more.
   */
  readonly epoch?: () => number;
  /** The release that this process belongs to: processes of one release have the same projections. */
  readonly release?: string;
}

const stateOf = (row: BuildRow): BuildState => ({
  generation: row.generation,
  checkpoint: row.checkpoint,
  ...eventAtCheckpoint(row),
  ...(row.state === 'active' ? {} : { hidden: true }),
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

const isNew = ({ created, position }: DocumentRow): boolean => created === position;

/** Fails as a duplicate where the document is there in this version or a later one. */
const writeOf = (row: DocumentRow): AnyBulkWriteOperation<DocumentRow> =>
  isNew(row) ? { insertOne: { document: row } } : { updateOne: { ...changeOf(row), upsert: true } };

const changeOf = ({ _id, agenda, ...fields }: DocumentRow) => ({
  filter: { _id: { $eq: _id }, position: { $lt: fields.position } },
  update:
    agenda === undefined
      ? { $set: fields, $unset: { agenda: '' as const } }
      : { $set: { ...fields, agenda } },
});

/**
 * The read models in MongoDB, as the projector writes them: one collection per build, and their checkpoints.
 */
export const mongoProjectionStore = ({
  database,
  clock,
  epoch: epochNow = () => 0,
  release = 'this',
}: MongoProjectionStoreOptions) => {
  const known = `epochs.${release}`;

  const rowsOf = async ({ name }: Projection<unknown>): Promise<readonly BuildRow[]> =>
    findAll(await builds(database), { name: { $eq: name } }, { sort: { generation: 1 } });

  const documentsOf = (projection: Projection<unknown>, generation: number): Collection<DocumentRow> => {
    const { name, version } = projection;
    return database.collection(documentsName({ name, version, generation }));
  };

  /** Inserts a build; null if another process has inserted one at the same time. */
  const begin = async (
    projection: Projection<unknown>,
    rows: readonly BuildRow[],
    state: BuildRow['state'],
  ): Promise<BuildState | null> => {
    const { name, version } = projection;
    const generation = Math.max(0, ...rows.map((row) => row.generation)) + 1;
    await database.indexed(documentsName({ name, version, generation }), documentIndexes(projection));
    const all = await builds(database);
    const row = {
      _id: buildId({ name, generation }),
      name,
      version,
      generation,
      checkpoint: 0n,
      fedAt: clock.now(),
      state,
      shape: shapeOf(projection),
      retiredAt: null,
      epochs: { [release]: epochNow() },
    };
    return (await isInserted(all.insertOne(row))) ? stateOf(row) : null;
  };

  const remove = async (row: BuildRow): Promise<void> => {
    const all = await builds(database);
    await all.deleteOne({ _id: { $eq: row._id } });
    await database.drop(documentsName(row));
  };

  /** Ends the rebuilds of earlier projectors, so that none becomes active when they come to it late. */
  const retireEarlier = async (projection: Projection<unknown>): Promise<void> => {
    const all = await builds(database);
    await all.updateMany(
      {
        name: { $eq: projection.name },
        version: projection.version,
        shape: { $eq: shapeOf(projection) },
        state: 'building',
        [known]: { $lt: epochNow() },
      },
      { $set: { state: 'retired', retiredAt: clock.now() } },
    );
  };

  /** Whether this projector or earlier ones of its release have written it, and none of another release. */
  const isOfEarlier = ({ epochs = {} }: BuildRow): boolean =>
    Object.entries(epochs).every(([by, last]) => by === release && last <= epochNow());

  const saveDocuments = async ({ projection, generation, documents }: ProjectedBatch): Promise<void> => {
    if (documents.length === 0) return;
    const collection = documentsOf(projection, generation);
    const rows = latest(documents).map((stored) => toRow(projection, stored));
    for (const some of chunks(rows)) {
      const there = await duplicatesIn(collection.bulkWrite(some.map(writeOf), { ordered: false }));
      // Another projector may have inserted an earlier version just now.
      const changes = some.filter((row, place) => there.has(place) && !isNew(row)).map(changeOf);
      if (changes.length > 0) await collection.bulkWrite(changes.map((updateOne) => ({ updateOne })));
    }
  };

  const saveCheckpoints = async (batches: readonly ProjectedBatch[]): Promise<void> => {
    if (batches.length === 0) return;
    const epoch = epochNow();
    const all = await builds(database);
    let moved = 0;
    for (const checkpoint of new Set(batches.map((batch) => batch.checkpoint))) {
      const there = batches.filter((batch) => batch.checkpoint === checkpoint);
      const event = there[0]?.event;
      const { matchedCount } = await all.updateMany(
        {
          $or: there.map(({ projection: { name, version }, generation }) => ({
            _id: { $eq: buildId({ name, generation }) },
            version,
          })),
          state: { $ne: 'retired' },
          [known]: { $not: { $gt: epoch } },
        },
        {
          $max: { checkpoint },
          $set: {
            [known]: epoch,
            ...(event !== undefined && { event: { ...event, position: checkpoint } }),
          },
        },
      );
      moved += matchedCount;
    }
    if (moved < batches.length)
      throw new ReadModelsUnavailable('A build was removed, or another projector has taken over.');
  };

  const store: ProjectionStore & {
    /**
     * Keeps these builds alive, and removes builds that were retired, or last kept alive, an hour ago, but
     * for those that readers still see, and collections without a build. Call it a few times an hour.
     */
    readonly keep: (projections: readonly Projection<unknown>[]) => Promise<void>;
  } = {
    active: async (projection) => {
      for (;;) {
        const rows = await rowsOf(projection);
        const mine = rows.filter((row) => isBuildOf(projection, row) && row.state !== 'retired');
        const active = mine.findLast(({ state }) => state === 'active');
        if (active !== undefined) await retireEarlier(projection);
        const found = active ?? mine.at(-1);
        if (found !== undefined) return stateOf(found);
        const all = await builds(database);
        const isFresh =
          !rows.some(({ state }) => state === 'active') && !(await all.findOne({ checkpoint: { $gt: 0n } }));
        const begun = await begin(projection, rows, isFresh ? 'active' : 'building');
        if (begun !== null) return begun;
      }
    },

    keep: async (projections) => {
      const now = clock.now();
      const all = await builds(database);
      const rows = await findAll(all, {});
      const own = rows.filter(
        (row) =>
          projections.some((projection) => isBuildOf(projection, row)) &&
          (row.state !== 'building' || row.epochs?.[release] !== undefined),
      );
      await all.updateMany({ _id: { $in: own.map(({ _id }) => _id) } }, { $set: { fedAt: now } });
      const kept = [...own, ...projections.map((projection) => seenBuild(projection, rows))];
      for (const row of rows) {
        const endedAt = row.retiredAt ?? (kept.includes(row) ? now : row.fedAt);
        if (endedAt + keptFor <= now) await remove(row);
      }
      for (const collection of await database.collectionNames(documentsPrefix)) {
        const [, name, generation] =
          /^(.+)_v\d+_g(\d+)$/.exec(collection.slice(documentsPrefix.length)) ?? [];
        const later = rows.filter((row) => row.name === name && row.generation >= Number(generation));
        if (later.length > 0 && !later.some((row) => documentsName(row) === collection))
          await database.drop(collection);
      }
    },

    startBuild: async (projection) => {
      for (;;) {
        const rows = await rowsOf(projection);
        const begun = await begin(projection, rows, 'building');
        if (begun === null) continue;
        for (const row of rows)
          if (row.state === 'building' && isBuildOf(projection, row) && isOfEarlier(row)) await remove(row);
        return begun;
      }
    },

    activate: async ({ name, version }, generation) => {
      const all = await builds(database);
      const before = await all.findOneAndUpdate(
        { name: { $eq: name }, version, generation, state: { $ne: 'retired' } },
        { $set: { state: 'active', retiredAt: null } },
        { returnDocument: 'before' },
      );
      if (before === null) throw new ReadModelsUnavailable(`${name} v${version} has no build ${generation}`);
      // Processes of other releases go on reading and feeding theirs.
      const { modifiedCount } = await all.updateMany(
        {
          name: { $eq: name },
          state: { $ne: 'retired' },
          version,
          shape: { $eq: before.shape },
          generation: { $lt: generation },
        },
        { $set: { state: 'retired', retiredAt: clock.now() } },
      );
      // Until the last reader has left the old build nothing is saved, and so no write is acknowledged that
      // only the new build would show.
      if (modifiedCount > 0 || before.state !== 'active') await clock.sleep(2 * activeBuildTtl);
    },

    load: async <Document>(
      projection: Projection<Document>,
      generation: number,
      keys: readonly string[],
    ): Promise<ReadonlyMap<string, Stored<Document>>> => {
      const documents = documentsOf(projection, generation);
      const found = new Map<string, Stored<Document>>();
      for (const some of chunks(keys)) {
        const rows = await findAll(documents, { _id: { $in: some } }, { batchSize: some.length + 1 });
        for (const row of rows) found.set(row._id, fromRow<Document>(row));
      }
      return found;
    },

    /**
     * The documents first, then the checkpoints, whose filter is the fence: no lease has to be read to know
     * that it is still held.
     */
    save: async (batches) => {
      await Promise.all(batches.map(saveDocuments));
      await saveCheckpoints(batches);
    },
  };
  return guardedPort(ReadModelsUnavailable, store);
};
