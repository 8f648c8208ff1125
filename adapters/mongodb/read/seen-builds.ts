import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import { activeBuildTtl, builds, seenBuild, type BuildRow } from './builds.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';

/**
 * The builds as this process saw them last. Writes are acknowledged and reads are made by the same look: a
 * build that is said to be up to date is the one that is read from then on.
 */
export class SeenBuilds {
  /** In the order of their generations. */
  rows: readonly BuildRow[] = [];
  /** When the last look began. */
  #began: Milliseconds = -Infinity;
  #underWay: Promise<void> | null = null;

  constructor(
    private readonly database: MongoDatabase,
    private readonly clock: Clock,
  ) {}

  /** Looks, or joins the look under way. Rejects if MongoDB can't be asked. */
  look(): Promise<void> {
    this.#underWay ??= this.#look().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  /** The build that readers of a projection see; null if there is none. Throws a MongoError. */
  async toRead(projection: Projection<unknown>): Promise<BuildRow | null> {
    const oldest = this.clock.monotonic() - activeBuildTtl;
    while (this.#began < oldest) await this.look();
    return seenBuild(projection, this.rows);
  }

  async #look(): Promise<void> {
    const began = this.clock.monotonic();
    this.rows = await findAll(await builds(this.database), {}, { sort: { name: 1, generation: 1 } });
    this.#began = began;
  }
}
