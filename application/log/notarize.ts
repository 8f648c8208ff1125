import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { rootOf, type Hash } from '../../domain/merkle.js';
import { eventChecker, leavesOf, type CheckEvents, type CheckedEvent } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { assertLastHead, ifRestored, isPrefix } from './last-head.js';
import { frontierAt, MissingTiles } from './log-proofs.js';
import { assertEnd, assertRoot, batchSize, knownHeads, readBack, Scrub, type ReadingBack } from './scrub.js';
import { RefusedByWitnesses, type Witnesses } from './witnesses.js';
import { ForkedLog, type Checkpoint, type LogTiles, type LogTree } from '../ports/log-tiles.js';
import { UnusableHead, type KnownHead } from '../ports/signed-heads.js';
import type { Clock } from '../ports/system.js';

export interface Notarizing extends ReadingBack {
  readonly clock: Clock;
  /** Signs the head of the tree: the note of its checkpoint. Null: nothing is signed. */
  readonly sign: ((head: { readonly size: number; readonly root: Hash }) => string) | null;
  /** Asked for their signatures before a checkpoint is kept, and when the notary begins. */
  readonly witnesses?: Pick<Witnesses, 'bring' | 'areDue'> | null | undefined;
  /** Keeps a checkpoint elsewhere, under the hour; once an hour is enough, and again does no harm. */
  readonly anchor?: ((checkpoint: Checkpoint, hour: string) => Promise<void>) | null | undefined;
  /** From the end of one scrub to the beginning of the next. */
  readonly scrubEvery: Milliseconds;
  /** Tells the operator, in the error message, what to restore. */
  readonly restoreHint: string;
  /** Called with each checkpoint once it is kept. */
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void;
  /** Called with the number of events when all of them were found unchanged. */
  readonly onScrubbed?: (events: number) => void;
  /** Rests after a piece of work that took so long, so that requests on the same thread go first. */
  readonly rest?: (worked: Milliseconds, signal: AbortSignal) => Promise<void>;
  /** Called with failures outside the log, such as of an anchor. */
  readonly onError?: (error: unknown) => void;
}

const pollInterval: Milliseconds = 500;
/** While events come: a batch costs the same however few they are, and the tree is signed once a second. */
const gathersFor: Milliseconds = 250;
const signInterval: Milliseconds = 1_000;
/** How long a stopping process waits for witnesses. */
const lastSignature: Milliseconds = 1_000;

/**
 * Notarizes the log until the signal aborts: makes each event a leaf of the tree, signs the tree's head at
 * most once a second, and reads every event back against its leaf, once after the start and then every
 * `scrubEvery`. Nothing is signed that is not durable, that contradicts a head that is kept, or while the log
 * is known to be damaged; nothing is published that witnesses refuse. Throws UnusableHead, and DamagedLog,
 * after it has said so in the tiles; other errors are for another try.
 */
export const runNotary = async (deps: Notarizing, signal: AbortSignal): Promise<void> => {
  const { clock, scrubEvery, rest = async () => undefined } = deps;
  await recordingDamage(deps, async () => {
    const notary = await Notary.begin(deps, signal);
    let signedAt = -Infinity;
    let scrub: Scrub | null = null;
    let scrubAt = clock.monotonic();
    while (!signal.aborted) {
      const began = clock.monotonic();
      const added = await notary.extend();
      if (clock.monotonic() - signedAt >= signInterval && (await notary.sign(signal)))
        signedAt = clock.monotonic();
      await notary.accompany(signal);
      // A log that is always being written is read back, too: only a notary that lags behind puts it off.
      const isDue = scrub === null && began >= scrubAt;
      if (isDue && added < batchSize && notary.isProven) scrub = await Scrub.begin(deps);
      if (scrub !== null && (await scrub.step())) {
        await notary.scrubbed(scrub.size);
        scrub = null;
        scrubAt = clock.monotonic() + scrubEvery;
      }
      if (added === batchSize || scrub !== null) await rest(clock.monotonic() - began, signal);
      else await clock.sleep(added > 0 ? gathersFor : pollInterval, signal);
    }
    await notary.sign(AbortSignal.timeout(lastSignature));
  });
};

