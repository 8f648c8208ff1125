import type { OrganizationId } from '../../domain/ids.js';
import type { Milliseconds } from '../../domain/ids.js';
import {
  emptyFrontier,
  grow,
  hashesIn,
  rootOf,
  tileWidth,
  type Frontier,
  type Hash,
} from '../../domain/merkle.js';
import { eventChecker, leafOf, leavesOf, type CheckEvents, type CheckedEvent } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { frontierAt, MissingTiles } from './log-proofs.js';
import type { Checkpoint, LogTiles, LogTree } from '../ports/log-tiles.js';
import { ForkedLog } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';
import type { Clock } from '../ports/system.js';

/** The head of the tree at some time, as somebody knows it. */
export interface KnownHead {
  readonly size: number;
  /** Null: only the size is known. */
  readonly root: Hash | null;
}

export interface Notarizing {
  readonly log: RawLog;
  readonly tiles: LogTiles;
  readonly clock: Clock;
  /** Signs the head of the tree: the note of its checkpoint. Null: nothing is signed. */
  readonly sign: ((head: { readonly size: number; readonly root: Hash }) => string) | null;
  /**
   * Heads that are kept elsewhere: anchors, witnesses. Asked when the notary begins, and before each scrub.
   */
  readonly knownElsewhere?: (() => Promise<readonly KnownHead[]>) | undefined;
  /** From the end of one scrub to the beginning of the next. */
  readonly scrubEvery: Milliseconds;
  /** What the message of a damaged log says is to be restored. */
  readonly restore: string;
  /** Hears of each checkpoint once it is kept. */
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void;
  /** Hears when every event was found as it was written, and how many there were. */
  readonly onScrubbed?: (events: number) => void;
  /** Rests after a piece of work that took so long, so that whoever answers requests goes first. */
  readonly rest?: (worked: Milliseconds, signal: AbortSignal) => Promise<void>;
  readonly onError?: (error: unknown) => void;
}

const notNotarized = 'it is not the event that was notarized';
const batchSize = 500;
const lookEvery: Milliseconds = 500;
/** While events come: a batch costs the same however few they are, and the tree is signed once a second. */
const gathersFor: Milliseconds = 250;
const signEvery: Milliseconds = 1_000;

/**
 * Notarizes the log until the signal aborts: makes each event a leaf of the tree, signs the tree's head at
 * most once a second, and reads every event back against its leaf, once after the start and then every
 * `scrubEvery`. Nothing is signed that is not durable, that contradicts a checkpoint that is kept, or while
 * the log is known to be damaged. Throws DamagedLog, after it has said so in the tiles; other errors are for
 * another try.
 */
export const runNotary = async (deps: Notarizing, signal: AbortSignal): Promise<void> => {
  const { clock, scrubEvery, rest = async () => undefined } = deps;
  await recordingDamage(deps, async () => {
    const notary = await Notary.begin(deps);
    let signedAt = -Infinity;
    let scrub: Scrub | null = null;
    let scrubAt = clock.monotonic();
    while (!signal.aborted) {
      const began = clock.monotonic();
      const added = await notary.extend();
      if (clock.monotonic() - signedAt >= signEvery && (await notary.sign())) signedAt = clock.monotonic();
      // A log that is always being written is read back, too: only who lags behind puts it off.
      const isDue = scrub === null && began >= scrubAt;
      if (isDue && added < batchSize && notary.isProven) scrub = await Scrub.begin(deps);
      if (scrub !== null && (await scrub.step())) {
        await notary.scrubbed(scrub.size);
        scrub = null;
        scrubAt = clock.monotonic() + scrubEvery;
      }
      if (added === batchSize || scrub !== null) await rest(clock.monotonic() - began, signal);
      else await clock.sleep(added > 0 ? gathersFor : lookEvery, signal);
    }
    await notary.sign();
  });
};

/** Notarizes what the log holds now, and signs it. Throws DamagedLog. */
export const notarizeNow = (deps: Notarizing, onProgress: (events: number) => void = () => undefined) =>
  recordingDamage(deps, async () => {
    const notary = await Notary.begin(deps);
    while ((await notary.extend()) > 0) onProgress(notary.size);
    await notary.sign();
    return notary.size;
  });

