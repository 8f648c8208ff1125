/**
 * Writes of one kind, run on the writer's thread inside its transactions. Input and output cross a thread:
 * plain data only. An operation that throws leaves nothing behind, and the others of its group are run again
 * without it: throw for what should not happen, answer a value for what may. Whatever a set remembers about
 * the open transaction is settled by `committed` or dropped by `rolledBack`.
 */
export interface OperationSet {
  readonly operations: Readonly<Record<string, (input: never) => unknown>>;
  readonly committed?: () => void;
  readonly rolledBack?: () => void;
}
