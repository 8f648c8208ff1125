import { DatabaseSync } from '@photostructure/sqlite';
import { rmSync } from 'node:fs';
import {
  ReadModelsUnavailable,
  type BuildState,
  type ProjectedBatch,
  type ProjectionStore,
  type Stored,
} from '../../../application/ports/read-models.js';
import { messageOf } from '../../../domain/errors.js';
import type { Projection } from '../../../projections/projection.js';
import { checkpointPages, errcodeOf, isDamage, type Database, type Statement } from '../database.js';
import type { InsideGate } from '../gate.js';
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

/** The document of a row. Throws a SyntaxError where it is damaged. */
export const storedOf = <Document>([key, created, position, json]: DocumentRow): Stored<Document> => {
  const document: Document = JSON.parse(json);
  return { key, created: BigInt(created), position: BigInt(position), document };
};

/** The file is damaged: SQLite says so, or a document is not what was written. */
export const isDamaged = (error: unknown): boolean =>
  error instanceof SyntaxError || isDamage(errcodeOf(error));

interface BuildRow {
  readonly version: number;
  readonly generation: number;
  readonly checkpoint: number;
  readonly state: 'building' | 'active' | 'retired';
  readonly shape: string;
}

/** The statements of one build, and how its projection reads a document. */
interface Build {
  readonly lookup: Statement;
  readonly touch: Statement;
  readonly upsert: Statement;
  /** The condition that finds its row among the builds. */
  readonly row: string;
  readonly columns: readonly ((document: unknown) => string | null)[];
  checkpoint: bigint;
}

const readers = (projection: Projection<unknown>): readonly ((document: unknown) => string | null)[] => [
  (document) => projection.org(document),
  ...fieldsOf(projection).map(
    (field) => (document: unknown) => projection.indexes[field]?.(document) ?? null,
  ),
  (document) => projection.agenda?.(document) ?? null,
];

