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
  type Database,
  type Statement,
} from '../database.js';
import type { InsideGate } from '../gate.js';
import { markFrom } from '../log/event-marks.js';
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

interface BuildPlace {
  readonly name: string;
  readonly version: number;
  readonly generation: number;
}

const tableAt = (place: BuildPlace): string => tableOf(place, place.version, place.generation);

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

export interface SqliteProjectionStoreOptions {
  /** read.db. Made if it is missing. It holds nothing that can't be made again. */
  readonly path: string;
  /** A new file has replaced a damaged one: readers must open it again, and projecting begins again. */
  readonly onReplaced?: () => void;
  /** Given in a worker thread: all work on the file is done inside the gate. */
  readonly inGate?: InsideGate;
}

/** The read models' file, for its only writer. */
export class SqliteProjectionStore implements ProjectionStore {
  readonly #inGate: InsideGate;
  #database: Database;
  #builds = new Map<string, OpenBuild>();
  /** Statements that move the checkpoints of several builds, by the builds' conditions. */
  #checkpoints = new Map<string, Statement>();
  /** The tables that were retired at the last tidying. */
  #retired: ReadonlySet<string> = new Set();

  constructor(private readonly options: SqliteProjectionStoreOptions) {
    this.#inGate = options.inGate ?? ((work) => work());
    this.#database = this.#inGate(() => openOrReplace(options.path));
  }

  /** Retires the builds of projections other than these, and those that a restart has left behind. */
  keep(projections: readonly Projection<unknown>[]): void {
    const own = projections.map((each) => [each.name, each.version, shapeOf(each)]);
    this.#guard(() => this.#retire(fedByNone, JSON.stringify(own)));
  }

