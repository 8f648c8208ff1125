import { LRUCache } from 'lru-cache';
import { nextTurn } from '../../../application/timing/next-turn.js';
import {
  ReadModelNotBuilt,
  ReadModelsUnavailable,
  everyOrganization,
  type CountQuery,
  type PageQuery,
  type ReadModels,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import {
  errcodeOf,
  openForReading,
  prepareArrays,
  rowFrom,
  rowsFrom,
  type Database,
  type SqlValue,
  type Statement,
} from '../database.js';
import { isDamaged, storedOf, type BuildPlace } from './projection-store.js';
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
  readonly checkAt: Milliseconds;
}

/** A statement in SQL, or a part of one, and its values. */
type Query = (build: ActiveBuild) => readonly [sql: string, ...values: readonly SqlValue[]];

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

/**
 * Queries on read.db, on the calling thread. Each takes microseconds; only its promise is asynchronous.
 * `onDamage`: the file is damaged and must be replaced. Called once per file.
 */
export const sqliteReadModels = ({
  path,
  clock,
  onDamage = () => undefined,
}: {
  readonly path: string;
  readonly clock: Clock;
  readonly onDamage?: () => void;
}) => {
  let database: Database | null = null;
  let isReported = false;
  const builds = new Map<Projection<unknown>, ActiveBuild>();
  /** By table and creation. */
  const known = new LRUCache<string, Kept>({ maxSize: maxKept, sizeCalculation: ({ json }) => json.length });

  const close = (): void => {
    builds.clear();
    known.clear();
    database?.close();
    database = null;
  };

  /** `read`: the row's JSON, if that was read: a row that was changed in its file shows. */
  const keptAt = <Document>(
    table: string,
    created: number,
    position: number,
    read?: string,
  ): Stored<Document> | null => {
    const kept = known.get(`${table} ${created}`);
    return kept?.position === position && (read === undefined || kept.json === read) ? kept.stored : null;
  };

  const documentOf = <Document>(row: DocumentRow, table: string): Stored<Document> => {
    const [, created, position, json] = row;
    const kept = keptAt<Document>(table, created, position, json);
    if (kept !== null) return kept;
    const stored = storedOf<Document>(row);
    known.set(`${table} ${created}`, { stored, position, json });
    return stored;
  };

  /** The active build of the projection's version, else of the latest version before it. */
  const activeBuild = (projection: Projection<unknown>, file: Database): ActiveBuild => {
    const now = clock.monotonic();
    const before = builds.get(projection);
    if (before !== undefined && now < before.checkAt) return before;
    const active = file.prepare(
      "select version, generation from builds where name = ? and version <= ? and state = 'active' order by version desc, generation desc limit 1",
    );
    const row = rowFrom<Pick<BuildPlace, 'version' | 'generation'>>(
      active,
      projection.name,
      projection.version,
    );
    if (row === undefined) throw new ReadModelNotBuilt(projection);
    const table = tableOf(projection, row.version, row.generation);
    const statements = before?.table === table ? before.statements : new Map<string, Statement>();
    const build = { table, statements, checkAt: now + cacheTtl };
    builds.set(projection, build);
    return build;
  };

  /** Runs a query, and once more on an error of SQLite: the build's table may have been dropped. */
  const rowsOf = <Row, Read>(
    projection: Projection<unknown>,
    query: Query,
    read: (row: Row, table: string) => Read,
    isLastTry = false,
  ): readonly Read[] => {
    try {
      const file = (database ??= openMapped(path));
      const build = activeBuild(projection, file);
      const [sql, ...values] = query(build);
      const statement = build.statements.get(sql) ?? prepareArrays(file, sql);
      build.statements.set(sql, statement);
      return rowsFrom<Row>(statement, ...values).map((row) => read(row, build.table));
    } catch (error) {
      if (isLastTry || errcodeOf(error) === null) throw explained(error);
    }
    builds.delete(projection);
    return rowsOf(projection, query, read, true);
  };

  const documents = <Document>(projection: Projection<Document>, query: Query): readonly Stored<Document>[] =>
    rowsOf(projection, query, documentOf<Document>);

  /** The error to throw: ReadModelsUnavailable for an error of SQLite or a damaged file. Reports damage. */
  const explained = (error: unknown): unknown => {
    if (isDamaged(error)) {
      if (!isReported) onDamage();
      isReported = true;
    } else if (errcodeOf(error) === null) return error;
    return new ReadModelsUnavailable(`The read models can't be read: ${messageOf(error)}`, { cause: error });
  };

  const models: ReadModels = {
    get: async (projection, key) =>
      documents(projection, ({ table }) => [lookupQuery(table), bindable(key)])[0] ?? null,

    /** A page whose documents are all kept reads none of them, which takes half as long. */
    page: async <Document>(
      projection: Projection<Document>,
      { org, where = {}, before, limit }: PageQuery,
    ): Promise<readonly Stored<Document>[]> => {
      const list = listed(projection, { org, where });
      const page: Query = (build) => [...list(build), Number(before ?? endOfLog), limit];
      const marks = rowsOf(projection, selecting(marksQuery, page), ([created, position]: MarkRow, table) =>
        keptAt<Document>(table, created, position),
      );
      const kept = marks.filter((stored) => stored !== null);
      return kept.length === marks.length ? kept : documents(projection, selecting(pageQuery, page));
    },

    /** Counts in pages, each of which begins before the last document of the one before. */
    count: async (projection, query) => {
      const list = selecting(countQuery, listed(projection, query));
      let total = 0;
      let before = endOfLog;
      for (;;) {
        const page: Query = (build) => [...list(build), before, countedAtOnce];
        const [[count, last] = [0, null]] = rowsOf(projection, page, (row: CountRow) => row);
        total += count;
        if (count < countedAtOnce || last === null) return total;
        before = last;
        await nextTurn();
      }
    },

    agenda: async (projection, { upTo, after, limit }) =>
      documents(projection, ({ table }) => [
        agendaQuery(table),
        upTo,
        after?.agenda ?? '',
        Number(after?.created ?? 0n),
        limit,
      ]),
  };

  return {
    ...models,
    /** Looks for the active builds again. */
    refresh: () => builds.clear(),
    /** Opens the file again: another one has replaced it. */
    reopen: (): void => {
      close();
      isReported = false;
    },
    close,
  };
};

/**
 * Mapped into memory: pages of 50 rows take half as long. The price: if the disk can't be read, the process
 * ends by a signal.
 */
const openMapped = (path: string): Database => {
  const database = openForReading(path);
  database.exec('pragma mmap_size = 17179869184');
  return database;
};
