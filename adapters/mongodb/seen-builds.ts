import { larger, smallest } from '../../application/positions.js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { activeBuildTrusted, builds, seenBuild, type BuildRow } from './builds.js';
import type { MongoDatabase } from './database.js';

type Named = Pick<Projection<unknown>, 'name' | 'version'>;

/** The build of one projection that this process reads, as the last look showed it. */
interface Reading {
  readonly row: BuildRow;
  /** The build that is about to take its place, and when it was first seen; null if there is none. */
  readonly next: { readonly row: BuildRow; readonly since: Milliseconds } | null;
  /** No write beyond this was acknowledged because of this build. */
  readonly floor: bigint;
}

/**
 * How long the build before and the next one are both waited for and both read: far longer than a process
 * trusts what it saw before the next one was active.
 */
const bothFor: Milliseconds = 4 * activeBuildTrusted;

/** What a look at the builds makes of what was known. */
const looked = (
  known: Reading | null,
  projection: Named,
  rows: readonly BuildRow[],
  began: Milliseconds,
): Reading | null => {
  const seen = seenBuild(projection, rows);
  if (seen === null) return null;
  const row = rows.find(({ _id }) => _id === known?.row._id);
  if (known === null || row === undefined) return { row: seen, next: null, floor: seen.checkpoint };
  const floor = larger(known.floor, row.checkpoint);
  if (seen._id === row._id) return { row, next: null, floor };
  const since = known.next?.row._id === seen._id ? known.next.since : began;
  const isOver = row.state === 'retired' || began >= since + bothFor;
  return isOver && seen.checkpoint >= floor
    ? { row: seen, next: null, floor: seen.checkpoint }
    : { row, next: { row: seen, since }, floor };
};

/** What every reader of this process and of those that have not moved yet can see. */
export const acknowledgedTo = ({ row, next }: Reading): bigint => {
  if (next === null) return row.checkpoint;
  // Nobody feeds a retired one, and its projector saves nothing for longer than a look is trusted.
  return row.state === 'retired' ? next.row.checkpoint : smallest([row.checkpoint, next.row.checkpoint]);
};

/**
 * Which builds this process reads: the one place that says it, to those who acknowledge writes and to those
 * who read. A write is acknowledged by what a look has shown of both builds while one takes the place of the
 * other; a read then looks first and uses the one that is further. So a read never uses a build that lacks
 * what was acknowledged before it began, however late anybody's look is.
 * (docs/architecture.md#a-new-build-takes-over)
 */
export class SeenBuilds {
  readonly #read: () => Promise<readonly BuildRow[]>;
  readonly #clock: Clock;
  readonly #readings = new Map<string, { readonly projection: Named; reading: Reading | null }>();
  #rows: readonly BuildRow[] = [];
  /** When the last look began. */
  #began: Milliseconds = -Infinity;
  #underWay: Promise<void> | null = null;
  /** The look that begins after the one under way. */
  #coming: Promise<void> | null = null;

  /** `read`: all builds of all projections. */
  constructor({ read, clock }: { readonly read: () => Promise<readonly BuildRow[]>; readonly clock: Clock }) {
    this.#read = read;
    this.#clock = clock;
  }

  static in(database: MongoDatabase, clock: Clock): SeenBuilds {
    const read = async () => (await builds(database)).find({}).toArray();
    return new SeenBuilds({ read, clock });
  }

  /** Looks at the builds, beginning after the call. Rejects if MongoDB can't be asked. */
  look(): Promise<void> {
    if (this.#underWay === null) {
      this.#underWay = this.#look().finally(() => {
        this.#underWay = null;
      });
      return this.#underWay;
    }
    this.#coming ??= this.#underWay
      .catch(() => undefined)
      .then(() => {
        this.#coming = null;
        return this.look();
      });
    return this.#coming;
  }

  /** All builds but the retired ones, as the last look showed them. */
  rows(): readonly BuildRow[] {
    return this.#rows.filter(({ state }) => state !== 'retired');
  }

  /** What the last look showed; null if there is no build that readers of this version could see. */
  reading(projection: Named): Reading | null {
    return this.#entryOf(projection).reading;
  }

  /** A build that has all that was acknowledged before the call; null if there is none to read. */
  async toRead(projection: Named): Promise<BuildRow | null> {
    const now = this.#clock.monotonic();
    const isKnown = (): boolean => {
      const reading = this.reading(projection);
      return reading !== null && reading.next === null && now < this.#began + activeBuildTrusted;
    };
    if (!isKnown()) await this.#underWay?.catch(() => undefined);
    if (!isKnown()) await this.look();
    const reading = this.reading(projection);
    if (reading === null) return null;
    const { row, next } = reading;
    return next !== null && next.row.checkpoint >= row.checkpoint ? next.row : row;
  }

  /** Whether just these builds are read, by the names of projections, and none is about to be left. */
  areRead(projections: readonly Named[], ids: ReadonlyMap<string, string>): boolean {
    return projections.every((projection) => {
      const reading = this.reading(projection);
      return reading !== null && reading.next === null && reading.row._id === ids.get(projection.name);
    });
  }

  /** Writes up to here are acknowledged because of the builds that are read, without a look at them. */
  told(position: bigint): void {
    for (const entry of this.#readings.values())
      if (entry.reading !== null)
        entry.reading = { ...entry.reading, floor: larger(entry.reading.floor, position) };
  }

  async #look(): Promise<void> {
    const began = this.#clock.monotonic();
    const rows = await this.#read();
    this.#began = began;
    this.#rows = rows;
    for (const entry of this.#readings.values())
      entry.reading = looked(entry.reading, entry.projection, rows, began);
  }

  #entryOf({ name, version }: Named) {
    const key = `${name} ${version}`;
    const projection = { name, version };
    const entry = this.#readings.get(key) ?? {
      projection,
      reading: looked(null, projection, this.#rows, this.#began),
    };
    this.#readings.set(key, entry);
    return entry;
  }
}