  async active(projection: Projection<unknown>): Promise<BuildState> {
    return this.#guard(() => {
      const rows = this.#rows(projection);
      const usable = rows.filter(
        ({ version, shape, state }) =>
          version === projection.version && shape === shapeOf(projection) && state !== 'retired',
      );
      const found = usable.findLast(({ state }) => state === 'active') ?? usable.at(-1);
      if (found !== undefined) return stateOf(found);
      const projected = this.#database.prepare('select 1 from builds where checkpoint > 0 limit 1').get();
      const isFresh = projected === undefined && !rows.some(({ state }) => state === 'active');
      return this.#begin(projection, isFresh ? 'active' : 'building');
    });
  }

  async startBuild(projection: Projection<unknown>): Promise<BuildState> {
    return this.#guard(() => {
      const begun = this.#begin(projection, 'building');
      const { name, version } = projection;
      this.#retire(
        "name = ? and state = 'building' and version = ? and generation < ?",
        name,
        version,
        begun.generation,
      );
      return begun;
    });
  }

  async activate(projection: Projection<unknown>, generation: number): Promise<void> {
    this.#guard(() => {
      const { name, version } = projection;
      inTransaction(this.#database, () => {
        this.#build(projection, generation);
        this.#database
          .prepare("update builds set state = 'active' where name = ? and version = ? and generation = ?")
          .run(name, version, generation);
        this.#retire('name = ? and (version <> ? or generation < ?)', name, version, generation);
      });
    });
  }

  async load<Document>(
    projection: Projection<Document>,
    generation: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, Stored<Document>>> {
    return this.#guard(() => {
      const { lookup } = this.#build(projection, generation);
      const found = new Map<string, Stored<Document>>();
      for (const key of keys) {
        const row: DocumentRow | undefined = lookup.get(key);
        if (row !== undefined) found.set(key, storedOf<Document>(row));
      }
      return found;
    });
  }

  async save(batches: readonly ProjectedBatch[]): Promise<void> {
    this.#guard(() =>
      inTransaction(this.#database, () => {
        for (const { projection, generation, documents } of batches) {
          const build = this.#build(projection, generation);
          for (const stored of documents) writeDocument(build, stored);
        }
        this.#setCheckpoints(batches);
      }),
    );
    for (const { projection, generation, checkpoint } of batches) {
      const build = this.#build(projection, generation);
      if (build.checkpoint < checkpoint) build.checkpoint = checkpoint;
    }
  }

  /**
   * Removes the builds that were retired before the last call, because no erasure reaches them and nothing
   * reads or feeds them by then; and empties the write-ahead log, which may hold erased content.
   */
  async tidy(): Promise<void> {
    const retired = new Map(
      this.#guard(() => this.#places("state = 'retired'")).map((place) => [tableAt(place), place]),
    );
    for (const [table, place] of retired) {
      if (!this.#retired.has(table)) continue;
      while (this.#guard(() => this.#removeSome(place))) await nextTurn();
    }
    this.#retired = new Set(retired.keys());
    this.#guard(() => emptyWriteAheadLog(this.#database));
  }

  /** Deletes the file and begins a new one. If that fails, the next use begins it. */
  replace(): void {
    this.#inGate(() => {
      if (this.#database.isOpen) this.#database.close();
      this.#builds = new Map();
      this.#checkpoints = new Map();
      removeDatabase(this.options.path);
      try {
        this.#openNew();
      } catch (error) {
        if (errcodeOf(error) === null) throw error;
      }
    });
  }

  #openNew(): void {
    this.#database = openFile(this.options.path);
    this.options.onReplaced?.();
  }

  close(): void {
    if (!this.#database.isOpen) return;
    // Prepared statements keep the file open for a while, so closing alone would not empty the write-ahead
    // log. (docs/engines.md#sqlite)
    this.#guard(() => emptyWriteAheadLog(this.#database));
    this.#inGate(() => this.#database.close());
  }

  /** Replaces the file if it is damaged. Throws ReadModelsUnavailable for any error of SQLite. */
  #guard<Result>(work: () => Result): Result {
    try {
      return this.#inGate(() => {
        if (!this.#database.isOpen) this.#openNew();
        return work();
      });
    } catch (error) {
      if (isDamaged(error)) this.replace();
      else if (errcodeOf(error) === null) throw error;
      throw new ReadModelsUnavailable(`The read models can't be written: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Builds move on together, so one statement sets the checkpoints of all that reach the same position. */
  #setCheckpoints(batches: readonly ProjectedBatch[]): void {
    for (const position of new Set(batches.map(({ checkpoint }) => checkpoint))) {
      const together = batches.filter(({ checkpoint }) => checkpoint === position);
      const event = together.find((batch) => batch.event !== undefined)?.event;
      const conditions = together
        .map(({ projection, generation }) => this.#build(projection, generation).condition)
        .join(' or ');
      const known = this.#checkpoints.get(conditions);
      const statement =
        known ??
        this.#database.prepare(
          `update builds set checkpoint = ?, event = ? where checkpoint < ?1 and (${conditions})`,
        );
      if (known === undefined) this.#checkpoints.set(conditions, statement);
      statement.run(Number(position), event === undefined ? null : JSON.stringify(event));
    }
  }

  #rows({ name }: Projection<unknown>): readonly BuildRow[] {
    const rows: readonly BuildRow[] = this.#database
      .prepare(
        'select version, generation, checkpoint, event, state, shape from builds where name = ? order by generation',
      )
      .all(name);
    return rows;
  }

  #begin(projection: Projection<unknown>, state: BuildRow['state']): BuildState {
    const { name, version } = projection;
    const generation = Math.max(0, ...this.#rows(projection).map((row) => row.generation)) + 1;
    inTransaction(this.#database, () => {
      this.#database.exec(createTable(projection, tableOf(projection, version, generation)));
      this.#database
        .prepare(
          'insert into builds (name, version, generation, checkpoint, state, shape) values (?, ?, ?, 0, ?, ?)',
        )
        .run(name, version, generation, state, shapeOf(projection));
    });
    return { generation, checkpoint: 0n, ...(state === 'building' && { hidden: true }) };
  }

  #places(condition: string, ...values: readonly (string | number)[]): readonly BuildPlace[] {
    const places: readonly BuildPlace[] = this.#database
      .prepare(`select name, version, generation from builds where ${condition}`)
      .all(...values);
    return places;
  }

  /** Leaves the removal to `tidy`: a table that is dropped at once holds up projecting, and needs room. */
  #retire(condition: string, ...values: readonly (string | number)[]): void {
    this.#database.prepare(`update builds set state = 'retired' where ${condition}`).run(...values);
    this.#builds.clear();
  }

  /** Removes some documents of a retired build, or the build if it is empty. False once it is gone. */
  #removeSome(place: BuildPlace): boolean {
    const { name, version, generation } = place;
    const same = "state = 'retired' and name = ? and version = ? and generation = ?";
    if (this.#places(same, name, version, generation).length === 0) return false;
    const table = tableAt(place);
    const some = `delete from ${table} where created in (select created from ${table} limit ${removedAtOnce})`;
    if (this.#database.prepare(some).run().changes === 0) this.#drop(place);
    return true;
  }

  #drop(place: BuildPlace): void {
    const { name, version, generation } = place;
    const table = tableAt(place);
    this.#builds.delete(table);
    inTransaction(this.#database, () => {
      this.#database.exec(`drop table if exists ${table}`);
      this.#database
        .prepare('delete from builds where name = ? and version = ? and generation = ?')
        .run(name, version, generation);
    });
  }

  #build(projection: Projection<unknown>, generation: number): OpenBuild {
    const table = tableOf(projection, projection.version, generation);
    const known = this.#builds.get(table);
    if (known !== undefined) return known;
    const row = this.#rows(projection).find(
      ({ version, generation: number, state }) =>
        version === projection.version && number === generation && state !== 'retired',
    );
    if (row === undefined)
      throw new ReadModelsUnavailable(`${projection.name} v${projection.version} has no build ${generation}`);
    const fields = fieldsOf(projection).map(columnOf);
    const columns = ['org', ...fields, 'agenda'];
    const build: OpenBuild = {
      lookup: prepareArrays(this.#database, lookupQuery(table)),
      updateDocument: this.#database.prepare(
        `update ${table} set position = ?, document = ? where created = ? and position < ? ${columns.map((column) => `and ${column} is ?`).join(' ')}`,
      ),
      upsert: this.#database.prepare(
        `insert into ${table} (created, key, position, document, ${columns.join(', ')}) values (?, ?, ?, ?, ${columns.map(() => '?').join(', ')})
         on conflict (created) do update set ${['position', 'document', ...columns].map((column) => `${column} = excluded.${column}`).join(', ')}
         where position < excluded.position`,
      ),
      condition: `(name = '${projection.name}' and version = ${projection.version} and generation = ${generation})`,
      columns: columnReaders(projection),
      checkpoint: BigInt(row.checkpoint),
    };
    this.#builds.set(table, build);
    return build;
  }
}

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