/**
 * Reads every event back against its leaf. Throws DamagedLog with the first that is not as it was written.
 */
export const scrubNow = (deps: Notarizing, onProgress: (events: number) => void = () => undefined) =>
  recordingDamage(deps, async () => {
    const scrub = await Scrub.begin(deps);
    while (!(await scrub.step())) onProgress(scrub.checked);
    await deps.tiles.reportDamage(null);
    return scrub.size;
  });

/**
 * Makes the tree again from the first event, and compares it with every checkpoint that is kept. Signs
 * nothing. Throws DamagedLog if one of them says otherwise.
 */
export const rebuildTree = async (
  deps: Notarizing,
  onProgress: (events: number) => void,
): Promise<number> => {
  await deps.tiles.reset();
  return notarizeNow({ ...deps, sign: null }, onProgress);
};

/** Damage is written down before it is thrown, so that other processes and the next start know of it. */
const recordingDamage = async <T>(
  { tiles, restore }: Pick<Notarizing, 'tiles' | 'restore'>,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const found =
      error instanceof ForkedLog || error instanceof MissingTiles
        ? new DamagedLog((await tiles.tree()).position, error.message)
        : error;
    if (!(found instanceof DamagedLog)) throw found;
    const { position, reason } = found;
    await tiles.reportDamage({ position, reason }).catch(() => undefined);
    throw new DamagedLog(position, reason, restore);
  }
};

/** Every head of the tree that is kept, here or elsewhere, the smallest size first. */
const knownHeads = async ({ tiles, knownElsewhere }: Notarizing): Promise<readonly KnownHead[]> => {
  const elsewhere = knownElsewhere === undefined ? [] : await knownElsewhere();
  return [...(await tiles.kept()), ...elsewhere].toSorted((one, other) => one.size - other.size);
};

/** Lets the tree grow with the log. */
class Notary {
  readonly #deps: Notarizing;
  readonly #check: CheckEvents;
  readonly #epoch: number;
  /**
   * Checkpoints that the tree has not reached again. Nothing is signed before it has, and has their roots.
   */
  #unproven: readonly KnownHead[];
  #signed: number;
  size: number;

  private constructor(deps: Notarizing, tree: LogTree, unproven: readonly KnownHead[], signed: number) {
    this.#deps = deps;
    this.#check = eventChecker(deps.log);
    this.#epoch = tree.epoch + 1;
    this.#unproven = unproven;
    this.#signed = signed;
    this.size = tree.size;
  }

  /** Takes the tree over, after it was compared with its tiles and with every checkpoint that is kept. */
  static async begin(deps: Notarizing): Promise<Notary> {
    const { tiles } = deps;
    let tree = await tiles.tree();
    const fromTiles = await frontierAt(tiles, tree.size).catch((error: unknown) => {
      if (error instanceof MissingTiles) return null;
      throw error;
    });
    // Lost tiles are made again from the events, and compared with the checkpoints on the way.
    if (fromTiles === null || !rootOf(fromTiles).equals(rootOf(tree))) {
      await tiles.reset();
      tree = await tiles.tree();
    }
    const known = await knownHeads(deps);
    for (const head of known) if (head.size <= tree.size) await assertRoot(deps, head, known);
    await assertEnd(deps, tree);
    await tiles.extend(tree.size, [], tree.position, tree.epoch + 1);
    return new Notary(
      deps,
      tree,
      known.filter(({ size }) => size > tree.size),
      (await tiles.newest())?.size ?? 0,
    );
  }

  /** Whether the tree has reached every checkpoint that is kept, and has its root. */
  get isProven(): boolean {
    return this.#unproven.length === 0;
  }

