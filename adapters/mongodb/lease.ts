import type { Clock } from '../../application/ports/system.js';
import { untilAborted } from '../../application/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import { isDuplicate, type MongoDatabase } from './database.js';

interface LeaseRow {
  readonly _id: string;
  /** Null: given back. */
  readonly owner: string | null;
  /** Grows with every change of hands. */
  readonly epoch: number;
  /** Grows while the owner lives. */
  readonly beats: number;
}

export interface MongoLeaseOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** What is to be done by one at a time. */
  readonly name: string;
  /** Who this is: unique among all processes. */
  readonly owner: string;
  /** How long an owner that shows no sign of life is waited for. */
  readonly patience?: Milliseconds;
  /** Why it could not be had or kept. Tried again. */
  readonly onTrouble?: (error: unknown) => void;
}

export interface Held {
  /**
   * Larger than that of every owner before: what is written under it can be told from what an earlier owner
   * writes late.
   */
  readonly epoch: number;
  /** Aborts when the lease is lost, or may be. */
  readonly signal: AbortSignal;
}

const usualPatience: Milliseconds = 10_000;

/**
 * One of several processes works, the others stand by. Clocks are not compared: who stands by takes over when
 * it has seen no sign of life for the patience by its own clock; who works stops by itself when it could give
 * none for two thirds of that. A write that was under way then is the epoch's business.
 */
export class MongoLease {
  readonly #options: Required<MongoLeaseOptions>;

  constructor(options: MongoLeaseOptions) {
    this.#options = { patience: usualPatience, onTrouble: () => undefined, ...options };
  }

  /**
   * Whether anybody has shown a sign of life since the row was seen last: the row as text, to be compared.
   */
  static async pulse(database: MongoDatabase, name: string): Promise<string | null> {
    const row = await database.collection<LeaseRow>('leases').findOne({ _id: { $eq: name } });
    return row === null || row.owner === null ? null : `${row.epoch} ${row.beats}`;
  }

  /**
   * Does the work whenever the lease is held, until the signal aborts; work that ends early or throws is
   * begun again.
   */
  async hold(signal: AbortSignal, work: (held: Held) => Promise<void>): Promise<void> {
    const { clock, patience, onTrouble } = this.#options;
    await untilAborted({ clock, signal, pause: patience / 10, onError: onTrouble }, async () => {
      const epoch = await this.#acquire(signal);
      if (epoch !== null) await this.#work(epoch, signal, work);
    });
  }

  /** The epoch under which the lease is held; null where the signal aborted. */
  async #acquire(signal: AbortSignal): Promise<number | null> {
    const { name, owner, clock, patience } = this.#options;
    let seen = '';
    let seenAt = clock.monotonic();
    while (!signal.aborted) {
      const row = await this.#rows().findOne({ _id: { $eq: name } });
      if (row === null) {
        if (await this.#insert({ _id: name, owner, epoch: 1, beats: 0 })) return 1;
        continue;
      }
      const pulse = `${row.epoch} ${row.beats}`;
      if (pulse !== seen) {
        seen = pulse;
        seenAt = clock.monotonic();
      }
      // One that is ours is left over from work that has ended: it could not be given back.
      if (row.owner === null || row.owner === owner || clock.monotonic() - seenAt >= patience) {
        const next = row.epoch + 1;
        const { matchedCount } = await this.#rows().updateOne(
          { _id: { $eq: name }, epoch: row.epoch, beats: row.beats },
          { $set: { owner, epoch: next } },
        );
        if (matchedCount === 1) return next;
        continue;
      }
      await clock.sleep(patience / 5, signal);
    }
    return null;
  }

  async #work(epoch: number, signal: AbortSignal, work: (held: Held) => Promise<void>): Promise<void> {
    const lost = new AbortController();
    const stop = () => lost.abort();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const beating = this.#beat(epoch, lost);
    try {
      await work({ epoch, signal: lost.signal });
    } finally {
      signal.removeEventListener('abort', stop);
      lost.abort();
      await beating;
      await this.#rows().updateOne(this.#mine(epoch), { $set: { owner: null } });
    }
  }

  async #beat(epoch: number, lost: AbortController): Promise<void> {
    const { clock, patience, onTrouble } = this.#options;
    let alive = clock.monotonic();
    while (!lost.signal.aborted) {
      await clock.sleep(patience / 5, lost.signal);
      if (lost.signal.aborted) return;
      const known = this.#sign(epoch)
        .then(({ matchedCount }) => (matchedCount === 1 ? 'mine' : 'lost'))
        .catch(onTrouble);
      const began = clock.monotonic();
      const outcome = await Promise.race([
        known,
        clock.sleep((patience * 2) / 3 - (began - alive), lost.signal),
      ]);
      if (outcome === 'mine') alive = began;
      if (outcome === 'lost' || clock.monotonic() - alive >= (patience * 2) / 3) lost.abort();
    }
  }

  async #sign(epoch: number) {
    return this.#rows().updateOne(this.#mine(epoch), { $inc: { beats: 1 } });
  }

  #mine(epoch: number) {
    const { name, owner } = this.#options;
    return { _id: { $eq: name }, owner: { $eq: owner }, epoch };
  }

  async #insert(row: LeaseRow): Promise<boolean> {
    try {
      await this.#rows().insertOne(row);
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  #rows() {
    return this.#options.database.collection<LeaseRow>('leases');
  }
}
