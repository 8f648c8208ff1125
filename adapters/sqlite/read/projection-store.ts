import { DatabaseSync } from '@photostructure/sqlite';
import {
  ReadModelsUnavailable,
  type BuildState,
  type ProjectedBatch,
  type ProjectionStore,
  type Stored,
} from '../../../application/ports/read-models.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { messageOf } from '../../../domain/errors.js';
import type { Projection } from '../../../projections/projection.js';
import {
  closeToOthers,
  checkpointPages,
  emptyWriteAheadLog,
  errcodeOf,
  inTransaction,
  isDamage,
  prepareArrays,
  removeDatabase,
  resultCode,
  rowFrom,
  rowsFrom,
  type Database,
  type SqlValue,
  type Statement,
} from '../database.js';
import type { InsideGate } from '../gate.js';
import { markFrom } from '../log/event-rows.js';
import {
  bindable,
  buildsTable,
  columnOf,
  createTable,
  fieldsOf,
  lookupQuery,
  shapeOf,
  tableOf,
  type DocumentRow,
} from './read-tables.js';

/** Throws a SyntaxError if the document's JSON is damaged. */
export const storedOf = <Document>([key, created, position, json]: DocumentRow): Stored<Document> => {
  const document: Document = JSON.parse(json);
  return { key, created: BigInt(created), position: BigInt(position), document };
};

/**
 * Whether an error means that the file is damaged: from SQLite, because a document isn't JSON any more, or
 * because its tables are not those that it lists.
 */
export const isDamaged = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  isDamage(errcodeOf(error)) ||
  (errcodeOf(error) === resultCode.error && /^no such table|already exists$/.test(messageOf(error)));

interface BuildRow {
  readonly version: number;
  readonly generation: number;
  readonly checkpoint: number;
  /** JSON. */
  readonly event: string | null;
  readonly state: 'building' | 'active' | 'retired';
  readonly shape: string;
}

export interface BuildPlace {
  readonly name: string;
  readonly version: number;
  readonly generation: number;
}

/**
 * The condition for builds that no projector feeds after a start, and that no erasure reaches: of projections
 * that there are no more; not finished, and of another version or shape, or beside an active one. Its
 * parameter: the name, version and shape of each projection.
 */
const fedByNone = `name not in (select value ->> 0 from json_each(?1)) or (state = 'building' and (
    not exists (select 1 from json_each(?1)
      where value ->> 0 = builds.name and value ->> 1 = builds.version and value ->> 2 = builds.shape)
    or exists (select 1 from builds as other where other.state = 'active'
      and other.name = builds.name and other.version = builds.version and other.shape = builds.shape)))`;

/** Projecting waits while this many documents are removed. */
const removedAtOnce = 500;

const stateOf = ({ generation, checkpoint, event, state }: BuildRow): BuildState => ({
  generation,
  checkpoint: BigInt(checkpoint),
  ...markFrom(event),
  ...(state === 'active' ? {} : { hidden: true }),
});

/** A build that is written to: its statements, and the values of a document's columns. */
interface OpenBuild {
  readonly lookup: Statement;
  /** Writes a document whose columns are unchanged. */
  readonly updateDocument: Statement;
  readonly upsert: Statement;
  /** The SQL condition for its row in the table of builds. */
  readonly condition: string;
  readonly columns: readonly ((document: unknown) => string | null)[];
  checkpoint: bigint;
}

/**
 * The read models' file, for its only writer. `path`: of read.db, which is made if it is missing, and holds
 * nothing that can't be made again. `onReplaced`: a new file has replaced a damaged one, so readers must open
 * it again, and projecting begins again. `inGate`: given in a worker thread.
 */
