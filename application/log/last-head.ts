import { insteadOf } from '../../domain/errors.js';
import type { EventMetadata } from '../../domain/events.js';
import type { Milliseconds } from '../../domain/ids.js';
import { emptyFrontier, rootOf, verifyConsistency, type Frontier, type Hash } from '../../domain/merkle.js';
import { DamagedLog } from './damaged-log.js';
import { consistencyProof, MissingTiles } from './log-proofs.js';
import type { Checkpoint, LogDamage, LogTiles } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';
import { UnusableHead, type SignedHead, type SignedHeads } from '../ports/signed-heads.js';

/** Whether the head is that of a prefix of the tree. Throws MissingTiles. */
export const isPrefix = async (
  tiles: Pick<LogTiles, 'hashes'>,
  head: Pick<SignedHead, 'size' | 'root'>,
  tree: Frontier,
): Promise<boolean> =>
  head.size <= tree.size &&
  verifyConsistency(
    head,
    { size: tree.size, root: rootOf(tree) },
    await consistencyProof(tiles, head.size, tree.size),
  );

/** Advice for a person who has restored an older copy on purpose. */
export const ifRestored = '(was an older copy put back on purpose? Then say so: log accept-restore)';

const missing = (place: string, what: string): UnusableHead =>
  new UnusableHead(
    `${place} is missing, the head of the log that was signed last, but ${what}. Restore it, or lead LOG_HEAD_FILE to where it is: every notary needs the same one. Where it is lost, or the log is to be signed from now on: log accept-restore --begin-anew (docs/incidents.md, "The log was restored").`,
  );

interface Signed {
  readonly log: Pick<RawLog, 'readStored'>;
  readonly tiles: Pick<LogTiles, 'newest'>;
  readonly heads: SignedHeads;
  readonly sign: ((head: { readonly size: number; readonly root: Hash }) => string) | null;
}

/** The newest checkpoint that is kept. Throws UnusableHead if no key of the log has signed it. */
export const ownNewest = async (
  tiles: Pick<LogTiles, 'newest'>,
  heads: SignedHeads,
): Promise<Checkpoint | null> => {
  const newest = await tiles.newest();
  if (newest === null || heads.isOurs(newest.note)) return newest;
  throw new UnusableHead(
    `No key in LOG_KEY_FILE has signed the newest checkpoint that is kept, of ${newest.size} events: it is the key of another log. Put back the key that has signed this one.`,
  );
};

/** Processes that write to a new log begin beside the one that makes its key, and their clocks may differ. */
const maxBeginning: Milliseconds = 3_600_000;

/** The key of a log is made before its first event. Throws UnusableHead for one that was made later. */
const assertNew = async ({ metadata }: StoredEvent, heads: SignedHeads): Promise<void> => {
  const { occurredAt } = JSON.parse(metadata) as EventMetadata;
  if (((await heads.since()) ?? 0) - Date.parse(occurredAt) <= maxBeginning) return;
  throw new UnusableHead(
    `${heads.place} says that nothing was signed yet, but the log has events since ${occurredAt}: the key was made later. Restore the key and the head that the log was signed with. If it was never signed: log accept-restore --begin-anew (docs/incidents.md, "The log was restored").`,
  );
};

/**
 * Ensures, before anything is signed, that the keys belong to the log, and that its last signed head is
 * there; writes down the head of the empty tree if the log is a new one. Throws UnusableHead.
 */
export const assertLastHead = async ({ log, tiles, heads, sign }: Signed): Promise<void> => {
  const newest = await ownNewest(tiles, heads);
  const head = await heads.last();
  if (newest !== null && head !== null) return;
  if (newest !== null) throw missing(heads.place, `a checkpoint of ${newest.size} events is kept`);
  const [first] = await log.readStored(0n, 1);
  if (head?.size === 0 && first !== undefined) await assertNew(first, heads);
  if (head !== null) return;
  if (first !== undefined) throw missing(heads.place, 'the log holds events');
  if (sign !== null) await heads.keep(sign({ size: 0, root: rootOf(emptyFrontier) }));
};

/**
 * The same, and that the log has not lost its end, as far as that can be seen at once: the notary, which
 * begins later, compares everything. `last`: where the log ends. Throws UnusableHead and DamagedLog.
 */
export const assertNotSetBack = async (signed: Signed, last: bigint): Promise<void> => {
  await assertLastHead(signed);
  const { size = 0 } = (await signed.heads.last()) ?? {};
  // A position is never smaller than the number of events up to it.
  if (last >= size) return;
  throw new DamagedLog(
    last,
    `the log ends before event ${size}; a head of ${size} events was signed ${ifRestored}`,
  );
};

/**
 * The damage to report to readers: known damage, or a tree that differs from the last signed one. The notary
 * may be rebuilding a lost tree, may not have looked yet, or may not run where the head is missing.
 */
const damageOf = async (tiles: LogTiles, heads: SignedHeads): Promise<LogDamage | null> => {
  const last = await heads.last().catch((error: unknown) => {
    if (error instanceof UnusableHead) return error;
    throw error;
  });
  // The tree grows before its head is signed, so it is read after that.
  const [known, tree] = await Promise.all([tiles.damage(), tiles.tree()]);
  if (known !== null) return known;
  const newest = last === null ? await tiles.newest() : null;
  const head = newest === null ? last : missing(heads.place, `a checkpoint of ${newest.size} events is kept`);
  if (head === null) return null;
  if (head instanceof UnusableHead) return { position: tree.position, reason: head.message };
  if (await isPrefix(tiles, head, tree).catch(insteadOf(MissingTiles, false))) return null;
  const reason = `the tree of ${tree.size} events does not hold the head of ${head.size} that was signed last`;
  return { position: tree.position, reason };
};

/** The tiles as they are shown: a tree without the last head that was signed counts as damaged. */
export const provenTiles = (tiles: LogTiles, heads: SignedHeads): LogTiles => ({
  damage: () => damageOf(tiles, heads),
  tree: () => tiles.tree(),
  extend: (from, leaves, to, epoch) => tiles.extend(from, leaves, to, epoch),
  hashes: (level, from, count) => tiles.hashes(level, from, count),
  leaves: (tile) => tiles.leaves(tile),
  tileOf: (position) => tiles.tileOf(position),
  keep: (checkpoint) => tiles.keep(checkpoint),
  newest: () => tiles.newest(),
  kept: () => tiles.kept(),
  reset: () => tiles.reset(),
  reportDamage: (damage) => tiles.reportDamage(damage),
});
