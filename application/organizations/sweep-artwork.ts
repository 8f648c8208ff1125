import type { ArtworkDigest } from '../../domain/artwork.js';
import type { Milliseconds } from '../../domain/ids.js';
import { collectionCards } from '../../projections/catalogue.js';
import { organizations } from '../../projections/organizations.js';
import type { Projection } from '../../projections/projection.js';
import type { Artwork } from '../ports/artwork.js';
import { pagesOf, type ReadModels } from '../ports/read-models.js';
import type { Clock } from '../ports/system.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { attemptAll } from '../timing/attempt-all.js';
import { nextTurn } from '../timing/next-turn.js';
import { waitsFor } from './fronts.js';

interface SweepDeps {
  readonly artwork: Artwork;
  readonly readModels: Pick<ReadModels, 'page'>;
  readonly readYourWrites: Pick<ReadYourWrites, 'beforeRead' | 'rowsMayBeLate'>;
  readonly clock: Clock;
}

/** A picture waits to be saved for that long, and then its event may take a while. */
const keptUnused: Milliseconds = waitsFor + 10 * 60 * 1000;
const rowsAtOnce = 20;

const allOf = <Document>({ readModels }: SweepDeps, projection: Projection<Document>) =>
  pagesOf(readModels, projection, { org: null, limit: rowsAtOnce }, nextTurn);

/** The fronts that designs have or collection cards ever had; null while the read models may lack some. */
const usedFronts = async (deps: SweepDeps): Promise<ReadonlySet<ArtworkDigest> | null> => {
  await deps.readYourWrites.beforeRead();
  const used = new Set<ArtworkDigest>();
  for await (const page of allOf(deps, organizations))
    for (const { artwork } of page.flatMap(({ document }) => [...document.designs, ...document.archived]))
      if (artwork !== null) used.add(artwork.digest);
  for await (const page of allOf(deps, collectionCards))
    for (const digest of page.flatMap(({ document }) => document.fronts)) used.add(digest);
  return deps.readYourWrites.rowsMayBeLate() ? null : used;
};

const removeUnused = async (deps: SweepDeps, putBefore: Milliseconds): Promise<void> => {
  const { artwork } = deps;
  let unused: ArtworkDigest[] = [];
  for await (const { digest, putAt } of artwork.list()) if (putAt < putBefore) unused.push(digest);
  // A row that changes while they are read may be missed, and is there the second time.
  for (let look = 0; look < 2 && unused.length > 0; look++) {
    const used = await usedFronts(deps);
    if (used === null) return;
    unused = unused.filter((digest) => !used.has(digest));
  }
  await attemptAll(unused, (digest) => artwork.remove(digest, putBefore));
};

/**
 * To be done again and again: removes pictures that were put a while ago and are not in use, and what is left
 * of puts. What can't be removed keeps nothing else.
 */
export const sweepArtwork = async (deps: SweepDeps): Promise<void> => {
  const putBefore = deps.clock.now() - keptUnused;
  const works = [() => removeUnused(deps, putBefore), () => deps.artwork.removeUnfinished(putBefore)];
  await attemptAll(works, (work) => work());
};