export const sqliteProjectionStore = ({
  path,
  onReplaced = () => undefined,
  inGate = (work) => work(),
}: {
  readonly path: string;
  readonly onReplaced?: () => void;
  readonly inGate?: InsideGate;
}) => {
  let database = inGate(() => openOrReplace(path));
  const builds = new Map<string, OpenBuild>();
  /** Statements that move the checkpoints of several builds, by the builds' conditions. */
  const checkpoints = new Map<string, Statement>();
  /** The tables that were retired at the last tidying. */
  let retiredBefore: ReadonlySet<string> = new Set();

  const openNew = (): void => {
    database = openFile(path);
    onReplaced();
  };

  /** Deletes the file and begins a new one. If that fails, the next use begins it. */
  const replace = (): void =>
    inGate(() => {
      if (database.isOpen) database.close();
      builds.clear();
      checkpoints.clear();
      removeDatabase(path);
      try {
        openNew();
      } catch (error) {
        if (errcodeOf(error) === null) throw error;
      }
    });

  /** Replaces the file if it is damaged. Throws ReadModelsUnavailable for any error of SQLite. */
  const guarded = <Result>(work: () => Result): Result => {
    try {
      return inGate(() => {
        if (!database.isOpen) openNew();
        return work();
      });
    } catch (error) {
      if (isDamaged(error)) replace();
      else if (errcodeOf(error) === null) throw error;
      const reason = `The read models can't be written: ${messageOf(error)}`;
      throw new ReadModelsUnavailable(reason, { cause: error });
    }
  };

  const rowsOf = ({ name }: Projection<unknown>): readonly BuildRow[] => {
    const columns = 'version, generation, checkpoint, event, state, shape';
    return rowsFrom(
      database.prepare(`select ${columns} from builds where name = ? order by generation`),
      name,
    );
  };

  const placesOf = (condition: string, ...values: readonly SqlValue[]): readonly BuildPlace[] =>
    rowsFrom(database.prepare(`select name, version, generation from builds where ${condition}`), ...values);

  /** Leaves the removal to `tidy`: a table that is dropped at once holds up projecting, and needs room. */
  const retire = (condition: string, ...values: readonly SqlValue[]): void => {
    database.prepare(`update builds set state = 'retired' where ${condition}`).run(...values);
    builds.clear();
  };

  const begin = (projection: Projection<unknown>, state: BuildRow['state']): BuildState => {
    const { name, version } = projection;
    const generation = Math.max(0, ...rowsOf(projection).map((row) => row.generation)) + 1;
    inTransaction(database, () => {
      database.exec(createTable(projection, tableOf(projection, version, generation)));
      database
        .prepare(
          'insert into builds (name, version, generation, checkpoint, state, shape) values (?, ?, ?, 0, ?, ?)',
        )
        .run(name, version, generation, state, shapeOf(projection));
    });
    return { generation, checkpoint: 0n, ...(state === 'building' && { hidden: true }) };
  };

  const openBuild = (projection: Projection<unknown>, generation: number): OpenBuild => {
    const { name, version } = projection;
    const table = tableOf(projection, version, generation);
    const known = builds.get(table);
    if (known !== undefined) return known;
    const row = rowsOf(projection).find(
      (each) => each.version === version && each.generation === generation && each.state !== 'retired',
    );
    if (row === undefined) throw new ReadModelsUnavailable(`${name} v${version} has no build ${generation}`);
    const columns = ['org', ...fieldsOf(projection).map(columnOf), 'agenda'];
    const build: OpenBuild = {
      lookup: prepareArrays(database, lookupQuery(table)),
      updateDocument: database.prepare(
        `update ${table} set position = ?, document = ? where created = ? and position < ? ${columns.map((column) => `and ${column} is ?`).join(' ')}`,
      ),
      upsert: database.prepare(
        `insert into ${table} (created, key, position, document, ${columns.join(', ')}) values (?, ?, ?, ?, ${columns.map(() => '?').join(', ')})
         on conflict (created) do update set ${['position', 'document', ...columns].map((column) => `${column} = excluded.${column}`).join(', ')}
         where position < excluded.position`,
      ),
      condition: `(name = '${name}' and version = ${version} and generation = ${generation})`,
      columns: columnReaders(projection),
      checkpoint: BigInt(row.checkpoint),
    };
    builds.set(table, build);
    return build;
  };

  /** Builds move on together, so one statement sets the checkpoints of all that reach the same position. */
  const setCheckpoints = (batches: readonly ProjectedBatch[]): void => {
    for (const position of new Set(batches.map(({ checkpoint }) => checkpoint))) {
      const together = batches.filter(({ checkpoint }) => checkpoint === position);
      const event = together.find((batch) => batch.event !== undefined)?.event;
      const conditions = together
        .map(({ projection, generation }) => openBuild(projection, generation).condition)
        .join(' or ');
      const statement =
        checkpoints.get(conditions) ??
        database.prepare(
          `update builds set checkpoint = ?, event = ? where checkpoint < ?1 and (${conditions})`,
        );
      checkpoints.set(conditions, statement);
      statement.run(Number(position), event === undefined ? null : JSON.stringify(event));
    }
  };

  /** Removes some documents of a retired build, or the build if it is empty. False once it is gone. */
  const removeSome = ({ name, version, generation }: BuildPlace): boolean => {
    const table = tableOf({ name }, version, generation);
    const same = 'name = ? and version = ? and generation = ?';
    if (placesOf(`state = 'retired' and ${same}`, name, version, generation).length === 0) return false;
    const some = `delete from ${table} where created in (select created from ${table} limit ${removedAtOnce})`;
    if (database.prepare(some).run().changes > 0) return true;
    builds.delete(table);
    inTransaction(database, () => {
      database.exec(`drop table if exists ${table}`);
      database.prepare(`delete from builds where ${same}`).run(name, version, generation);
    });
    return true;
  };

  const store: ProjectionStore = {
    active: async (projection) =>
      guarded(() => {
        const rows = rowsOf(projection);
        const usable = rows.filter(
          ({ version, shape, state }) =>
            version === projection.version && shape === shapeOf(projection) && state !== 'retired',
        );
        const found = usable.findLast(({ state }) => state === 'active') ?? usable.at(-1);
        if (found !== undefined) return stateOf(found);
        const projected = database.prepare('select 1 from builds where checkpoint > 0 limit 1').get();
        const isFresh = projected === undefined && !rows.some(({ state }) => state === 'active');
        return begin(projection, isFresh ? 'active' : 'building');
      }),

    startBuild: async (projection) =>
      guarded(() => {
        const begun = begin(projection, 'building');
        const { name, version } = projection;
        const earlier = "name = ? and state = 'building' and version = ? and generation < ?";
        retire(earlier, name, version, begun.generation);
        return begun;
      }),

    activate: async (projection, generation) =>
      guarded(() =>
        inTransaction(database, () => {
          const { name, version } = projection;
          openBuild(projection, generation);
          database
            .prepare("update builds set state = 'active' where name = ? and version = ? and generation = ?")
            .run(name, version, generation);
          retire('name = ? and (version <> ? or generation < ?)', name, version, generation);
        }),
      ),

    load: async <Document>(
      projection: Projection<Document>,
      generation: number,
      keys: readonly string[],
    ): Promise<ReadonlyMap<string, Stored<Document>>> =>
      guarded(() => {
        const { lookup } = openBuild(projection, generation);
        const found = new Map<string, Stored<Document>>();
        for (const key of keys) {
          const row = rowFrom<DocumentRow>(lookup, key);
          if (row !== undefined) found.set(key, storedOf<Document>(row));
        }
        return found;
      }),

    save: async (batches) => {
      guarded(() =>
        inTransaction(database, () => {
          for (const { projection, generation, documents } of batches) {
            const build = openBuild(projection, generation);
            for (const stored of documents) writeDocument(build, stored);
          }
          setCheckpoints(batches);
        }),
      );
      for (const { projection, generation, checkpoint } of batches) {
        const build = openBuild(projection, generation);
        if (build.checkpoint < checkpoint) build.checkpoint = checkpoint;
      }
    },
  };

  return {
    ...store,

    /** Retires the builds of projections other than these, and those that a restart has left behind. */
    keep: (projections: readonly Projection<unknown>[]): void => {
      const own = projections.map((each) => [each.name, each.version, shapeOf(each)]);
      guarded(() => retire(fedByNone, JSON.stringify(own)));
    },

    /**
     * Removes the builds that were retired before the last call, because no erasure reaches them and nothing
     * reads or feeds them by then; and empties the write-ahead log, which may hold erased content.
     */
    tidy: async (): Promise<void> => {
      const retired = new Map(
        guarded(() => placesOf("state = 'retired'")).map((place) => [
          tableOf(place, place.version, place.generation),
          place,
        ]),
      );
      for (const [table, place] of retired)
        while (retiredBefore.has(table) && guarded(() => removeSome(place))) await nextTurn();
      retiredBefore = new Set(retired.keys());
      guarded(() => emptyWriteAheadLog(database));
    },

    replace,

    close: (): void => {
      if (!database.isOpen) return;
      // Prepared statements keep the file open for a while, so closing alone would not empty the write-ahead
      // log. (docs/engines.md#sqlite)
      guarded(() => emptyWriteAheadLog(database));
      inGate(() => database.close());
    },
  };
};

