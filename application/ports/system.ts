import type { Instant, Milliseconds } from '../../domain/ids.js';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): Milliseconds;
  instant(): Instant;
  /** Resolves after the time, or at once when the signal aborts; never rejects. */
  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void>;
}

/** Randomness. */
export interface Entropy {
  /** A new random UUID (version 4). */
  uuid(): string;
  bytes(count: number): Buffer;
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
}
