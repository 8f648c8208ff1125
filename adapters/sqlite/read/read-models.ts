import { LRUCache } from 'lru-cache';
import { nextTurn } from '../../../application/timing/next-turn.js';
import {
  ReadModelNotBuilt,
  ReadModelsUnavailable,
  everyOrganization,
  type AgendaQuery,
  type CountQuery,
  type PageQuery,
  type ReadModels,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import { errcodeOf, openForReading, prepareArrays, type Database, type Statement } from '../database.js';
import { isDamaged, storedOf } from './projection-store.js';
import {
  agendaQuery,
  bindable,
  countQuery,
  fieldsOf,
  lookupQuery,
  marksQuery,
  ofAll,
  ofOwner,
  pageQuery,
  tableOf,
  type DocumentRow,
  type MarkRow,
} from './read-tables.js';

/** How long a reader uses the build that it knows without checking whether another one is active. */
const cacheTtl: Milliseconds = 1_000;

/** Counting this many index entries takes half a millisecond. */
const countedAtOnce = 10_000;
/** The characters of JSON whose documents are kept: those of some 5,000 cards. */
const maxKept = 4 * 1024 * 1024;
type CountRow = readonly [count: number, last: number | null];

/** The fields of a query across organizations, in the order of their columns. */
const assertAcross = (projection: Projection<unknown>, where: CountQuery['where']): readonly string[] => {
  const fields = Object.keys(where).toSorted();
  const isThere = projection.across?.some((known) => known.toSorted().join() === fields.join()) === true;
  if (!isThere)
    throw new Error(`${projection.name} is not listed across organizations by ${fields.join(', ')}`);
  return fields;
};

const valuesOf = (where: CountQuery['where'], fields: readonly string[]): readonly (string | null)[] =>
  fields.map((field) => bindable(where[field] ?? null));

/** After every position. */
const endOfLog = Number.MAX_SAFE_INTEGER;

/** The build that readers see, and its statements. */
interface ActiveBuild {
  readonly table: string;
  /** By their SQL. */
  readonly statements: Map<string, Statement>;
  /** When to check whether it is still the active one. */
  checkAt: Milliseconds;
}

/** A statement in SQL, or a part of one, and its values. */
type Query = (build: ActiveBuild) => readonly [sql: string, ...values: readonly (string | number | null)[]];

const selecting =
  (select: (rows: string) => string, rows: Query): Query =>
  (build) => {
    const [from, ...values] = rows(build);
    return [select(from), ...values];
  };

/** The rows of a list; the end and the length of a page are still to follow. */
const listed = (projection: Projection<unknown>, { org, where }: CountQuery): Query => {
  if (org === everyOrganization) {
    const fields = assertAcross(projection, where);
    return ({ table }) => [ofAll(table, fields), ...valuesOf(where, fields)];
  }
  const fields = fieldsOf(projection).filter((field) => where[field] !== undefined);
  if (fields.length < Object.keys(where).length)
    throw new Error(`${projection.name} is not indexed by all of ${Object.keys(where).join(', ')}`);
  return ({ table }) => [ofOwner(table, fields), org, ...valuesOf(where, fields)];
};

/** A document as it was read, with its row's position and JSON. */
interface Kept {
  readonly stored: Stored<ReturnType<typeof JSON.parse>>;
  readonly position: number;
  readonly json: string;
}

export interface SqliteReadModelsOptions {
  readonly path: string;
  readonly clock: Clock;
  /** The file is damaged and must be replaced. Called once per file. */
  readonly onDamage?: () => void;
}

/** Queries on read.db, on the calling thread. Each takes microseconds; only its promise is asynchronous. */
export class SqliteReadModels implements ReadModels {
  #database: Database | null = null;
  #isDamaged = false;
  readonly #builds = new Map<Projection<unknown>, ActiveBuild>();
  /** By table and creation. */
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: maxKept,
    sizeCalculation: ({ json }) => json.length,
  });

  constructor(private readonly options: SqliteReadModelsOptions) {}

  async get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null> {
    return this.#run(projection, ({ table }) => [lookupQuery(table), bindable(key)])[0] ?? null;
  }

  async page<Document>(
    projection: Projection<Document>,
    { org, where = {}, before, limit }: PageQuery,
  ): Promise<readonly Stored<Document>[]> {
    const rows = listed(projection, { org, where });
    return this.#page(projection, (build) => [...rows(build), Number(before ?? endOfLog), limit]);
  }

  async count(projection: Projection<unknown>, query: CountQuery): Promise<number> {
    return this.#counted(projection, selecting(countQuery, listed(projection, query)));
  }

  /** Counts in pages, each of which begins before the last document of the one before. */
  async #counted(projection: Projection<unknown>, query: Query): Promise<number> {
    let total = 0;
    let before = endOfLog;
    for (;;) {
      const page: Query = (build) => [...query(build), before, countedAtOnce];
      const [counted] = this.#rows(projection, page, (row: CountRow) => row);
      const [count, last] = counted ?? [0, null];
      total += count;
      if (count < countedAtOnce || last === null) return total;
      before = last;
      await nextTurn();
    }
  }

  async agenda<Document>(
    projection: Projection<Document>,
    { upTo, after, limit }: AgendaQuery,
  ): Promise<readonly Stored<Document>[]> {
    return this.#run(projection, ({ table }) => [
      agendaQuery(table),
      upTo,
      after?.agenda ?? '',
      Number(after?.created ?? 0n),
      limit,
    ]);
  }

  /** Looks for the active builds again. */
  refresh(): void {
    this.#builds.clear();
  }

  /** Opens the file again: another one has replaced it. */
  reopen(): void {
    this.close();
    this.#isDamaged = false;
  }

  close(): void {
    this.#builds.clear();
    this.#kept.clear();
    this.#database?.close();
    this.#database = null;
  }

  /** A page whose documents are all kept reads none of them, which takes half as long. */
  #page<Document>(projection: Projection<Document>, rows: Query): readonly Stored<Document>[] {
    const marks = this.#rows(projection, selecting(marksQuery, rows), ([created, position]: MarkRow, table) =>
      this.#keptAt<Document>(table, created, position),
    );
    const kept = marks.filter((stored) => stored !== null);
    return kept.length === marks.length ? kept : this.#run(projection, selecting(pageQuery, rows));
  }

  #run<Document>(projection: Projection<Document>, query: Query): readonly Stored<Document>[] {
    return this.#rows(projection, query, (row: DocumentRow, table) => this.#storedOf<Document>(table, row));
  }

  /** `read`: the row's JSON, if that was read: a row that was changed in its file shows. */
  #keptAt<Document>(
    table: string,
    created: number,
    position: number,
    read?: string,
  ): Stored<Document> | null {
    const kept = this.#kept.get(`${table} ${created}`);
    return kept?.position === position && (read === undefined || kept.json === read) ? kept.stored : null;
  }

  #storedOf<Document>(table: string, row: DocumentRow): Stored<Document> {
    const [, created, position, json] = row;
    const kept = this.#keptAt<Document>(table, created, position, json);
    if (kept !== null) return kept;
    const stored = storedOf<Document>(row);
    this.#kept.set(`${table} ${created}`, { stored, position, json });
    return stored;
  }

  /** Runs a query, and once more on an error of SQLite: the build's table may have been dropped. */
  #rows<Row, Read>(
    projection: Projection<unknown>,
    query: Query,
    read: (row: Row, table: string) => Read,
  ): readonly Read[] {
    try {
      return this.#rowsOnce(projection, query, read);
    } catch (error) {
      if (errcodeOf(error) === null) throw this.#explained(error);
      this.#builds.delete(projection);
    }
    try {
      return this.#rowsOnce(projection, query, read);
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #rowsOnce<Row, Read>(
    projection: Projection<unknown>,
    query: Query,
    read: (row: Row, table: string) => Read,
  ): readonly Read[] {
    const database = (this.#database ??= openMapped(this.options.path));
    const build = this.#activeBuild(projection, database);
    if (build === null) throw new ReadModelNotBuilt(projection);
    const [sql, ...values] = query(build);
    const statement = build.statements.get(sql) ?? prepareArrays(database, sql);
    build.statements.set(sql, statement);
    const rows: readonly Row[] = statement.all(...values);
    return rows.map((row) => read(row, build.table));
  }

  /** The active build of the projection's version, else of the latest version before it. */
  #activeBuild(projection: Projection<unknown>, database: Database): ActiveBuild | null {
    const now = this.options.clock.monotonic();
    const known = this.#builds.get(projection);
    if (known !== undefined && now < known.checkAt) return known;
    const row: { readonly version: number; readonly generation: number } | undefined = database
      .prepare(
        "select version, generation from builds where name = ? and version <= ? and state = 'active' order by version desc, generation desc limit 1",
      )
      .get(projection.name, projection.version);
    if (row === undefined) return null;
    const table = tableOf(projection, row.version, row.generation);
    if (known?.table === table) {
      known.checkAt = now + cacheTtl;
      return known;
    }
    const build = { table, statements: new Map(), checkAt: now + cacheTtl };
    this.#builds.set(projection, build);
    return build;
  }

  /** The error to throw: ReadModelsUnavailable for an error of SQLite or a damaged file. Reports damage. */
  #explained(error: unknown): unknown {
    if (isDamaged(error)) {
      if (!this.#isDamaged) this.options.onDamage?.();
      this.#isDamaged = true;
    } else if (errcodeOf(error) === null) return error;
    return new ReadModelsUnavailable(`The read models can't be read: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Mapped into memory: pages of 50 rows take half as long. The price: if the disk can't be read, the process
 * ends by a signal.
 */
const openMapped = (path: string): Database => {
  const database = openForReading(path);
  database.exec('pragma mmap_size = 17179869184');
  return database;
};