  /** Makes leaves of the events that follow, a batch at most. Returns how many there were. */
  async extend(): Promise<number> {
    const { tiles, log } = this.#deps;
    const tree = await tiles.tree();
    const events = await log.readStored(tree.position, batchSize);
    const last = events.at(-1);
    if (last === undefined) {
      const [missing] = this.#unproven;
      if (missing !== undefined)
        throw new DamagedLog(
          tree.position + 1n,
          `the log ends after ${tree.size} events; a checkpoint of ${this.#unproven.at(-1)?.size ?? missing.size} was signed`,
        );
      return 0;
    }
    const checked = await this.#check(events).catch(async (error: unknown) => {
      // What doesn't follow may follow from a change further back: if that can be read, it is named.
      if (error instanceof DamagedLog)
        await readBack(this.#deps).catch((earlier: unknown) => {
          if (earlier instanceof DamagedLog && earlier.position < error.position) throw earlier;
        });
      throw error;
    });
    const leaves = leavesOf(checked, await countsBefore(tiles, checked));
    if (!(await tiles.extend(tree.size, leaves, last.position, this.#epoch))) {
      const now = await tiles.tree();
      if (now.epoch > this.#epoch) throw new Superseded();
      return events.length;
    }
    this.size = tree.size + leaves.length;
    await this.#prove();
    return events.length;
  }

  /** Signs the head of the tree if it has grown since. True if it did. */
  async sign(): Promise<boolean> {
    const { tiles, sign, clock, onCheckpoint } = this.#deps;
    if (sign === null || !this.isProven || this.size <= this.#signed) return false;
    const tree = await tiles.tree();
    if (tree.epoch > this.#epoch) throw new Superseded();
    if ((await tiles.damage()) !== null) return false;
    const root = rootOf(tree);
    const checkpoint = { size: tree.size, root, note: sign({ size: tree.size, root }), at: clock.instant() };
    await tiles.keep(checkpoint);
    this.#signed = tree.size;
    onCheckpoint?.(checkpoint);
    return true;
  }

  /** After every event was found as it was written: what was said about damage no longer holds. */
  async scrubbed(events: number): Promise<void> {
    const { tiles, onScrubbed } = this.#deps;
    if ((await tiles.damage()) !== null) await tiles.reportDamage(null);
    onScrubbed?.(events);
  }

  async #prove(): Promise<void> {
    for (const checkpoint of this.#unproven)
      if (checkpoint.size <= this.size)
        await assertRoot(this.#deps, checkpoint, await this.#deps.tiles.kept());
    this.#unproven = this.#unproven.filter(({ size }) => size > this.size);
  }
}

/** Another process is the notary now. */
class Superseded extends Error {
  constructor() {
    super('another notary has taken over');
  }
}

const countsBefore = async (
  tiles: LogTiles,
  events: readonly CheckedEvent[],
): Promise<Map<OrganizationId | null, number>> =>
  new Map(await tiles.counts([...new Set(events.map(({ org }) => org))]));

/** Throws DamagedLog if the tree that a checkpoint was signed for is not the tree of today. */
const assertRoot = async (
  { tiles, log }: Pick<Notarizing, 'tiles' | 'log'>,
  { size, root }: KnownHead,
  known: readonly KnownHead[],
): Promise<void> => {
  if (root === null || rootOf(await frontierAt(tiles, size)).equals(root)) return;
  const before = known.filter((each) => each.size < size).at(-1)?.size ?? 0;
  throw new DamagedLog(
    await positionOf(tiles, log, before),
    `the first ${size} events do not give the root that was signed for them; those up to ${before} do`,
  );
};

/**
 * The events that the last leaves stand for are where they were: before the log goes on, what follows must be
 * new. Where they are not, the whole log is read back, to name the first event that is wrong. Throws
 * DamagedLog.
 */
const assertEnd = async (deps: Notarizing, { size }: LogTree): Promise<void> => {
  if (size === 0) return;
  const { tiles, log } = deps;
  const tile = await tiles.leaves(Math.floor((size - 1) / tileWidth));
  const count = ((size - 1) % tileWidth) + 1;
  const events = tile === null ? [] : await log.readStored(tile.after, count).catch(noneIfDamaged);
  const isThere = (leaf: Hash, at: number): boolean => {
    const event = events[at];
    return event !== undefined && leafOf(event, tile?.orgSeqs[at] ?? 0)?.equals(leaf) === true;
  };
  if (tile?.hashes.slice(0, count).every(isThere) === true) return;
  await readBack(deps);
};

/** Throws DamagedLog with the first event that is not as it was notarized. */
const readBack = async (deps: Notarizing): Promise<void> => {
  const scrub = await Scrub.begin(deps);
  while (!(await scrub.step()));
};

const noneIfDamaged = (error: unknown): readonly StoredEvent[] => {
  if (error instanceof DamagedLog) return [];
  throw error;
};

/** The position of the event that a leaf stands for. */
const positionOf = async (tiles: LogTiles, log: RawLog, index: number): Promise<bigint> => {
  const tile = await tiles.leaves(Math.floor(index / tileWidth));
  const events = await log.readStored(tile?.after ?? 0n, (index % tileWidth) + 1);
  return events.at(-1)?.position ?? 0n;
};

/**
 * Reads the log back from its first event on, and compares each with its leaf, and the tree with its tiles.
 */
class Scrub {
  readonly #deps: Notarizing;
  readonly #check: CheckEvents;
  readonly #counts = new Map<OrganizationId | null, number>();
  readonly #known: readonly KnownHead[];
  readonly #tree: LogTree;
  #frontier: Frontier = emptyFrontier;
  #position = 0n;

  private constructor(deps: Notarizing, tree: LogTree, known: readonly KnownHead[]) {
    this.#deps = deps;
    this.#check = eventChecker(deps.log);
    this.#tree = tree;
    this.#known = known;
  }

  static async begin(deps: Notarizing): Promise<Scrub> {
    return new Scrub(deps, await deps.tiles.tree(), await knownHeads(deps));
  }

  get size(): number {
    return this.#tree.size;
  }

  get checked(): number {
    return this.#frontier.size;
  }

  /** Reads one batch back. True when all that was notarized at the beginning has been read. */
  async step(): Promise<boolean> {
    const { log, tiles } = this.#deps;
    const { size } = this.#tree;
    const { size: from } = this.#frontier;
    if (from < size) {
      const events = await log.readStored(this.#position, Math.min(batchSize, size - from));
      const last = events.at(-1);
      if (last === undefined)
        throw new DamagedLog(
          this.#position + 1n,
          `the log ends after ${from} events; ${size} were notarized`,
        );
      const checked = await this.#check(events).catch(async (error: unknown) => {
        if (!(error instanceof DamagedLog)) throw error;
        const first = await this.#firstWrong(events).catch(() => null);
        if (first === null || first >= error.position) throw error;
        throw new DamagedLog(first, notNotarized);
      });
      const leaves = leavesOf(checked, this.#counts);
      const { frontier, levels } = grow(
        this.#frontier,
        leaves.map(({ hash }) => hash),
      );
      for (const [level, { from: start, hashes }] of levels.entries()) {
        const kept = hashesIn(await tiles.hashes(level, start, hashes.length));
        const wrong = hashes.findIndex((hash, at) => kept[at]?.equals(hash) !== true);
        if (wrong === -1) continue;
        const position = level === 0 ? leaves[wrong]?.position : leaves[0]?.position;
        throw new DamagedLog(position ?? 0n, notNotarized);
      }
      for (const head of this.#known)
        if (head.size > from && head.size <= frontier.size) await assertRoot(this.#deps, head, this.#known);
      this.#frontier = frontier;
      this.#position = last.position;
    }
    if (this.#frontier.size < size) return false;
    if (!rootOf(this.#frontier).equals(rootOf(this.#tree)))
      throw new DamagedLog(this.#position, 'the events do not give the root of the tree');
    return true;
  }

  /** Where the first of these events stands that is not, as it says itself, what its leaf stands for. */
  async #firstWrong(events: readonly StoredEvent[]): Promise<bigint | null> {
    let tile: Awaited<ReturnType<LogTiles['leaves']>> = null;
    for (const [at, event] of events.entries()) {
      const index = this.#frontier.size + at;
      const place = index % tileWidth;
      if (at === 0 || place === 0) tile = await this.#deps.tiles.leaves(Math.floor(index / tileWidth));
      const leaf = tile?.hashes[place];
      if (leaf === undefined || leafOf(event, tile?.orgSeqs[place] ?? 0)?.equals(leaf) !== true)
        return event.position;
    }
    return null;
  }
}
