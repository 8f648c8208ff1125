import type { Milliseconds } from '../../domain/ids.js';
import type { Clock } from '../ports/system.js';
import { larger, type LogReader } from '../ports/event-store.js';
import { untilAborted } from '../timing/until-aborted.js';

/**
 * How far the build of a projection has come that readers see. Until it is `live`, they see none that is up
 * to date: it catches up with the log. `rebuilding`: the checkpoint of the build that will take its place;
 * null if there is none.
 */
export interface ProjectionStatus {
  readonly name: string;
  readonly checkpoint: bigint;
  readonly live: boolean;
  readonly rebuilding: bigint | null;
}

/** `down`: why the projector is not working; null while it works. */
export interface ProjectorStatus {
  readonly down: string | null;
  readonly projections: readonly ProjectionStatus[];
}

export interface ProjectorReports {
  status(status: ProjectorStatus): void;
  /** The live projections have passed the position. */
  moved(position: bigint): void;
}

/**
 * How long to wait for the projections at most: from the call on; while the projector is down, until it has
 * been down for that long; and once it is up again, from then on. (decision 34: reads show acknowledged
 * writes)
 */
export const waitTimeout: Milliseconds = 5_000;
/**
 * The same beside another release: every process reads cards and credits from streams then, and only lists
 * may lack something.
 */
export const waitTimeoutOfSeveral: Milliseconds = 500;

/** How often a process that shares the log reads its head. */
export const headInterval: Milliseconds = 1_000;
/** Without a look at the head for so long, it is not known how far behind the rows are. */
const headTtl: Milliseconds = 3 * headInterval;
/**
 * A write that rows lack was waited for before it was acknowledged: a look that saw it in the log is at least
 * this old when a reader could miss it.
 */
const headsCountAfter: Milliseconds = waitTimeout - headTtl;
/** Processes notice within this time that a projector is at work again, or that another release has come. */
export const noticedWithin: Milliseconds = 2_000;
/** How long a look at the projector, the releases and other processes counts. */
const viewTtl: Milliseconds = 1_500;
/** So long before it gives up on a position, a process tells the others: they know by then. */
const toldBefore: Milliseconds = 2 * viewTtl;

interface Waiter {
  readonly position: bigint;
  readonly since: Milliseconds;
  readonly resolve: () => void;
}

/** Removes the first entries that pass a test, and returns them. */
const takeWhile = <T>(entries: T[], passes: (entry: T) => boolean): readonly T[] => {
  const end = entries.findIndex((entry) => !passes(entry));
  return entries.splice(0, end === -1 ? entries.length : end);
};

/** Behind the end of every log. */
const noPosition = 2n ** 64n;

/**
 * The position that all visible projections have passed. A projection that catches up unseen doesn't count:
 * reads don't depend on it.
 */
const checkpointOf = (projections: readonly ProjectionStatus[]): bigint =>
  projections
    .filter(({ live, rebuilding }) => live || rebuilding === null)
    .map(({ live, checkpoint }) => (live ? checkpoint : 0n))
    .reduce((least, position) => (position < least ? position : least), noPosition);

/**
 * Tracks a projector, which may run in another thread or process: its progress, the readers that wait for it,
 * and whether it may be late.
 */
export class ProjectionBoard implements ProjectorReports {
  readonly #closed = new AbortController();
  #status: ProjectorStatus = { down: 'The projector has not started yet.', projections: [] };
  /** Since when the projector is down; null while it works. */
  #downSince: Milliseconds | null;
  #moved = 0n;
  #checkpoint = 0n;
  /** The largest position that a reader gave up waiting for. */
  #missed = 0n;
  /** The largest position that another process has given up, or is about to. */
  #missedElsewhere = 0n;
  /** Whether it has ever worked: before that, no reader can have given up on it. */
  #hasWorked = false;
  /** When the projector last came up. */
  #upSince: Milliseconds = -Infinity;
  readonly #isShared: boolean;
  /** When the projector, the releases and what others miss were last looked at. */
  #viewedAt: Milliseconds;
  /**
   * Since when processes of another release read and write, too; null if none does. None waits for the builds
   * of another release.
   */
  #severalSince: Milliseconds | null = null;
  /** When the head was last looked at. */
  #headAt: Milliseconds = -Infinity;
  /** The heads of the last seconds, the oldest first. */
  readonly #heads: { readonly position: bigint; readonly at: Milliseconds }[] = [];
  /** Rows are late until the projections have passed this. */
  #due = 0n;
  /**
   * Rows are late until the head was read after this, because other processes may have given up waiting
   * before, or not waited at all; null if it was.
   */
  #headDueFrom: Milliseconds | null;
  /** Since when rows have been late for readers; null if they are not. */
  #lateSince: Milliseconds | null = null;
  /** Ordered by position. */
  #waiters: Waiter[] = [];
  #isWatching = false;
  /** Aborts when deadlines change. */
  #changed = new AbortController();
  readonly #listeners = new Set<() => void>();

