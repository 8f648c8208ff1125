import { appendOperations } from './append.js';
import { checkpointOperations } from './checkpoints.js';
import type { Database } from './database.js';
import { deliveryOperations } from './delivery-operations.js';
import { hookCallOperations } from './hook-calls.js';
import { keyUseOperations } from './key-uses.js';

/**
 * Writes of one kind, run on the writer's thread inside its transactions. Input and output cross a thread: plain data only.
 * An operation that throws leaves nothing behind, and the others of its group are run again without it: throw for what should not happen, answer a
 * value for what may. Whatever a set remembers about the open transaction is settled by `committed` or dropped by `rolledBack`.
 */
export interface OperationSet {
  readonly operations: Readonly<Record<string, (input: never) => unknown>>;
  readonly committed?: () => void;
  readonly rolledBack?: () => void;
}

/** Every write to events.db, by name. Further modules add their set here: they share one queue, one thread and its commits. */
export const openOperationSets = (database: Database, announce: (head: number) => void) =>
  [
    appendOperations(database, announce),
    checkpointOperations(database),
    keyUseOperations(database),
    deliveryOperations(database),
    hookCallOperations(database),
  ] as const;

type Sets = ReturnType<typeof openOperationSets>;
type Merged<Set> = Set extends { readonly operations: infer Operations } ? (operations: Operations) => void : never;

/** The operations of all sets, by name. */
export type Operations = (Sets[number] extends infer Set ? Merged<Set> : never) extends (operations: infer All) => void ? All : never;
export type OperationName = keyof Operations;
export type InputOf<Name extends OperationName> = Operations[Name] extends (input: infer Input) => unknown ? Input : never;
export type OutputOf<Name extends OperationName> = Operations[Name] extends (input: never) => infer Output ? Output : never;
