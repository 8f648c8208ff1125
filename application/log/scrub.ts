import type { EventMacs } from '../../domain/event-mac.js';
import type { OrganizationId } from '../../domain/ids.js';
import { emptyFrontier, grow, hashesIn, rootOf, tileWidth, type Frontier } from '../../domain/merkle.js';
import { eventChecker, leafOf, leavesOf, type CheckEvents } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { ifRestored } from './last-head.js';
import { entriesIn, notNotarized, type Entry } from './log-entries.js';
import { frontierAt, MissingTiles } from './log-proofs.js';
import type { LeafTile, LogTiles, LogTree } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';
import type { KnownHead, SignedHeads } from '../ports/signed-heads.js';

export interface ReadingBack {
  readonly log: RawLog;
  readonly tiles: LogTiles;
  /** Verifies the authors of events: nothing is signed that another program wrote. */
  readonly macs: Pick<EventMacs, 'verifies'>;
  /** Where the last signed head is kept. Absent: nowhere but in the tiles. */
  readonly heads?: SignedHeads | undefined;
  /** Heads that are kept elsewhere, such as anchors. Asked when the notary begins, and before each scrub. */
  readonly knownElsewhere?: (() => Promise<readonly KnownHead[]>) | undefined;
}

export const batchSize = 500;

/** Every head of the tree that is kept, here or elsewhere, the smallest size first. */
export const knownHeads = async (deps: ReadingBack): Promise<readonly KnownHead[]> => {
  const { tiles, heads, knownElsewhere } = deps;
  const elsewhere = knownElsewhere === undefined ? [] : await knownElsewhere();
  const last = (await heads?.last()) ?? null;
  const known = [...(await tiles.kept()), ...elsewhere, ...(last === null ? [] : [last])];
  return known.toSorted((one, other) => one.size - other.size);
};

/** How many events the head covers that was signed last. */
export const signedSize = async ({ tiles, heads }: ReadingBack): Promise<number> =>
  ((await heads?.last()) ?? (await tiles.newest()))?.size ?? 0;

/** Throws DamagedLog if the tree that a checkpoint was signed for is not the tree of today. */
export const assertRoot = async (
  { tiles, log }: ReadingBack,
  { size, root }: KnownHead,
  known: readonly KnownHead[],
): Promise<void> => {
  if (rootOf(await frontierAt(tiles, size)).equals(root)) return;
  const before = known.filter((each) => each.size < size).at(-1)?.size ?? 0;
  throw new DamagedLog(
    await positionOf(tiles, log, before),
    `the first ${size} events do not give the root that was signed for them; those up to ${before} do ${ifRestored}`,
  );
};

/**
 * Of the first `size` events of the tree, those in its last tile. If an event is not that of its leaf, the
 * whole log is read back, to name the first wrong one. Throws DamagedLog and MissingTiles.
 */
export const lastEntriesOf = async (deps: ReadingBack, size: number): Promise<readonly Entry[]> => {
  const { tiles, log: raw } = deps;
  const n = Math.floor((size - 1) / tileWidth);
  const count = size - n * tileWidth;
  const entries = await entriesIn({ tiles, raw }, n, count).catch(async (error: unknown) => {
    if (!(error instanceof DamagedLog)) throw error;
    await readBack(deps);
    throw new DamagedLog(error.position, `the tiles do not say where the first ${size} events end`);
  });
  if (entries.length < count)
    throw new MissingTiles(`the tile ${n} of the log's leaves is missing, or is too short`);
  return entries;
};

/** The position of the last of the first `size` events of the tree. Throws DamagedLog and MissingTiles. */
export const endAt = async (deps: ReadingBack, size: number): Promise<bigint> =>
  (size === 0 ? null : (await lastEntriesOf(deps, size)).at(-1))?.event.position ?? 0n;

/** The leaves of the tree from an index on. Fewer if they are not there. */
export const leavesFrom = async (
  tiles: LogTiles,
  from: number,
  count: number,
): Promise<Pick<LeafTile, 'hashes' | 'orgSeqs'>> => {
  const first = Math.floor(from / tileWidth);
  const numbers = Array.from(
    { length: Math.ceil((from + count) / tileWidth) - first },
    (_, at) => first + at,
  );
  const found = await Promise.all(numbers.map((n) => tiles.leaves(n)));
  const start = from - first * tileWidth;
  return {
    hashes: found.flatMap((tile) => tile?.hashes ?? []).slice(start, start + count),
    orgSeqs: found.flatMap((tile) => tile?.orgSeqs ?? []).slice(start, start + count),
  };
};

