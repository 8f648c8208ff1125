/**
 * What a process has to remember between starts: how far it has handled the log, and what it keeps open.
 * Saved after the work that it stands for.
 */
export interface Checkpoint {
  readonly position: bigint;
  /** JSON, the process's own. */
  readonly state: unknown;
}

export interface Checkpoints {
  load(name: string): Promise<Checkpoint | null>;
  /** Never takes a position back. */
  save(name: string, checkpoint: Checkpoint): Promise<void>;
}
