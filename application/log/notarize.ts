import { insteadOf } from '../../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { emptyFrontier, grow, rootOf, type Frontier, type Hash } from '../../domain/merkle.js';
import { originOf } from '../../domain/signed-note.js';
import { eventChecker, leavesOf, orgOf, type CheckEvents, type CheckedEvent } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { assertLastHead, ifRestored, isPrefix } from './last-head.js';
import { notNotarized } from './log-entries.js';
import { frontierAt, MissingTiles } from './log-proofs.js';
import {
  assertRoot,
  batchSize,
  endAt,
  knownHeads,
  lastEntriesOf,
  leavesFrom,
  readBack,
  Scrub,
  signedSize,
  type ReadingBack,
} from './scrub.js';
import { RefusedByWitnesses, type Witnesses } from './witnesses.js';
import { ForkedLog, type Checkpoint } from '../ports/log-tiles.js';
import { UnusableHead, type KnownHead } from '../ports/signed-heads.js';
import type { Clock } from '../ports/system.js';

/** The events at the end of a signed tree that were looked at, to learn the numbers of organizations. */
export interface LookedBack {
  readonly size: number;
  readonly root: Hash;
  /** How many events each organization has in the tree, if one of them was looked at. */
  readonly counts: Map<OrganizationId | null, number>;
  /** The tree over the events before them. */
  before: Frontier;
}

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
  /** Kept from one run to the next, so that a failure costs no second look at the same events. */
  readonly lookedBack?: { last: LookedBack | null };
  /** Called with failures outside the log, such as of an anchor. */
  readonly onError?: (error: unknown) => void;
}

const pollInterval: Milliseconds = 500;
/** While events come: a batch costs the same however few they are, and the tree is signed once a second. */
const gathersFor: Milliseconds = 250;
const signInterval: Milliseconds = 1_000;
/** After an anchor that could not be written. */
const anchorPause: Milliseconds = 60_000;
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
      const added = await notary.extend(signal);
      if (clock.monotonic() - signedAt >= signInterval && (await notary.sign(signal)))
        signedAt = clock.monotonic();
      await notary.accompany(signal);
      // A log that is always being written is read back, too: only a notary that lags behind puts it off.
      const isDue = scrub === null && began >= scrubAt;
      if (isDue && added < batchSize && notary.isProven) scrub = await notary.beginScrub();
      if (scrub !== null && (await scrub.step())) {
        await notary.scrubbed(scrub);
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
    while ((await notary.extend(signal)) > 0) onProgress(notary.size);
    await notary.sign(signal);
    return notary.size;
  });

/**
 * Rebuilds the tree from the first event, and compares it with every kept checkpoint. Signs nothing. Throws
 * DamagedLog if one of them differs.
 */
export const rebuildTree = async (
  deps: Omit<Notarizing, 'sign' | 'scrubEvery'>,
  onProgress: (events: number) => void,
): Promise<number> => {
  await deps.tiles.reset();
  return notarizeNow({ ...deps, sign: null, scrubEvery: 0 }, onProgress);
};

/**
 * Damage is written down before it is thrown, so that other processes and the next start know of it. Tiles of
 * which some are missing are removed, so that the next try makes them again.
 */
const recordingDamage = async <T>(
  { tiles, restoreHint }: Pick<Notarizing, 'tiles' | 'restoreHint'>,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof MissingTiles) await tiles.reset();
    const found =
      error instanceof ForkedLog || error instanceof RefusedByWitnesses
        ? new DamagedLog((await tiles.tree()).position, error.message)
        : error;
    if (!(found instanceof DamagedLog)) throw found;
    const { position, reason } = found;
    await tiles.reportDamage({ position, reason }).catch(() => undefined);
    throw new DamagedLog(position, reason, restoreHint);
  }
};

/** The tree over the events up to a position. */
interface Grown extends Frontier {
  readonly position: bigint;
}

/**
 * Lets the tree grow with the log. It signs nothing but its own tree: the last signed one, with a leaf for
 * each event that it has checked since. What else the store holds may come from others, and is compared.
 */