  /** `isShared`: other processes write to the log, too; `sawHead` and `viewed` are to be called regularly. */
  constructor(
    private readonly clock: Clock,
    { isShared = false }: { readonly isShared?: boolean } = {},
  ) {
    this.#isShared = isShared;
    this.#downSince = clock.monotonic();
    this.#viewedAt = clock.monotonic();
    this.#headDueFrom = isShared ? clock.monotonic() + noticedWithin : null;
  }

  current(): ProjectorStatus {
    const { down, projections } = this.#status;
    return {
      down,
      projections: projections.map((known) =>
        known.live && known.checkpoint < this.#moved ? { ...known, checkpoint: this.#moved } : known,
      ),
    };
  }

  /** Whether every projection is live, and none catches up with the log. */
  isLive(): boolean {
    return this.#status.projections.every(({ live }) => live);
  }

  /** Whether readers see everything up to a position. */
  shows(position: bigint): boolean {
    return this.isLive() && position <= this.#checkpoint;
  }

  /** Whether a write may have been acknowledged, by any process, that the projections have not passed yet. */
  isLate(): boolean {
    return this.#severalSince !== null || this.#isViewOld(this.clock.monotonic()) || this.#areRowsLate();
  }

  /**
   * Whether the projections have not passed a head that was seen, or a write that any process has given up,
   * or may have; or readers see an older build while one catches up.
   */
  lacksEvents(): boolean {
    const head = this.#heads.at(-1)?.position ?? 0n;
    const due = [head, this.#due, this.#missed, this.#missedElsewhere].reduce(larger);
    return !this.isLive() || due > this.#checkpoint || (this.#isShared && this.#mayHaveMissedTold());
  }

  /**
   * Whether another process may have acknowledged a write after the last look at the head, and given up on it
   * without telling: beside another release, or because no projector shows rows, or none did a moment ago.
   */
  #mayHaveMissedTold(): boolean {
    const wasDown = this.#downSince !== null && this.#downSince <= this.#headAt;
    const isHeadDue = this.#headDueFrom !== null;
    return this.#severalSince !== null || this.#isViewOld(this.clock.monotonic()) || wasDown || isHeadDue;
  }

