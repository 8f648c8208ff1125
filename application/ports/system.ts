import type { Instant, Milliseconds } from '../../domain/ids.js';

export interface Clock {
  /** Milliseconds since 1970, as the machine's clock has it: somebody may set it back or forward. */
  now(): Milliseconds;
  /**
   * Milliseconds since some moment: only the difference of two says anything. It runs at the pace of `sleep` and
   * is never set back, so every time limit and every duration within this process goes by it.
   */
  monotonic(): Milliseconds;
  instant(): Instant;
  /** Resolves after the time, or as soon as the signal aborts. Never rejects. */
  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void>;
}

/** The source of randomness. */
export interface Entropy {
  /** A new random UUID (version 4). */
  uuid(): string;
  bytes(count: number): Buffer;
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
}