/** A change mostly leaves the indexed columns of a document as they were: then no index is written. */
const writeDocument = (
  { columns, checkpoint, updateDocument, upsert }: OpenBuild,
  { key, created, position, document }: Stored<unknown>,
): void => {
  const values = columns.map((read) => bindable(read(document)));
  const json = JSON.stringify(document);
  const at = Number(position);
  const mayExist = created <= checkpoint;
  if (mayExist && updateDocument.run(at, json, Number(created), at, ...values).changes === 1) return;
  upsert.run(Number(created), key, at, json, ...values);
};

const columnReaders = (
  projection: Projection<unknown>,
): readonly ((document: unknown) => string | null)[] => [
  (document) => projection.org(document),
  ...fieldsOf(projection).map(
    (field) => (document: unknown) => projection.indexes[field]?.(document) ?? null,
  ),
  (document) => projection.agenda?.(document) ?? null,
];

const openOrReplace = (path: string): Database => {
  try {
    return openFile(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    removeDatabase(path);
    return openFile(path);
  }
};

/** Commits need no fsync: events that a power loss takes away are projected again. */
const openFile = (path: string): Database => {
  const database = new DatabaseSync(path, { timeout: 1000 });
  try {
    closeToOthers(path);
    database.exec(
      `pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on; pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -65536`,
    );
    database.exec(buildsTable);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};
