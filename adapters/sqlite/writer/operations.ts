import { appendOperations } from './append.js';
import type { Database, Statement } from '../database.js';
import { deliveryOperations } from '../records/delivery-operations.js';
import { recordTables } from '../records/tables.js';
import { tileOperations } from '../notary/tile-operations.js';

/** A write whose only purpose is to succeed. */
const probeOperations = (database: Database) => {
  database.exec(
    'create table if not exists probe (one integer primary key check (one = 1), filler blob not null) strict',
  );
  const write = database.prepare('insert or replace into probe values (1, zeroblob(?))');
  return { operations: { probe: (bytes: number): void => void write.run(bytes) } };
};

/** A write in SQL. Its text is a constant of a store, and is kept prepared. */
export type SqlWrite = readonly [sql: string, ...values: readonly (string | number | null)[]];

/** For stores whose writes need nothing that was read before. Returns how many rows were changed in all. */
const statementOperations = (database: Database) => {
  database.exec(recordTables);
  const prepared = new Map<string, Statement>();
  const write = (statements: readonly SqlWrite[]): number => {
    let changed = 0;
    for (const [sql, ...values] of statements) {
      const statement = prepared.get(sql) ?? database.prepare(sql);
      prepared.set(sql, statement);
      changed += Number(statement.run(...values).changes);
    }
    return changed;
  };
  return { operations: { write, removeRows: write } };
};

/**
 * Every write to events.db. They share one queue, one thread and its commits. Each set is in a file apart
 * from its store, because the thread loads the sets alone. `onHead` is called with the position of the log's
 * last event after each commit that appended events.
 */
export const openOperationSets = (database: Database, onHead: (position: number) => void) =>
  [
    appendOperations(database, onHead),
    statementOperations(database),
    deliveryOperations(database),
    tileOperations(database),
    probeOperations(database),
  ] as const;

type Sets = ReturnType<typeof openOperationSets>;
type Merged<Set> = Set extends { readonly operations: infer Operations }
  ? (operations: Operations) => void
  : never;

/** The operations of all sets, by name. */
export type Operations = (Sets[number] extends infer Set ? Merged<Set> : never) extends (
  operations: infer All,
) => void
  ? All
  : never;
export type OperationName = keyof Operations;
export type InputOf<Name extends OperationName> = Operations[Name] extends (input: infer Input) => unknown
  ? Input
  : never;
export type OutputOf<Name extends OperationName> = Operations[Name] extends (input: never) => infer Output
  ? Output
  : never;
