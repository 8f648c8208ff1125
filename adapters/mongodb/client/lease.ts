import { setMaxListeners } from 'node:events';
import type { Clock } from '../../../application/ports/system.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MongoDatabase } from './database.js';
import { isInserted } from './refusals.js';

interface LeaseRow {
  readonly _id: string;
  /** Null if it was given back. */
  readonly owner: string | null;
  /** The owner's process, as `Machine` names it; null or absent if its end can't be noticed. */
  readonly process?: string | null;
  /** Grows by one whenever the lease changes hands. */
  readonly epoch: number;
  /** Grows by one with every sign of life of the owner. */
  readonly beats: number;
  /** Why the owner gets nowhere; absent or null while it works. */
  readonly trouble?: string | null;
}

/** Knows the processes of this machine. */
export interface Machine {
  /** Names this process, unlike any other on any machine at any time; null if the system can't. */
  readonly self: string | null;
  /** Whether the process of that name was on this machine and has ended, for certain. */
  isGone(process: string): boolean;
}

export interface MongoLeaseOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** The name of the work that one process does at a time. */
  readonly name: string;
  /** Names this process: unique among all of them. */
  readonly owner: string;
  /** How long an owner may show no sign of life before another process takes over. */
  readonly timeout?: Milliseconds;
  /** Spares waiting for an owner on the same machine that has died. */
  readonly machine?: Machine;
  /** Gets why the lease could not be acquired or kept. It is tried again. */
  readonly onError?: (error: unknown) => void;
}

export interface HeldLease {
  /** Larger than the epoch of every earlier owner: a fence against late writes of an earlier owner. */
  readonly epoch: number;
  /** Aborts when the lease is lost, or may be. */
  readonly signal: AbortSignal;
  /** Tells the other processes why the work makes no progress, or with null that it does again. */
  readonly say: (trouble: string | null) => Promise<void>;
}

/** The owner of a lease, as others see it. */
export interface LeaseOwner {
  /** Changes with every sign of life. */
  readonly pulse: string;
  /** Why it gets nowhere; null while it works. */
  readonly trouble: string | null;
}

/**
 * A standby notices the last sign of life up to a fifth of this late, and its absence as much later: it takes
 * over less than 3 s after it.
 */
const defaultTimeout: Milliseconds = 2_000;

const anyMachine: Machine = { self: null, isGone: () => false };

/**
 * Lets one of several processes work while the others stand by. Clocks are never compared: a process that
 * stands by takes over when it has seen no sign of life for the timeout by its own clock, and the owner stops
 * by itself when it could show none for two thirds of that. A write that is under way then is fenced by the
 * epoch. (docs/architecture.md#one-at-a-time-leases)
 */
export class MongoLease {
  readonly #options: Required<MongoLeaseOptions>;

  constructor(options: MongoLeaseOptions) {
    this.#options = { timeout: defaultTimeout, onError: () => undefined, machine: anyMachine, ...options };
  }

  /** The owner of the lease of that name; null if it has none. Throws a MongoError. */
  static async owner(database: MongoDatabase, name: string): Promise<LeaseOwner | null> {
    const rows = database.collection<LeaseRow>('leases');
    const row = await rows.findOne({ _id: { $eq: name }, owner: { $ne: null } });
    return row && { pulse: `${row.epoch} ${row.beats}`, trouble: row.trouble ?? null };
  }

  /**
   * Does the work whenever this process holds the lease, until the signal aborts. Work that ends early or
   * throws is started again. Never rejects.
   */
  async hold(signal: AbortSignal, work: (held: HeldLease) => Promise<void>): Promise<void> {
    const { clock, timeout, onError } = this.#options;
    await untilAborted({ clock, signal, pause: timeout / 10, onError }, async () => {
      const epoch = await this.#acquire(signal);
      if (epoch !== null) await this.#work(epoch, signal, work);
    });
  }

  /** Waits for the lease and returns its epoch; null if the signal aborts first. */
  async #acquire(signal: AbortSignal): Promise<number | null> {
    const { name, owner, clock, timeout, machine } = this.#options;
    const process = machine.self;
    let seen = '';
    let seenAt = clock.monotonic();
    while (!signal.aborted) {
      const row = await this.#rows().findOne({ _id: { $eq: name } });
      if (row === null) {
        if (await this.#insert({ _id: name, owner, process, epoch: 1, beats: 0 })) return 1;
        continue;
      }
      const pulse = `${row.epoch} ${row.beats}`;
      if (pulse !== seen) {
        seen = pulse;
        seenAt = clock.monotonic();
      }
      // If it is ours, it is left over from work that has ended: it could not be given back.
      const isFree = row.owner === null || row.owner === owner;
      const isDead = typeof row.process === 'string' && machine.isGone(row.process);
      if (isFree || isDead || clock.monotonic() - seenAt >= timeout) {
        const next = row.epoch + 1;
        const { matchedCount } = await this.#rows().updateOne(
          { _id: { $eq: name }, epoch: row.epoch, beats: row.beats },
          { $set: { owner, process, epoch: next, trouble: null } },
        );
        if (matchedCount === 1) return next;
        continue;
      }
      await clock.sleep(timeout / 5, signal);
    }
    return null;
  }

  async #work(epoch: number, signal: AbortSignal, work: (held: HeldLease) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    // Each loop of the work listens: more than ten are no leak.
    setMaxListeners(0, lost.signal);
    const stop = () => lost.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const alive = this.#keepAlive(epoch, lost);
    try {
      await work({ epoch, signal: lost.signal, say: (trouble) => this.#say(epoch, trouble) });
    } finally {
      signal.removeEventListener('abort', stop);
      lost.abort();
      await alive;
      await this.#rows().updateOne(this.#mine(epoch), { $set: { owner: null } });
    }
  }

  async #keepAlive(epoch: number, lost: AbortController): Promise<void> {
    const { clock, timeout, onError } = this.#options;
    let alive = clock.monotonic();
    while (!lost.signal.aborted) {
      await clock.sleep(timeout / 5, lost.signal);
      if (lost.signal.aborted) return;
      const shown = this.#showLife(epoch)
        .then(({ matchedCount }) => (matchedCount === 1 ? 'mine' : 'lost'))
        .catch(onError);
      const began = clock.monotonic();
      const outcome = await Promise.race([
        shown,
        clock.sleep((timeout * 2) / 3 - (began - alive), lost.signal),
      ]);
      if (outcome === 'mine') alive = began;
      if (outcome === 'lost' || clock.monotonic() - alive >= (timeout * 2) / 3) lost.abort();
    }
  }

  async #say(epoch: number, trouble: string | null): Promise<void> {
    await this.#rows().updateOne(this.#mine(epoch), { $set: { trouble } });
  }

  async #showLife(epoch: number) {
    return this.#rows().updateOne(this.#mine(epoch), { $inc: { beats: 1 } });
  }

  #mine(epoch: number) {
    const { name, owner } = this.#options;
    return { _id: { $eq: name }, owner: { $eq: owner }, epoch };
  }

  async #insert(row: LeaseRow): Promise<boolean> {
    return isInserted(this.#rows().insertOne(row));
  }

  #rows() {
    return this.#options.database.collection<LeaseRow>('leases');
  }
}
