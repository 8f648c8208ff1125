import { appendOperations } from './append.js';
import { checkpointOperations } from '../records/checkpoint-operations.js';
import type { Database } from '../database.js';
import { deliveryOperations } from '../records/delivery-operations.js';
import { tileOperations } from '../notary/tile-operations.js';
import { hookCallOperations } from '../records/hook-call-operations.js';
import { requestOperations } from '../records/request-operations.js';
import { keyUseOperations } from '../records/key-use-operations.js';
import { recordOperations } from '../records/record-operations.js';

/** A write whose only purpose is to succeed. */
const probeOperations = (database: Database) => {
  database.exec(
    'create table if not exists probe (one integer primary key check (one = 1), filler blob not null) strict',
  );
  const write = database.prepare('insert or replace into probe values (1, zeroblob(?))');
  return { operations: { probe: (bytes: number): void => void write.run(bytes) } };
};

/**
 * Every write to events.db. They share one queue, one thread and its commits. Each set is in a file apart
 * from its store, because the thread loads the sets alone. `onHead` is called with the position of the log's
 * last event after each commit that appended events.
 */
export const openOperationSets = (database: Database, onHead: (position: number) => void) =>
  [
    appendOperations(database, onHead),
    checkpointOperations(database),
    keyUseOperations(database),
    deliveryOperations(database),
    hookCallOperations(database),
    requestOperations(database),
    tileOperations(database),
    recordOperations(database),
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
