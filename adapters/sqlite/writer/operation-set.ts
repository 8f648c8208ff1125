/**
 * Writes of one kind, which the writer's thread runs inside its transactions. Input and output cross threads:
 * plain data only. If an operation throws, nothing of it is stored, and the others of its group run again
 * without it. So throw for events that must not happen, and return a value for the expected ones. A set's
 * memory of the open transaction becomes valid with `committed`, and is dropped by `rolledBack`.
 */
export interface OperationSet {
  readonly operations: Readonly<Record<string, (input: never) => unknown>>;
  readonly committed?: () => void;
  readonly rolledBack?: () => void;
}