/** Throws DamagedLog with the first event that is not as it was notarized, and MissingTiles. */
export const readBack = async (deps: ReadingBack): Promise<void> => {
  const scrub = await Scrub.begin(deps, false);
  while (!(await scrub.step()));
};

/** The position of a leaf's event. */
const positionOf = async (tiles: LogTiles, log: RawLog, index: number): Promise<bigint> => {
  const tile = await tiles.leaves(Math.floor(index / tileWidth));
  const events = await log.readStored(tile?.after ?? 0n, (index % tileWidth) + 1);
  return events.at(-1)?.position ?? 0n;
};

/**
 * Reads the log back from its first event on, and compares each with its leaf, and the tree with its tiles.
 */
export class Scrub {
  readonly #check: CheckEvents;
  #frontier: Frontier = emptyFrontier;
  #position = 0n;
  /** How many events of each organization were read. */
  readonly counts = new Map<OrganizationId | null, number>();

  private constructor(
    private readonly deps: ReadingBack,
    private readonly tree: LogTree,
    private readonly known: readonly KnownHead[],
    /** So many events were signed with the log's key; MACs of retired keys count in these alone. */
    private readonly signed: number,
  ) {
    this.#check = eventChecker(deps.log, deps.macs);
  }

  /**
   * `isProven`: the tree is not being rebuilt. Throws DamagedLog if such a one has not come as far as a head
   * that is known.
   */
  static async begin(deps: ReadingBack, isProven: boolean): Promise<Scrub> {
    const known = await knownHeads(deps);
    const tree = await deps.tiles.tree();
    const longest = known.at(-1)?.size ?? 0;
    if (isProven && longest > tree.size)
      throw new DamagedLog(
        tree.position,
        `the tree holds ${tree.size} events; a head of ${longest} was signed ${ifRestored}`,
      );
    return new Scrub(deps, tree, known, await signedSize(deps));
  }

  get size(): number {
    return this.tree.size;
  }

  /** Reads one batch back. True when all that was notarized at the beginning has been read. */
  async step(): Promise<boolean> {
    return this.#step().catch(async (error: unknown) => {
      // Another notary makes them again.
      if ((await this.deps.tiles.tree()).size < this.tree.size)
        throw new Error('the tree has become smaller: it will be compared with the log again');
      throw error;
    });
  }

  async #step(): Promise<boolean> {
    const { log, tiles } = this.deps;
    const { size } = this.tree;
    const { size: from } = this.#frontier;
    if (from < size) {
      const events = await log.readStored(this.#position, Math.min(batchSize, size - from));
      const last = events.at(-1);
      if (last === undefined)
        throw new DamagedLog(this.#position, `the log ends after ${from} events; ${size} were notarized`);
      const checked = await this.#check(events, this.signed - from).catch(async (error: unknown) => {
        if (!(error instanceof DamagedLog)) throw error;
        const first = await this.#firstWrong(events).catch(() => null);
        if (first === null || first >= error.position) throw error;
        throw new DamagedLog(first, notNotarized);
      });
      const leaves = leavesOf(checked, this.counts);
      const { frontier, levels } = grow(
        this.#frontier,
        leaves.map(({ hash }) => hash),
      );
      for (const [level, { from: start, hashes }] of levels.entries()) {
        const kept = hashesIn(await tiles.hashes(level, start, hashes.length));
        if (kept.length < hashes.length)
          throw new MissingTiles(`level ${level} of the log's tiles lacks hashes from ${start} on`);
        const wrong = hashes.findIndex((hash, at) => kept[at]?.equals(hash) !== true);
        if (wrong === -1) continue;
        const position = level === 0 ? leaves[wrong]?.position : leaves[0]?.position;
        throw new DamagedLog(position ?? 0n, notNotarized);
      }
      for (const head of this.known)
        if (head.size > from && head.size <= frontier.size) await assertRoot(this.deps, head, this.known);
      this.#frontier = frontier;
      this.#position = last.position;
    }
    if (this.#frontier.size < size) return false;
    if (!rootOf(this.#frontier).equals(rootOf(this.tree)))
      throw new DamagedLog(this.#position, 'the events do not give the root of the tree');
    return true;
  }

  /** The position of the first of these events that differs from its leaf. */
  async #firstWrong(events: readonly StoredEvent[]): Promise<bigint | null> {
    const { hashes, orgSeqs } = await leavesFrom(this.deps.tiles, this.#frontier.size, events.length);
    const wrong = events.find((event, at) => {
      const leaf = hashes[at];
      return leaf === undefined || leafOf(event, orgSeqs[at] ?? 0)?.equals(leaf) !== true;
    });
    return wrong?.position ?? null;
  }
}