  /** The largest position that this process has given up or may soon give up, for other processes. */
  missing(): bigint {
    const now = this.clock.monotonic();
    return this.#waiters
      .filter((waiter) => this.#deadlineOf(waiter) - toldBefore <= now)
      .reduce((last, { position }) => larger(last, position), this.#missed);
  }

  /** The same as far as the processes of this release are concerned. */
  #areRowsLate(): boolean {
    return (
      this.#status.down !== null ||
      !this.isLive() ||
      this.#missed > this.#checkpoint ||
      (this.#isShared && this.#mayLackWritesOfOthers())
    );
  }

  /**
   * For how long rows have been late for readers; null if they are not, or by no more than the projector of
   * one release is behind that of another.
   */
  lateFor(): Milliseconds | null {
    if (!this.#areRowsLate()) {
      this.#lateSince = null;
      return null;
    }
    const now = this.clock.monotonic();
    this.#lateSince ??= this.#downSince ?? now;
    return now - this.#lateSince;
  }

  /** `at`: when the look at the head of the log began. */
  sawHead(position: bigint, at: Milliseconds): void {
    if (this.#headDueFrom !== null && at >= this.#headDueFrom) {
      this.#due = larger(this.#due, position);
      this.#headDueFrom = null;
    }
    // A write before it may have been given up meanwhile.
    if (at > this.#headAt + headTtl) this.#due = larger(this.#due, position);
    this.#headAt = at;
    this.#heads.push({ position, at });
    this.#ageHeads();
  }

  /**
   * The projector, the releases and what other processes miss were looked at, or MongoDB was asked in vain,
   * from `at` on.
   */
  viewed(at: Milliseconds, areSeveral: boolean, missed: bigint): void {
    this.#viewedAt = at;
    this.#missedElsewhere = larger(this.#missedElsewhere, missed);
    if (areSeveral === (this.#severalSince !== null)) return;
    const now = this.clock.monotonic();
    this.#severalSince = areSeveral ? now : null;
    // Until every process knows, some still acknowledge writes that these projections may lack.
    if (!areSeveral) this.#headDueFrom = now + noticedWithin;
    this.#changed.abort(noError);
  }

  /** A process that was paused knows only how things were. */
  #isViewOld(now: Milliseconds): boolean {
    return this.#isShared && now > this.#viewedAt + viewTtl;
  }

  /** Heads that are old enough count, and are kept no longer. */
  #ageHeads(): void {
    const counted = this.clock.monotonic() - headsCountAfter;
    for (const { position } of takeWhile(this.#heads, ({ at }) => at <= counted))
      this.#due = larger(this.#due, position);
  }

  #mayLackWritesOfOthers(): boolean {
    this.#ageHeads();
    const now = this.clock.monotonic();
    return this.#headDueFrom !== null || now > this.#headAt + headTtl || this.#due > this.#checkpoint;
  }

  /**
   * Resolves when every active projection has passed the position; after `waitTimeout` at the latest, and at
   * once if the projector has been down for that long.
   */
  waitUntilProjected(position: bigint): Promise<void> {
    const since = this.clock.monotonic();
    if (position <= this.#checkpoint || this.#closed.signal.aborted) return Promise.resolve();
    if (this.#deadlineOf({ since }) <= since) {
      this.#missed = larger(this.#missed, position);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const index = this.#waiters.findLastIndex((waiter) => waiter.position <= position) + 1;
      this.#waiters.splice(index, 0, { position, since, resolve });
      for (const listener of this.#listeners) listener();
      if (!this.#isWatching) void this.#watchDeadlines();
    });
  }

  isAwaited(): boolean {
    return this.#waiters.length > 0;
  }

  /** Calls the listener whenever a reader begins to wait. Returns a function that ends that. */
  onAwaited(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  status(status: ProjectorStatus): void {
    const now = this.clock.monotonic();
    const wasDown = this.#status.down !== null;
    const wasLive = this.isLive();
    const isDown = status.down !== null;
    this.#status = status;
    // Until every process knows, some still acknowledge writes without waiting for what readers see now.
    const isNews = (wasDown && !isDown && this.#hasWorked) || (!wasLive && this.isLive());
    if (this.#isShared && isNews) this.#headDueFrom = now + noticedWithin;
    if (wasDown && !isDown) this.#upSince = now;
    this.#hasWorked ||= !isDown;
    this.#downSince = isDown ? (this.#downSince ?? now) : null;
    this.#moved = 0n;
    if (status.projections.length > 0) this.#checkpoint = checkpointOf(status.projections);
    this.#releasePassed();
    if (wasDown !== isDown) this.#changed.abort(noError);
  }

  moved(position: bigint): void {
    this.#moved = position;
    this.#checkpoint = position;
    this.#releasePassed();
  }

  close(): void {
    this.#closed.abort(noError);
    this.#changed.abort(noError);
    this.status({ ...this.#status, down: 'The projector is closed.' });
    this.#release(this.#waiters.splice(0));
  }

  #releasePassed(): void {
    this.#release(takeWhile(this.#waiters, ({ position }) => position <= this.#checkpoint));
  }

  #release(waiters: readonly Waiter[]): void {
    for (const { resolve } of waiters) resolve();
  }

  #deadlineOf({ since }: Pick<Waiter, 'since'>): Milliseconds {
    const usual = this.#usualDeadlineOf(since);
    if (this.#severalSince === null) return usual;
    // Once every process reads from streams.
    const first = this.#severalSince + noticedWithin;
    return Math.min(usual, Math.max(first, since + (this.#areRowsLate() ? 0 : waitTimeoutOfSeveral)));
  }

  #usualDeadlineOf(since: Milliseconds): Milliseconds {
    if (this.#downSince === null) return Math.max(since, this.#upSince) + waitTimeout;
    return Math.max(this.#downSince + waitTimeout, this.#isViewOld(since) ? since + viewTtl : -Infinity);
  }

  async #watchDeadlines(): Promise<void> {
    this.#isWatching = true;
    while (this.#waiters.length > 0 && !this.#closed.signal.aborted) {
      this.#changed = new AbortController();
      const next = Math.min(...this.#waiters.map((waiter) => this.#deadlineOf(waiter)));
      await this.clock.sleep(Math.max(1, next - this.clock.monotonic()), this.#changed.signal);
      const now = this.clock.monotonic();
      const isOverdue = (waiter: Waiter): boolean => this.#deadlineOf(waiter) <= now;
      const overdue = this.#waiters.filter(isOverdue);
      this.#waiters = this.#waiters.filter((waiter) => !isOverdue(waiter));
      this.#missed = overdue.reduce((last, { position }) => larger(last, position), this.#missed);
      this.#release(overdue);
    }
    this.#isWatching = false;
  }
}

/** A reason for aborting, so that no error has to be made for it. */
const noError = 'the waits have changed';

/** Tells a board the length of a log that other processes share, until the signal aborts. */
export const watchHead = (
  board: ProjectionBoard,
  log: Pick<LogReader, 'head'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> =>
  // The processes that need the event store report that it is away.
  untilAborted({ clock, signal, pause: headInterval, onError: () => undefined }, async () => {
    const began = clock.monotonic();
    const { position } = await log.head();
    board.sawHead(position, began);
  });
