import { appendOperations } from './append.js';
import type { Database, Statement } from '../database.js';
import { deliveryOperations } from '../records/delivery-operations.js';
import { recordTables } from '../records/tables.js';
import { tileOperations } from '../notary/tile-operations.js';

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
  return { write, removeRows: write };
};

/**
 * Every write to events.db, which the writer's thread runs inside its transactions. They share one queue, one
 * thread and its commits. Input and output cross threads: plain data only. If an operation throws, nothing of
 * it is stored, and the others of its group run again without it. So throw for events that must not happen,
 * and return a value for the expected ones. The operations of a store are in a file apart from it, because
 * the thread loads them alone. `onHead` is called with the position of the log's last event after each commit
 * that appended events.
 */
export const openOperations = (database: Database, onHead: (position: number) => void) => {
  const appending = appendOperations(database, onHead);
  return {
    ...appending,
    operations: {
      ...appending.operations,
      ...statementOperations(database),
      ...deliveryOperations(database),
      ...tileOperations(database),
    },
  };
};

/** The operations by name. */
type Operations = ReturnType<typeof openOperations>['operations'];
export type OperationName = keyof Operations;
export type InputOf<Name extends OperationName> = Parameters<Operations[Name]>[0];
export type OutputOf<Name extends OperationName> = ReturnType<Operations[Name]>;
