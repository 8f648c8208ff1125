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

export interface MongoLeasesOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Names this process: unique among all of them. */
  readonly owner: string;
  /** How long an owner may show no sign of life before another process takes over. */
  readonly timeout?: Milliseconds;
  /** Spares waiting for an owner on the same machine that has died. */
  readonly machine?: Machine;
  /** Gets why a lease could not be acquired or kept. It is tried again. */
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

/**
 * A standby notices the last sign of life up to a fifth of this late, and its absence as much later: it takes
 * over less than 3 s after it.
 */
export const usualLease: Milliseconds = 2_000;

const anyMachine: Machine = { self: null, isGone: () => false };

/** A lease that this process has. */
interface Held {
  readonly epoch: number;
  readonly lost: AbortController;
  /** When the last sign of life was given. */
  alive: Milliseconds;
  /** Why the work gets nowhere, told with every sign of life; null while it works. */
  trouble: string | null;
}

/**
 * Lets one of several processes do some work while the others stand by. Clocks are never compared: a process
 * that stands by takes over when it has seen no sign of life for the timeout by its own clock, and the owner
 * stops by itself when it could show none for two thirds of that. A write that is under way then is fenced by
 * the epoch. A process shows life for all its leases at once. (docs/architecture.md#one-at-a-time-leases)
 */
export class MongoLeases {
  readonly #options: Required<MongoLeasesOptions>;
  /** By name. */
  readonly #held = new Map<string, Held>();
  /** Ends the signs of life. */
  #beating = new AbortController();

  constructor(options: MongoLeasesOptions) {
    this.#options = { timeout: usualLease, onError: () => undefined, machine: anyMachine, ...options };
  }

  /**
   * The owner of the lease of that name; null if it has none. `pulse` changes with every sign of life;
   * `trouble`: why it gets nowhere, null while it works. Throws a MongoError.
   */
  static async owner(database: MongoDatabase, name: string) {
    const rows = database.collection<LeaseRow>('leases');
    const row = await rows.findOne({ _id: { $eq: name }, owner: { $ne: null } });
    return row && { pulse: `${row.epoch} ${row.beats}`, trouble: row.trouble ?? null };
  }

  /**
   * Does the work of that name whenever this process holds its lease, until the signal aborts. Work that ends
   * early or throws is started again. Never rejects.
   */
  async hold(name: string, signal: AbortSignal, work: (held: HeldLease) => Promise<void>): Promise<void> {
    const { clock, timeout, onError } = this.#options;
    await untilAborted({ clock, signal, pause: timeout / 10, onError }, async () => {
      const epoch = await this.#acquire(name, signal);
      if (epoch !== null) await this.#work(name, epoch, signal, work);
    });
  }

  /** Waits for the lease and returns its epoch; null if the signal aborts first. */
  async #acquire(name: string, signal: AbortSignal): Promise<number | null> {
    const { owner, clock, timeout, machine } = this.#options;
    const process = machine.self;
    let seen = '';
    let seenAt = clock.monotonic();
    while (!signal.aborted) {
      const row = await this.#rows().findOne({ _id: { $eq: name } });
      if (row === null) {
        const first = { _id: name, owner, process, epoch: 1, beats: 0 };
        if (await isInserted(this.#rows().insertOne(first))) return 1;
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

  async #work(
    name: string,
    epoch: number,
    signal: AbortSignal,
    work: (held: HeldLease) => Promise<void>,
  ): Promise<void> {
    const lost = new AbortController();
    // Each loop of the work listens: more than ten are no leak.
    setMaxListeners(0, lost.signal);
    const stop = () => lost.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const mine = this.#mine(name, epoch);
    const held: Held = { epoch, lost, alive: this.#options.clock.monotonic(), trouble: null };
    const say = async (trouble: string | null): Promise<void> => {
      held.trouble = trouble;
      await this.#rows().updateOne(mine, { $set: { trouble } });
    };
    this.#held.set(name, held);
    if (this.#held.size === 1) {
      this.#beating = new AbortController();
      void this.#keepAlive(this.#beating.signal);
    }
    try {
      await work({ epoch, signal: lost.signal, say });
    } finally {
      signal.removeEventListener('abort', stop);
      lost.abort();
      this.#held.delete(name);
      if (this.#held.size === 0) this.#beating.abort();
      await this.#rows().updateOne(mine, { $set: { owner: null } });
    }
  }

  async #keepAlive(signal: AbortSignal): Promise<void> {
    const { clock, timeout, onError } = this.#options;
    const longest = (timeout * 2) / 3;
    for (;;) {
      await clock.sleep(timeout / 5, signal);
      if (signal.aborted) return;
      const held = [...this.#held].filter(([, { lost }]) => !lost.signal.aborted);
      const began = clock.monotonic();
      const silent = began - Math.min(began, ...held.map(([, { alive }]) => alive));
      const mine = await Promise.race([
        this.#showLife(held).catch(onError),
        clock.sleep(longest - silent, signal),
      ]);
      for (const [name, each] of held) {
        if (mine?.has(name) === true) each.alive = began;
        if (mine?.has(name) === false || clock.monotonic() - each.alive >= longest) each.lost.abort();
      }
    }
  }

  /** Shows life for these leases, and returns the names of those that this process still has. */
  async #showLife(held: readonly (readonly [string, Held])[]): Promise<ReadonlySet<string>> {
    if (held.length === 0) return new Set();
    const ours = { $or: held.map(([name, { epoch }]) => this.#mine(name, epoch)) };
    const { matchedCount } = await this.#rows().bulkWrite(
      held.map(([name, { epoch, trouble }]) => ({
        updateOne: { filter: this.#mine(name, epoch), update: { $inc: { beats: 1 }, $set: { trouble } } },
      })),
      { ordered: false },
    );
    if (matchedCount === held.length) return new Set(held.map(([name]) => name));
    const left = await this.#rows().find(ours).toArray();
    return new Set(left.map(({ _id }) => _id));
  }

  #mine(name: string, epoch: number) {
    return { _id: { $eq: name }, owner: { $eq: this.#options.owner }, epoch };
  }

  #rows() {
    return this.#options.database.collection<LeaseRow>('leases');
  }
}