/** A commit needs no fsync: what a power loss takes is projected again. */
const openFile = (path: string): Database => {
  const database = new DatabaseSync(path, { timeout: 1000 });
  try {
    database.exec(
      `pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -65536`,
    );
    database.exec(buildsTable);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

const removeFile = (path: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
};

const openOrReplace = (path: string): Database => {
  try {
    return openFile(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    removeFile(path);
    return openFile(path);
  }
};

export interface SqliteProjectionStoreOptions {
  /** read.db; made where there is none. It holds nothing that can't be made again. */
  readonly path: string;
  /** The file turned out to be damaged and a new one stands in its place: whoever reads it opens it again. */
  readonly onReplaced?: () => void;
  /** Around everything that is done with the file, in a thread that the process may end. */
  readonly within?: InsideGate;
}

/** The read models' file, for its one writer. */
export class SqliteProjectionStore implements ProjectionStore {
  readonly #options: SqliteProjectionStoreOptions;
  readonly #within: InsideGate;
  #database: Database;
  #builds = new Map<string, Build>();
  /** Statements that move checkpoints, by the rows that they move. */
  #checkpoints = new Map<string, Statement>();

  constructor(options: SqliteProjectionStoreOptions) {
    this.#options = options;
    this.#within = options.within ?? ((work) => work());
    this.#database = this.#within(() => openOrReplace(options.path));
    this.#guard(() => this.#dropWhere("state = 'retired'"));
  }

  async active(projection: Projection<unknown>): Promise<BuildState> {
    return this.#guard(() => {
      const rows = this.#rows(projection);
      const mine = rows.filter(
        ({ version, shape, state }) =>
          version === projection.version && shape === shapeOf(projection) && state !== 'retired',
      );
      const found = mine.findLast(({ state }) => state === 'active') ?? mine.at(-1);
      if (found !== undefined) return { generation: found.generation, checkpoint: BigInt(found.checkpoint) };
      return this.#begin(
        projection,
        rows.some(({ state, version }) => state === 'active' && version <= projection.version)
          ? 'building'
          : 'active',
      );
    });
  }

  async startBuild(projection: Projection<unknown>): Promise<BuildState> {
    return this.#guard(() => {
      const begun = this.#begin(projection, 'building');
      const { name, version } = projection;
      this.#dropWhere(
        "name = ? and (state = 'retired' or (state = 'building' and version = ? and generation < ?))",
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
      this.#together(() => {
        this.#build(projection, generation);
        this.#database
          .prepare("update builds set state = 'active' where name = ? and version = ? and generation = ?")
          .run(name, version, generation);
        this.#database
          .prepare(
            "update builds set state = 'retired' where name = ? and (version < ? or (version = ? and generation < ?))",
          )
          .run(name, version, version, generation);
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
      this.#together(() => {
        for (const { projection, generation, documents } of batches) {
          const build = this.#build(projection, generation);
          for (const stored of documents) write(build, stored);
        }
        this.#setCheckpoints(batches);
      }),
    );
    for (const { projection, generation, checkpoint } of batches) {
      const build = this.#build(projection, generation);
      if (build.checkpoint < checkpoint) build.checkpoint = checkpoint;
    }
  }

  /** Throws the file away and begins a new one. */
  replace(): void {
    this.#within(() => {
      this.#database.close();
      this.#builds = new Map();
      this.#checkpoints = new Map();
      removeFile(this.#options.path);
      this.#database = openFile(this.#options.path);
    });
    this.#options.onReplaced?.();
  }

  close(): void {
    // Statements that were prepared keep the file open for a while: closing alone would not fold the
    // write-ahead log into it.
    this.#guard(() => this.#database.exec('pragma wal_checkpoint(truncate)'));
    this.#within(() => this.#database.close());
  }

  #guard<Result>(work: () => Result): Result {
    try {
      return this.#within(work);
    } catch (error) {
      if (isDamaged(error)) this.replace();
      else if (errcodeOf(error) === null) throw error;
      throw new ReadModelsUnavailable(`The read models can't be written: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Those that stand at one position are mostly the same: one statement moves them all. */
  #setCheckpoints(batches: readonly ProjectedBatch[]): void {
    for (const position of new Set(batches.map(({ checkpoint }) => checkpoint))) {
      const moved = batches.filter(({ checkpoint }) => checkpoint === position);
      const rows = moved
        .map(({ projection, generation }) => this.#build(projection, generation).row)
        .join(' or ');
      const known = this.#checkpoints.get(rows);
      const statement =
        known ?? this.#database.prepare(`update builds set checkpoint = max(checkpoint, ?) where ${rows}`);
      if (known === undefined) this.#checkpoints.set(rows, statement);
      statement.run(Number(position));
    }
  }

  #together(work: () => void): void {
    this.#database.exec('begin immediate');
    try {
      work();
      this.#database.exec('commit');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      throw error;
    }
  }

  #rows({ name }: Projection<unknown>): readonly BuildRow[] {
    const rows: readonly BuildRow[] = this.#database
      .prepare(
        'select version, generation, checkpoint, state, shape from builds where name = ? order by generation',
      )
      .all(name);
    return rows;
  }

  #begin(projection: Projection<unknown>, state: BuildRow['state']): BuildState {
    const { name, version } = projection;
    const generation = Math.max(0, ...this.#rows(projection).map((row) => row.generation)) + 1;
    this.#together(() => {
      this.#database.exec(createTable(projection, tableOf(projection, version, generation)));
      this.#database
        .prepare('insert into builds values (?, ?, ?, 0, ?, ?)')
        .run(name, version, generation, state, shapeOf(projection));
    });
    return { generation, checkpoint: 0n };
  }

  #dropWhere(condition: string, ...values: readonly (string | number)[]): void {
    const rows: readonly { readonly name: string; readonly version: number; readonly generation: number }[] =
      this.#database
        .prepare(`select name, version, generation from builds where ${condition}`)
        .all(...values);
    for (const { name, version, generation } of rows) {
      this.#builds.delete(`"${name}_v${version}_g${generation}"`);
      this.#together(() => {
        this.#database.exec(`drop table if exists "${name}_v${version}_g${generation}"`);
        this.#database
          .prepare('delete from builds where name = ? and version = ? and generation = ?')
          .run(name, version, generation);
      });
    }
  }

  #build(projection: Projection<unknown>, generation: number): Build {
    const table = tableOf(projection, projection.version, generation);
    const known = this.#builds.get(table);
    if (known !== undefined) return known;
    const row = this.#rows(projection).find(
      ({ version, generation: number }) => version === projection.version && number === generation,
    );
    if (row === undefined)
      throw new ReadModelsUnavailable(`${projection.name} v${projection.version} has no build ${generation}`);
    const fields = fieldsOf(projection).map(columnOf);
    const columns = ['org', ...fields, 'agenda'];
    const lookup = this.#database.prepare(lookupQuery(table));
    lookup.setReturnArrays(true);
    const build: Build = {
      lookup,
      touch: this.#database.prepare(
        `update ${table} set position = ?, document = ? where created = ? and position < ? ${columns.map((column) => `and ${column} is ?`).join(' ')}`,
      ),
      upsert: this.#database.prepare(
        `insert into ${table} (created, key, position, document, ${columns.join(', ')}) values (?, ?, ?, ?, ${columns.map(() => '?').join(', ')})
         on conflict (created) do update set ${['position', 'document', ...columns].map((column) => `${column} = excluded.${column}`).join(', ')}
         where position < excluded.position`,
      ),
      row: `(name = '${projection.name}' and version = ${projection.version} and generation = ${generation})`,
      columns: readers(projection),
      checkpoint: BigInt(row.checkpoint),
    };
    this.#builds.set(table, build);
    return build;
  }
}

/**
 * A document that is there already mostly changes no column that is indexed: then its indexes are left alone.
 */
const write = (
  { columns, checkpoint, touch, upsert }: Build,
  { key, created, position, document }: Stored<unknown>,
): void => {
  const values = columns.map((read) => bindable(read(document)));
  const json = JSON.stringify(document);
  const at = Number(position);
  if (created <= checkpoint && touch.run(at, json, Number(created), at, ...values).changes === 1) return;
  upsert.run(Number(created), key, at, json, ...values);
};
