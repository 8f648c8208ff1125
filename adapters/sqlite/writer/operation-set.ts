import type { Database } from '../database.js';

/**
 * Writes of one kind, which the writer's thread runs inside its transactions. Input and output cross threads:
 * plain data only. If an operation throws, nothing of it is stored, and the others of its group run again
 * without it. So throw for what must not happen, and return a value for what may. What a set remembers of the
 * open transaction becomes valid with `committed`, and is dropped by `rolledBack`.
 */
export interface OperationSet {
  readonly operations: Readonly<Record<string, (input: never) => unknown>>;
  readonly committed?: () => void;
  readonly rolledBack?: () => void;
}

/** All of the types of a union at once. */
export type Merged<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** The writer as a store sees it whose writes are in one set. */
export interface WriterOf<Make extends (database: Database) => OperationSet> {
  readonly run: Merged<Runs<ReturnType<Make>['operations']>>;
}
type Runs<Operations extends OperationSet['operations']> = {
  [Name in keyof Operations]: (
    name: Name,
    input: Parameters<Operations[Name]>[0],
  ) => Promise<ReturnType<Operations[Name]>>;
}[keyof Operations];
