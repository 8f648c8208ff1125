import { NamedError } from '../../domain/errors.js';
import { rootOf } from '../../domain/merkle.js';
import { audit, auditIdOf } from '../../domain/audit.js';
import { newCommand, execute, type Initiator, type WriteDeps } from '../writing/execute.js';
import { isPrefix, ownNewest } from './last-head.js';
import { rebuildTree, type Notarizing } from './notarize.js';
import type { SignedHead, SignedHeads } from '../ports/signed-heads.js';

export interface AcceptRestoreDeps
  extends WriteDeps, Pick<Notarizing, 'log' | 'tiles' | 'macs' | 'knownElsewhere'> {
  readonly heads: SignedHeads;
  readonly sign: NonNullable<Notarizing['sign']>;
}

/** The log holds the head that was signed last, or there is no such head: nothing is given up. */
export class NothingGivenUp extends NamedError {}

export interface GivenUp {
  /** The head that is given up; null if the last signed head is not known. */
  readonly head: SignedHead | null;
  /** How many events the log holds, from which it goes on. */
  readonly events: number;
}

/**
 * Accepts a log that lacks the last signed head because an older copy was restored: records the abandoned
 * head and the person who gave it up, and stores the head of the copy instead. `beginsAgain` is for a log
 * whose last head is lost, or that was never signed. The log must agree with its checkpoints and anchors; no
 * notary may run. Throws NothingGivenUp, DamagedLog, UnusableHead, and the errors of `execute`.
 */
export const acceptRestore = async (
  deps: AcceptRestoreDeps,
  initiator: Initiator,
  { by, beginsAgain }: { readonly by: string; readonly beginsAgain: boolean },
  onProgress: (events: number) => void,
): Promise<GivenUp> => {
  const { tiles, heads, sign } = deps;
  const head = await heads.last();
  if (head === null && !beginsAgain)
    throw new NothingGivenUp(
      `${heads.place} is missing, so it is not known which head is given up. If it is lost, or the log was never signed: --begin-anew.`,
    );
  if (head !== null && head.size > 0 && beginsAgain)
    throw new NothingGivenUp(`${heads.place} is there: leave --begin-anew out, so that it is recorded.`);
  const events = await rebuildTree({ ...deps, heads: undefined, restoreHint: 'the log' }, onProgress);
  const tree = await tiles.tree();
  if (head !== null && !beginsAgain && (await isPrefix(tiles, head, tree)))
    throw new NothingGivenUp(
      `The log of ${events} events holds the head of ${head.size} that was signed last.`,
    );
  await ownNewest(tiles, heads);
  const given = beginsAgain ? null : head;
  const root = given?.root.toString('base64') ?? null;
  const data = { size: given?.size ?? null, root, from: events, by };
  const event = { type: 'HeadGivenUp' as const, data };
  await execute(deps, audit, auditIdOf(null), newCommand(deps, initiator, null), () => [event]);
  await heads.keep(sign({ size: tree.size, root: rootOf(tree) }));
  return { head: given, events };
};
