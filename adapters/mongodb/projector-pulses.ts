import { createHash } from 'node:crypto';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { shapeOf } from './builds.js';
import type { MongoDatabase } from './database.js';
import { MongoLease } from './lease.js';

/**
 * What the processes have in common that read and feed the same builds: two versions of the service with
 * different projections are different releases, and each has a projector of its own.
 */
export const releaseOf = (projections: readonly Projection<unknown>[]): string => {
  const shapes = projections.map((projection) =>
    JSON.stringify([projection.name, projection.version, shapeOf(projection)]),
  );
  shapes.sort();
  return createHash('sha256').update(shapes.join()).digest('hex').slice(0, 12);
};

const leasePrefix = 'projector ';
export const projectorLease = (release: string): string => `${leasePrefix}${release}`;

interface Pulse {
  readonly text: string;
  /** When it last changed. What is seen for the first time may be a dead owner's. */
  readonly changedAt: Milliseconds;
  readonly trouble: string | null;
}

export interface ProjectorPulsesOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** How long without a sign of life until a projector counts as down. */
  readonly downAfter?: Milliseconds;
}

const defaultDownAfter: Milliseconds = 3_000;

/** The signs of life of the projectors of all releases, as this process sees them. */
export class ProjectorPulses {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #downAfter: Milliseconds;
  #pulses: ReadonlyMap<string, Pulse> = new Map();
  #hasLooked = false;

  constructor({ database, clock, downAfter = defaultDownAfter }: ProjectorPulsesOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#downAfter = downAfter;
  }

  /** Throws a MongoError. */
  async look(): Promise<void> {
    const owners = await MongoLease.owners(this.#database, leasePrefix);
    const now = this.#clock.monotonic();
    const isFirst = !this.#hasLooked;
    this.#hasLooked = true;
    this.#pulses = new Map(
      [...owners].map(([name, { pulse: text, trouble }]) => {
        const release = name.slice(leasePrefix.length);
        const known = this.#pulses.get(release);
        const changedAt = known?.text === text ? known.changedAt : isFirst ? -Infinity : now;
        return [release, { text, changedAt, trouble }];
      }),
    );
  }

  isAlive(release: string): boolean {
    const pulse = this.#pulses.get(release);
    return pulse !== undefined && this.#clock.monotonic() - pulse.changedAt < this.#downAfter;
  }

  /** Why the projector of a release gets nowhere; null if it does, or there is none. */
  troubleOf(release: string): string | null {
    return this.#pulses.get(release)?.trouble ?? null;
  }

  /** The other releases with a projector at work. */
  othersThan(release: string): readonly string[] {
    return [...this.#pulses.keys()].filter((other) => other !== release && this.isAlive(other)).toSorted();
  }

  /** Whether another release has the lease of a projector that may be alive. */
  mayHaveOthersThan(release: string): boolean {
    return [...this.#pulses.keys()].some((other) => other !== release);
  }
}
