import type { Milliseconds } from '../../domain/ids.js';
import type { EventMark } from './event-store.js';

/**
 * The state of a process between starts: how far it has handled the log, and its open work. It is saved after
 * the work up to there is done.
 */
export interface ProcessCheckpoint {
  readonly position: bigint;
  /** The event at the position; absent at the beginning. */
  readonly event?: EventMark;
  /** When the oldest open work began; absent if there is none. */
  readonly openSince?: Milliseconds;
  /** JSON, in a form of the process's own. */
  readonly state: unknown;
}

export interface Checkpoints {
  load(name: string): Promise<ProcessCheckpoint | null>;
  /** Never lowers the position: an older checkpoint changes nothing. */
  save(name: string, checkpoint: ProcessCheckpoint): Promise<void>;
  /** All of them, without their states. */
  all(): Promise<readonly (Omit<ProcessCheckpoint, 'state'> & { readonly name: string })[]>;
}
