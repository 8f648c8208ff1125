import type { ArtworkDigest } from '../../domain/artwork.js';
import type { Milliseconds } from '../../domain/ids.js';
import { collectionCards } from '../../projections/collection-cards.js';
import { organizations } from '../../projections/organizations.js';
import type { Projection } from '../../projections/projection.js';
import type { Artwork } from '../ports/artwork.js';
import { pagesOf, type ReadModels } from '../ports/read-models.js';
import type { Clock } from '../ports/system.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { nextTurn } from '../timing/next-turn.js';
import { waitsFor } from './fronts.js';

interface SweepDeps {
  readonly artwork: Artwork;
  readonly readModels: Pick<ReadModels, 'page'>;
  readonly readYourWrites: Pick<ReadYourWrites, 'beforeRead' | 'rowsMayBeLate'>;
  readonly clock: Clock;
}

/** A picture waits to be saved for that long, and then its event may take a moment. */
const keptUnused: Milliseconds = waitsFor + 5 * 60 * 1000;
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

/**
 * A sweep, to be done again and again: removes pictures that were put a while ago and that neither this sweep
 * nor the one before it has found in use.
 */
export const artworkSweep = (deps: SweepDeps): (() => Promise<void>) => {
  const { artwork, clock } = deps;
  let unusedBefore: ReadonlySet<ArtworkDigest> = new Set();
  return async () => {
    const putBefore = clock.now() - keptUnused;
    await artwork.removeUnfinished(putBefore);
    const old: ArtworkDigest[] = [];
    for await (const { digest, putAt } of artwork.list()) if (putAt < putBefore) old.push(digest);
    const used = old.length === 0 ? new Set<ArtworkDigest>() : await usedFronts(deps);
    if (used === null) return;
    const unused = old.filter((digest) => !used.has(digest));
    for (const digest of unused) if (unusedBefore.has(digest)) await artwork.remove(digest, putBefore);
    unusedBefore = new Set(unused);
  };
};
