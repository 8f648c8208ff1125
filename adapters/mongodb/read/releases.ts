import { createHash } from 'node:crypto';
import { larger } from '../../../application/ports/event-store.js';
import type { Clock } from '../../../application/ports/system.js';
import { noticedWithin } from '../../../application/projecting/projection-board.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import { shapeOf } from './builds.js';
import type { MongoDatabase } from '../client/database.js';

/**
 * The shared name of processes that read and feed the same builds: two versions of the service with different
 * projections are different releases, and each has a projector of its own.
 */
export const releaseOf = (projections: readonly Projection<unknown>[]): string => {
  const shapes = projections.map((projection) =>
    JSON.stringify([projection.name, projection.version, shapeOf(projection)]),
  );
  shapes.sort();
  return createHash('sha256').update(shapes.join()).digest('hex').slice(0, 12);
};

export const projectorLease = (release: string): string => `projector ${release}`;

/** A release, as its processes keep it up. */
interface ReleaseRow {
  readonly _id: string;
  /** Changes with every sign of life. */
  readonly signAt: Date;
  /** The process that gave the last one. */
  readonly by?: string;
  /** The largest position of a write that a process has acknowledged, or soon will, before rows show it. */
  readonly missed: bigint;
}

/** Its processes show life twice a second. */
const goneAfter: Milliseconds = 3_000;

/**
 * A process that shows life, of whatever release; null if none does. Looks twice, and waits between as long
 * as a process may show none.
 */
export const whoRuns = async (database: MongoDatabase, clock: Clock): Promise<string | null> => {
  const look = () => database.collection<ReleaseRow>('releases').find({}).toArray();
  const signs = new Map((await look()).map(({ _id, signAt }) => [_id, signAt.getTime()]));
  if (signs.size > 0) await clock.sleep(goneAfter);
  const alive = (await look()).find(({ _id, signAt }) => signs.get(_id) !== signAt.getTime());
  return alive === undefined ? null : (alive.by ?? alive._id);
};

export interface ReleasesOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Of this process. */
  readonly release: string;
  /** Names this process. */
  readonly by: string;
}

/** The releases whose processes share the data, as this process sees them. */
export class Releases {
  #others: ReadonlyMap<string, { readonly sign: number; readonly changedAt: Milliseconds }> = new Map();
  /** When the processes of other releases know of this one; null before its first sign of life. */
  #knownFrom: Milliseconds | null = null;
  /** The largest position that any process has given up waiting for, or soon will. */
  missed = 0n;

  constructor(private readonly options: ReleasesOptions) {}

  /**
   * Shows that a process of this release runs, and what it has given up waiting for; then looks for others.
   * Throws a MongoError.
   */
  async look(missing = 0n): Promise<void> {
    const { database, clock, release, by } = this.options;
    const rows = await database.indexed<ReleaseRow>('releases');
    const sign = { $set: { signAt: new Date(clock.now()), by }, $max: { missed: missing } };
    await rows.updateOne({ _id: { $eq: release } }, sign, { upsert: true });
    const all = await rows.find({}).toArray();
    const others = all.filter(({ _id }) => _id !== release);
    this.missed = all.map(({ missed }) => missed).reduce(larger);
    const now = clock.monotonic();
    this.#others = new Map(
      others.map(({ _id, signAt }) => {
        const known = this.#others.get(_id);
        const sign = signAt.getTime();
        return [_id, { sign, changedAt: known?.sign === sign ? known.changedAt : now }];
      }),
    );
    this.#knownFrom ??= this.areSeveral() ? now + noticedWithin : now;
  }

  /** Waits until the processes of other releases know of this one. Throws a MongoError. */
  async join(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    if (this.#knownFrom === null) await this.look();
    const left = (this.#knownFrom ?? 0) - clock.monotonic();
    if (left > 0) await clock.sleep(left, signal);
  }

  /** Whether processes of another release may be at work. */
  areSeveral(): boolean {
    const now = this.options.clock.monotonic();
    return [...this.#others.values()].some(({ changedAt }) => now - changedAt < goneAfter);
  }
}
