import { audit, auditIdOf } from '../../domain/audit.js';
import { newCommand, execute, type Initiator, type WriteDeps } from '../writing/execute.js';
import {
  givenUp,
  isGivenUp,
  pagesOfBlocks,
  type NumberedBlock,
  type PersonalKeys,
  type StoredBlock,
} from '../ports/personal-keys.js';
import { isLost, newBlock, WrongPersonalKey } from './key-ring.js';
import { countSealedIn, missingBlocks, type OwnKeysDeps, type UnreadableEvents } from './own-keys.js';

export interface GivingUp extends WriteDeps, Omit<OwnKeysDeps, 'log' | 'store' | 'place'> {
  readonly keys: PersonalKeys;
}

const empty = { wrappedBy: givenUp(''), iv: Buffer.alloc(0), sealed: Buffer.alloc(0) };

/** Throws WrongPersonalKey if several blocks name a key that we have, and none of them opens with it. */
const lostBlocks = async ({ keys, masters }: GivingUp): Promise<readonly StoredBlock[]> => {
  const lost: StoredBlock[] = [];
  const opening = new Set<string>();
  for await (const page of pagesOfBlocks(keys))
    for (const block of page)
      if (!isGivenUp(block.wrappedBy) && isLost(masters, block)) lost.push(block);
      else opening.add(block.wrappedBy);
  for (const { id } of masters)
    if (!opening.has(id) && lost.filter(({ wrappedBy }) => wrappedBy === id).length > 1)
      throw new WrongPersonalKey(id);
  return lost;
};

/**
 * Gives up keys that the log uses and that are missing or can't be opened: KeysLost records it for each
 * organization, and the service starts without them. What can't be opened is kept, should its master key be
 * found; empty blocks take the places of missing ones; a lost block 0 is made again. No process may run
 * meanwhile. It can be repeated. Throws the errors of `execute`, PersonalKeysUnavailable and
 * WrongPersonalKey.
 */
export const giveUpKeys = async (
  deps: GivingUp,
  initiator: Initiator,
  by: string,
): Promise<UnreadableEvents> => {
  const { keys, store: log, masters, entropy } = deps;
  const missing = await missingBlocks({ ...deps, log, store: keys });
  const unopened = await lostBlocks(deps);
  const gone = new Set([...missing, ...unopened.map(({ number }) => number)]);
  const found = await countSealedIn(log, gone);
  const { newest } = found;
  if (newest !== null)
    for (const [org, events] of found.byOrganization) {
      const lost = { type: 'KeysLost' as const, data: { events, newest, blocks: gone.size, by } };
      await execute(deps, audit, auditIdOf(org), newCommand(deps, initiator, org), () => [lost]);
    }
  const added: NumberedBlock[] = [...missing].map((number) => ({ number, ...empty }));
  if ((await keys.load([0])).length === 0) added.push({ number: 0, ...newBlock(masters, entropy, 0) });
  if (added.length > 0) await keys.add(added);
  for (const block of unopened)
    await keys.replace({
      ...block,
      ...(block.number === 0 ? newBlock(masters, entropy, 0) : { wrappedBy: givenUp(block.wrappedBy) }),
    });
  return found;
};
