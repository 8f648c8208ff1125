import { emptyFrontier, rootOf } from '../../domain/merkle.js';
import { audit, auditIdOf } from '../../domain/audit.js';
import { newCommand, type Initiator } from '../commands.js';
import { execute, type WriteDeps } from '../execute.js';
import { isPrefix, ownNewest } from './last-head.js';
import { rebuildTree, type Notarizing } from './notarize.js';
import type { SignedHead, SignedHeads } from '../ports/signed-heads.js';

export interface AcceptRestoreDeps
  extends WriteDeps, Pick<Notarizing, 'log' | 'tiles' | 'macs' | 'knownElsewhere'> {
  readonly heads: SignedHeads;
  readonly sign: NonNullable<Notarizing['sign']>;
}

/** The log holds the head that was signed last, or there is no such head: nothing is given up. */
export class NothingGivenUp extends Error {
  override readonly name = 'NothingGivenUp';
}

export interface GivenUp {
  /** What is given up; null if nobody knows what was signed last. */
  readonly head: SignedHead | null;
  /** How many events the log holds. */
  readonly events: number;
  /** The size of the newest checkpoint that is kept, from which it goes on. */
  readonly from: number;
}

/**
 * Lets a log go on that lacks the head that was signed last, because an older copy was put back: records in
 * it which head is given up, and by whom, and puts the newest checkpoint that is kept in the head's place.
 * `anew`: for a log whose last head is lost, or that was never signed. The log must be what its checkpoints
 * and anchors say; no notary may run. Throws NothingGivenUp, DamagedLog, UnusableHead, and what `execute`
 * throws.
 */
export const acceptRestore = async (
  deps: AcceptRestoreDeps,
  initiator: Initiator,
  { by, anew }: { readonly by: string; readonly anew: boolean },
  onProgress: (events: number) => void,
): Promise<GivenUp> => {
  const { log, tiles, macs, knownElsewhere, heads, sign, clock } = deps;
  const head = await heads.last();
  if (head === null && !anew)
    throw new NothingGivenUp(
      `${heads.place} is missing, so nobody knows which head is given up. If it is lost, or the log was never signed: --begin-anew.`,
    );
  if (head !== null && anew)
    throw new NothingGivenUp(`${heads.place} is there: leave --begin-anew out, so that it is recorded.`);
  const comparing = {
    log,
    tiles,
    macs,
    knownElsewhere,
    clock,
    sign: null,
    scrubEvery: 0,
    restore: 'the log',
  };
  const events = await rebuildTree(comparing, onProgress);
  if (head !== null && (await isPrefix(tiles, head, await tiles.tree())))
    throw new NothingGivenUp(
      `The log of ${events} events holds the head of ${head.size} that was signed last.`,
    );
  const newest = await ownNewest(tiles, heads);
  const { size = 0, note = sign({ size: 0, root: rootOf(emptyFrontier) }) } = newest ?? {};
  const event = {
    type: 'HeadGivenUp' as const,
    data: { size: head?.size ?? null, root: head?.root.toString('base64') ?? null, from: size, by },
  };
  await execute(deps, audit, auditIdOf(null), newCommand(deps, initiator, null), () => [event]);
  await heads.keep(note);
  return { head, events, from: size };
};