/** Notarizes and signs the log as it is now. Throws DamagedLog. */
export const notarizeNow = (deps: Notarizing, onProgress: (events: number) => void = () => undefined) =>
  recordingDamage(deps, async () => {
    const { signal } = new AbortController();
    const notary = await Notary.begin(deps, signal);
    while ((await notary.extend()) > 0) onProgress(notary.size);
    await notary.sign(signal);
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
 * Rebuilds the tree from the first event, and compares it with every kept checkpoint. Signs nothing. Throws
 * DamagedLog if one of them differs.
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
  { tiles, restoreHint }: Pick<Notarizing, 'tiles' | 'restoreHint'>,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const found =
      error instanceof ForkedLog || error instanceof MissingTiles || error instanceof RefusedByWitnesses
        ? new DamagedLog((await tiles.tree()).position, error.message)
        : error;
    if (!(found instanceof DamagedLog)) throw found;
    const { position, reason } = found;
    await tiles.reportDamage({ position, reason }).catch(() => undefined);
    throw new DamagedLog(position, reason, restoreHint);
  }
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
  #newest: Checkpoint | null;
  #anchored = '';
  size: number;

  private constructor(
    deps: Notarizing,
    tree: LogTree,
    unproven: readonly KnownHead[],
    newest: Checkpoint | null,
  ) {
    this.#deps = deps;
    this.#check = eventChecker(deps.log, deps.macs);
    this.#epoch = tree.epoch + 1;
    this.#unproven = unproven;
    this.#newest = newest;
    this.size = tree.size;
  }

  /** Takes the tree over, after it was compared with its tiles and with every checkpoint that is kept. */
  static async begin(deps: Notarizing, signal: AbortSignal): Promise<Notary> {
    const { tiles, heads, witnesses } = deps;
    if (heads !== undefined) await assertLastHead({ ...deps, heads });
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
    const newest = await tiles.newest();
    const last = (await heads?.last()) ?? newest;
    if (last !== null && last.size > 0) await witnesses?.bring(last, signal);
    await tiles.extend(tree.size, [], tree.position, tree.epoch + 1);
    return new Notary(
      deps,
      tree,
      known.filter(({ size }) => size > tree.size),
      newest,
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
    if (tree.size < this.size)
      throw new Error('the tree has become smaller: it will be compared with the log again');
    const events = await log.readStored(tree.position, batchSize);
    const last = events.at(-1);
    if (last === undefined) {
      // Another notary may have added the leaves that this one expected.
      this.size = Math.max(this.size, tree.size);
      await this.#prove();
      const missing = this.#unproven.at(-1);
      if (missing !== undefined)
        throw new DamagedLog(
          tree.position,
          `the log ends after ${tree.size} events; a checkpoint of ${missing.size} was signed ${ifRestored}`,
        );
      return 0;
    }
    const signed = this.#unproven.findLast(({ root }) => root !== null)?.size ?? 0;
    const checked = await this.#check(events, signed - tree.size).catch(async (error: unknown) => {
      // A break may come from a change further back: if that can be read, it is named.
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

  /**
   * Signs the head of the tree if it has grown since. True if it did. The head is kept where the store is not
   * before witnesses are shown it, and they are asked before readers are.
   */
  async sign(signal: AbortSignal): Promise<boolean> {
    const { tiles, sign, clock, heads, witnesses, onCheckpoint } = this.#deps;
    if (sign === null || !this.isProven || this.size <= (this.#newest?.size ?? 0)) return false;
    const last = await heads?.last();
    const tree = await tiles.tree();
    if (tree.epoch > this.#epoch) throw new Superseded();
    if ((await tiles.damage()) !== null) return false;
    if (last === null) throw new UnusableHead('LOG_HEAD_FILE no longer holds the head that was signed last.');
    if (last !== undefined && !(await isPrefix(tiles, last, tree)))
      throw new DamagedLog(
        tree.position,
        `the tree of ${tree.size} events does not go on from the head of ${last.size} that was signed last`,
      );
    const head = { size: tree.size, root: rootOf(tree) };
    const note = sign(head);
    await heads?.keep(note);
    const cosigned = (await witnesses?.bring({ ...head, note }, signal)) ?? note;
    const checkpoint = { ...head, note: cosigned, at: clock.instant() };
    await tiles.keep(checkpoint);
    this.#newest = checkpoint;
    onCheckpoint?.(checkpoint);
    return true;
  }

  /** Brings the newest checkpoint to witnesses that could not be asked, and one an hour to the anchors. */
  async accompany(signal: AbortSignal): Promise<void> {
    const { tiles, clock, witnesses, anchor, onError = () => undefined } = this.#deps;
    const newest = this.#newest;
    const hour = clock.instant().slice(0, 'YYYY-MM-DDTHH'.length);
    const isAnchored = (anchor ?? null) === null || hour === this.#anchored;
    const isDue = newest !== null && witnesses?.areDue(newest.size) === true;
    if (newest === null || (isAnchored && !isDue) || !this.isProven || (await tiles.damage()) !== null)
      return;
    if (isDue) {
      const note = (await witnesses?.bring(newest, signal)) ?? newest.note;
      this.#newest = { ...newest, note };
      if (note !== newest.note) await tiles.keep(this.#newest);
    }
    if (isAnchored) return;
    await anchor?.(newest, hour).then(() => (this.#anchored = hour), onError);
  }

  /** Clears reported damage after every event was found unchanged. */
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
