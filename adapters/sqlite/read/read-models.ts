import {
  ReadModelsUnavailable,
  type AgendaQuery,
  type PageQuery,
  type ReadModels,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import { errcodeOf, openForReading, type Database, type Statement } from '../database.js';
import { isDamaged, storedOf } from './projection-store.js';
import {
  agendaQuery,
  bindable,
  fieldsOf,
  lookupQuery,
  pageQuery,
  tableOf,
  type DocumentRow,
} from './read-tables.js';

/** How long a reader goes on with the build that it knows without looking whether another one is active. */
const trusted: Milliseconds = 1_000;

/** Greater than any position. */
const end = Number.MAX_SAFE_INTEGER;

interface Build {
  readonly table: string;
  readonly lookup: Statement;
  /** By the names of the fields that they filter by. */
  readonly pages: Map<string, Statement>;
  until: Milliseconds;
}

/** A statement and its values. */
type Query = (
  build: Build,
  database: Database,
) => readonly [Statement, ...(readonly (string | number | null)[])];

export interface SqliteReadModelsOptions {
  readonly path: string;
  readonly clock: Clock;
  /** The file is damaged: have it made again. */
  readonly onDamage?: () => void;
}

/**
 * The read models' file, for queries on the calling thread. Each takes microseconds and is synchronous behind
 * its promise.
 */
export class SqliteReadModels implements ReadModels {
  readonly #options: SqliteReadModelsOptions;
  #database: Database | null = null;
  #isDamaged = false;
  readonly #builds = new Map<Projection<unknown>, Build>();

  constructor(options: SqliteReadModelsOptions) {
    this.#options = options;
  }

  async get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null> {
    return this.#ask(projection, ({ lookup }) => [lookup, bindable(key)])[0] ?? null;
  }

  async page<Document>(
    projection: Projection<Document>,
    { org, where = {}, before, limit }: PageQuery,
  ): Promise<readonly Stored<Document>[]> {
    const fields = fieldsOf(projection).filter((field) => where[field] !== undefined);
    if (fields.length < Object.keys(where).length)
      throw new Error(`${projection.name} is not indexed by all of ${Object.keys(where).join(', ')}`);
    const values = fields.map((field) => bindable(where[field] ?? null));
    return this.#ask(projection, (build, database) => {
      return [
        this.#page(build, database, fields),
        org,
        ...values,
        before === undefined ? end : Number(before),
        limit,
      ];
    });
  }

  async agenda<Document>(
    projection: Projection<Document>,
    { upTo, after, limit }: AgendaQuery,
  ): Promise<readonly Stored<Document>[]> {
    return this.#ask(projection, ({ table }, database) => [
      prepare(database, agendaQuery(table)),
      upTo,
      after?.agenda ?? '',
      Number(after?.created ?? 0n),
      limit,
    ]);
  }

  /** Another build may be active now. */
  refresh(): void {
    this.#builds.clear();
  }

  /** Another file stands in the place of the one that is open. */
  reopen(): void {
    this.close();
    this.#isDamaged = false;
  }

  close(): void {
    this.#builds.clear();
    this.#database?.close();
    this.#database = null;
  }

  #ask<Document>(projection: Projection<Document>, query: Query): readonly Stored<Document>[] {
    try {
      return this.#attempt(projection, query);
    } catch (error) {
      if (errcodeOf(error) === null || isDamaged(error)) throw this.#refusal(error);
      this.#builds.delete(projection);
    }
    try {
      return this.#attempt(projection, query);
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  #attempt<Document>(projection: Projection<Document>, query: Query): readonly Stored<Document>[] {
    const database = (this.#database ??= openMapped(this.#options.path));
    const build = this.#build(projection, database);
    if (build === null) return [];
    const [statement, ...values] = query(build, database);
    const rows: readonly DocumentRow[] = statement.all(...values);
    return rows.map((row) => storedOf<Document>(row));
  }

  /** The build that readers see: the active one of the projection's version, else of the version before. */
  #build(projection: Projection<unknown>, database: Database): Build | null {
    const now = this.#options.clock.monotonic();
    const known = this.#builds.get(projection);
    if (known !== undefined && now < known.until) return known;
    const row: { readonly version: number; readonly generation: number } | undefined = database
      .prepare(
        "select version, generation from builds where name = ? and version <= ? and state = 'active' order by version desc, generation desc limit 1",
      )
      .get(projection.name, projection.version);
    if (row === undefined) return null;
    const table = tableOf(projection, row.version, row.generation);
    if (known?.table === table) {
      known.until = now + trusted;
      return known;
    }
    const build = {
      table,
      lookup: prepare(database, lookupQuery(table)),
      pages: new Map(),
      until: now + trusted,
    };
    this.#builds.set(projection, build);
    return build;
  }

  #page({ table, pages }: Build, database: Database, fields: readonly string[]): Statement {
    const name = fields.join();
    const known = pages.get(name) ?? prepare(database, pageQuery(table, fields));
    pages.set(name, known);
    return known;
  }

  /** Once for each file. */
  #reportDamage(): void {
    if (this.#isDamaged) return;
    this.#isDamaged = true;
    this.#options.onDamage?.();
  }

  #refusal(error: unknown): unknown {
    if (isDamaged(error)) this.#reportDamage();
    else if (errcodeOf(error) === null) return error;
    return new ReadModelsUnavailable(`The read models can't be read: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * Mapped into memory, pages of 50 take half as long. The price: where the disk can't be read, the process
 * ends by a signal.
 */
const openMapped = (path: string): Database => {
  const database = openForReading(path);
  database.exec('pragma mmap_size = 17179869184');
  return database;
};

const prepare = (database: Database, sql: string): Statement => {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
};
