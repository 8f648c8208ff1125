import type { Instant, Milliseconds } from '../../domain/ids.js';

/** By how much a clock that is not set may drift between two looks. */
export const maxDrift: Milliseconds = 1_000;

export interface Clock {
  /** Milliseconds since 1970 by the machine's clock, which may be set back or forward. */
  now(): Milliseconds;
  /**
   * Milliseconds since some moment, so that only differences mean anything. It has the pace of `sleep` and is
   * never set back: use it for every time limit and every duration within this process.
   */
  monotonic(): Milliseconds;
  /**
   * As `now`, but at the pace of `monotonic` since this process began, whatever the machine's clock is set
   * to: for counts by the minute, and for ages that no jump of it may change.
   */
  steady(): Milliseconds;
  instant(): Instant;
  /**
   * Moves `now` by this, and keeps it at the pace of `monotonic` from then on, whatever the machine's clock
   * does: for processes that go by the time of a server together.
   */
  agree?(by: Milliseconds): void;
  /**
   * Whether `now` may be trusted since `agree`. False once the machine was suspended, which `monotonic` does
   * not count, or its clock was set: which of both it was, only that server can tell.
   */
  isAgreed?(): boolean;
  /** How far the machine's clock is ahead of `monotonic`; a suspension, or setting that clock, moves it. */
  drift?(): Milliseconds;
  /** Resolves after the time, or as soon as the signal aborts. Never rejects. */
  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void>;
}

export interface Entropy {
  /** A new random UUID (version 4). */
  uuid(): string;
  bytes(count: number): Buffer;
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
}