class Notary {
  readonly #check: CheckEvents;
  #anchored = '';
  #anchorsFrom = -Infinity;
  /** How many events of each organization its own tree holds, as far as that is known. */
  readonly #counts = new Map<OrganizationId | null, number>();
  /** From the tree that it began with. */
  readonly #seen: LookedBack;

  private constructor(
    private readonly deps: Notarizing,
    private readonly epoch: number,
    private own: Grown,
    private readonly signed: number,
    /** Checkpoints that the tree has not reached again: it must have their roots to be signed. */
    private unproven: readonly KnownHead[],
    /** Of the name that the log has now. */
    private newest: Checkpoint | null,
    /** From an earlier tree, which is a prefix of its own. */
    private earlier: LookedBack | null,
  ) {
    this.#check = eventChecker(deps.log, deps.macs);
    this.#seen = { size: own.size, root: rootOf(own), counts: new Map(), before: own };
  }

  get size(): number {
    return this.own.size;
  }

  /**
   * Takes the tree over, after it was compared with its tiles and with every checkpoint that is kept. Lost
   * tiles are made again from the events, and compared with the checkpoints on the way.
   */
  static async begin(deps: Notarizing, signal: AbortSignal): Promise<Notary> {
    const { tiles, heads } = deps;
    if (heads !== undefined) await assertLastHead({ ...deps, heads });
    return Notary.#over(deps, signal).catch(async (error: unknown) => {
      if (!(error instanceof MissingTiles)) throw error;
      await tiles.reset();
      return Notary.#over(deps, signal);
    });
  }

  static async #over(deps: Notarizing, signal: AbortSignal): Promise<Notary> {
    const { tiles, heads, sign, witnesses } = deps;
    const tree = await tiles.tree();
    if (!rootOf(await frontierAt(tiles, tree.size)).equals(rootOf(tree)))
      throw new MissingTiles(`the tiles of ${tree.size} events do not give the root of the tree`);
    const known = await knownHeads(deps);
    for (const head of known) if (head.size <= tree.size) await assertRoot(deps, head, known);
    const signed = await signedSize(deps);
    const size = sign === null ? tree.size : Math.min(signed, tree.size);
    const own = { ...(await frontierAt(tiles, size)), position: await endAt(deps, size) };
    const newest = await tiles.newest();
    const last = (await heads?.last()) ?? newest;
    if (last !== null && last.size > 0) await witnesses?.bring(last, signal);
    await tiles.extend(tree.size, [], tree.position, tree.epoch + 1);
    const unproven = known.filter((head) => head.size > size);
    const earlier = await seenBefore(deps, size);
    // Under another name, that of a lost key, it is signed again.
    const isNamed = newest !== null && (sign === null || originOf(sign(newest)) === originOf(newest.note));
    return new Notary(deps, tree.epoch + 1, own, signed, unproven, isNamed ? newest : null, earlier);
  }

  /** Whether the tree has reached every checkpoint that is kept, and has its root. */
  get isProven(): boolean {
    return this.unproven.length === 0;
  }

  /**
   * Makes leaves of the events that follow, a batch at most. Where the tree has leaves for them, of another
   * notary or of one that did not come to sign, they must be the same. Returns how many there were.
   */
  async extend(signal: AbortSignal): Promise<number> {
    const { tiles, log } = this.deps;
    const tree = await tiles.tree();
    const { size, position } = this.own;
    const ahead = Math.min(batchSize, tree.size - size);
    const there = ahead > 0 ? await leavesFrom(tiles, size, ahead) : null;
    const isShort = there !== null && there.hashes.length < ahead;
    if (isShort && (await tiles.tree()).size >= tree.size)
      throw new MissingTiles(`the tiles lack leaves of the ${ahead} events after the first ${size}`);
    if (ahead < 0 || isShort)
      throw new Error('the tree has become smaller: it will be compared with the log again');
    const events = await log.readStored(position, there === null ? batchSize : ahead);
    const last = events.at(-1);
    if (last === undefined) {
      const missing = this.unproven.at(-1);
      if (there !== null)
        throw new DamagedLog(position, `the log ends after ${size} events; the tree has ${tree.size}`);
      if (missing !== undefined)
        throw new DamagedLog(
          position,
          `the log ends after ${size} events; a checkpoint of ${missing.size} was signed ${ifRestored}`,
        );
      return 0;
    }
    const checked = await this.#check(events, this.signed - size).catch(async (error: unknown) => {
      // A break may come from a change further back: if that can be read, it is named.
      if (error instanceof DamagedLog)
        await readBack(this.deps).catch((earlier: unknown) => {
          if (earlier instanceof DamagedLog && earlier.position < error.position) throw earlier;
        });
      throw error;
    });
    if (!(await this.#count(checked, signal))) return 0;
    const leaves = leavesOf(checked, this.#counts);
    const hashes = leaves.map(({ hash }) => hash);
    const wrong = hashes.findIndex((hash, at) => there?.hashes[at]?.equals(hash) === false);
    if (wrong !== -1) throw new DamagedLog(leaves[wrong]?.position ?? position, notNotarized);
    if (there === null && !(await tiles.extend(size, leaves, last.position, this.epoch))) throw superseded();
    this.own = { ...grow(this.own, hashes).frontier, position: last.position };
    await this.#prove();
    return events.length;
  }

  /**
   * Signs the head of the tree if it has grown since. True if it did. The head is kept where the store is not
   * before witnesses are shown it, and they are asked before readers are.
   */
  async sign(signal: AbortSignal): Promise<boolean> {
    const { tiles, sign, clock, heads, witnesses, onCheckpoint } = this.deps;
    if (sign === null || !this.isProven || this.size <= (this.newest?.size ?? 0)) return false;
    const last = await heads?.last();
    const tree = await tiles.tree();
    if (tree.epoch > this.epoch) throw superseded();
    // What another notary has added is checked before it is signed.
    if (tree.size !== this.size || (await tiles.damage()) !== null) return false;
    if (last === null) throw new UnusableHead('LOG_HEAD_FILE no longer holds the head that was signed last.');
    if (last !== undefined && !(await isPrefix(tiles, last, tree)))
      throw new DamagedLog(
        tree.position,
        `the tree of ${tree.size} events does not go on from the head of ${last.size} that was signed last`,
      );
    const head = { size: this.size, root: rootOf(this.own) };
    if (!rootOf(tree).equals(head.root))
      throw new DamagedLog(tree.position, `the tree of ${tree.size} events is not the one that they give`);
    const note = sign(head);
    await heads?.keep(note);
    const cosigned = (await witnesses?.bring({ ...head, note }, signal)) ?? note;
    const checkpoint = { ...head, note: cosigned, at: clock.instant() };
    await tiles.keep(checkpoint);
    this.newest = checkpoint;
    onCheckpoint?.(checkpoint);
    return true;
  }

  /** Brings the newest checkpoint to witnesses that could not be asked, and one an hour to the anchors. */
  async accompany(signal: AbortSignal): Promise<void> {
    const { tiles, clock, witnesses, anchor, onError = () => undefined } = this.deps;
    const newest = this.newest;
    const hour = clock.instant().slice(0, 'YYYY-MM-DDTHH'.length);
    const isAnchored =
      (anchor ?? null) === null || hour === this.#anchored || clock.monotonic() < this.#anchorsFrom;
    const isDue = newest !== null && witnesses?.areDue(newest.size) === true;
    if (newest === null || (isAnchored && !isDue) || !this.isProven || (await tiles.damage()) !== null)
      return;
    if (isDue) {
      const note = (await witnesses?.bring(newest, signal)) ?? newest.note;
      this.newest = { ...newest, note };
      if (note !== newest.note) await tiles.keep(this.newest);
    }
    if (isAnchored) return;
    await anchor?.(newest, hour).then(
      () => (this.#anchored = hour),
      (error: unknown) => {
        this.#anchorsFrom = clock.monotonic() + anchorPause;
        onError(error);
      },
    );
  }

  /** A scrub of all that was checked so far; null if another notary has just added to it. */
  async beginScrub(): Promise<Scrub | null> {
    const scrub = await Scrub.begin(this.deps, true);
    return scrub.size === this.size ? scrub : null;
  }

  /** Takes the counts over that a scrub of every event has found, and clears reported damage. */
  async scrubbed({ size, counts }: Scrub): Promise<void> {
    const { tiles, onScrubbed } = this.deps;
    // Organizations of later events have been counted with them.
    for (const [org, count] of counts) if (!this.#counts.has(org)) this.#seen.counts.set(org, count);
    this.#seen.before = emptyFrontier;
    if ((await tiles.damage()) !== null) await tiles.reportDamage(null);
    onScrubbed?.(size);
  }

  /**
   * Learns how many events of the organizations of these its own tree holds: looks back, tile by tile, for
   * the last leaf of each, which was signed with its number. One that is new has none. False if the signal
   * aborts first.
   */
  async #count(events: readonly CheckedEvent[], signal: AbortSignal): Promise<boolean> {
    const { clock, rest } = this.deps;
    for (const { org, event } of events)
      if (!this.#counts.has(org) && event.revision === 0 && event.stream === `organization-${org}`)
        this.#counts.set(org, 0);
    for (;;) {
      this.#joinEarlier();
      for (const { org } of events) {
        const count = this.#counts.get(org) ?? this.#seen.counts.get(org);
        if (count !== undefined) this.#counts.set(org, count);
      }
      if (this.#seen.before.size === 0 || events.every(({ org }) => this.#counts.has(org))) return true;
      if (signal.aborted) return false;
      const began = clock.monotonic();
      await this.#lookBack();
      // Shorter than after other work: new events wait for it.
      await rest?.((clock.monotonic() - began) / 3, signal);
    }
  }

  async #lookBack(): Promise<void> {
    const { tiles } = this.deps;
    const { counts, before: known } = this.#seen;
    const entries = await lastEntriesOf(this.deps, known.size);
    const before = await frontierAt(tiles, known.size - entries.length);
    const hashes = entries.map(({ hash }) => hash);
    if (!rootOf(grow(before, hashes).frontier).equals(rootOf(known)))
      throw new DamagedLog(
        (await tiles.tree()).position,
        `the tiles of the first ${known.size} events do not give their root`,
      );
    for (const { event, orgSeq } of entries.toReversed()) {
      const org = orgOf(event);
      if (!counts.has(org)) counts.set(org, orgSeq + 1);
    }
    this.#seen.before = before;
  }

  /** Once it has looked back as far as an earlier tree, it has seen what was seen from there, too. */
  #joinEarlier(): void {
    const { earlier, deps } = this;
    const seen = this.#seen;
    if (earlier !== null) {
      if (seen.before.size > earlier.size) return;
      for (const [org, count] of earlier.counts) if (!seen.counts.has(org)) seen.counts.set(org, count);
      if (earlier.before.size < seen.before.size) seen.before = earlier.before;
      this.earlier = null;
    }
    if (deps.lookedBack !== undefined) deps.lookedBack.last = seen;
  }

  async #prove(): Promise<void> {
    for (const checkpoint of this.unproven)
      if (checkpoint.size <= this.size) await assertRoot(this.deps, checkpoint, await this.deps.tiles.kept());
    this.unproven = this.unproven.filter(({ size }) => size > this.size);
  }
}

/** From a tree that is a prefix of the one of this size; null if there is none, or nothing of it was seen. */
const seenBefore = async ({ tiles, lookedBack }: Notarizing, size: number): Promise<LookedBack | null> => {
  const last = lookedBack?.last ?? null;
  if (last === null || last.size > size || last.before.size === last.size) return null;
  const there = await frontierAt(tiles, last.size).catch(insteadOf(MissingTiles, null));
  return there !== null && rootOf(there).equals(last.root) ? last : null;
};

/** Another process is the notary now, or writes to the same tree. */
const superseded = (): Error => new Error('another notary has taken over');
