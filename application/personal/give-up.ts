import { audit, auditIdOf } from '../../domain/audit.js';
import { newCommand, execute, type Initiator, type WriteDeps } from '../writing/execute.js';
import {
  givenUp,
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

const empty = { wrappedBy: givenUp, iv: Buffer.alloc(0), sealed: Buffer.alloc(0) };

/** Throws WrongPersonalKey if several blocks name a key that we have, and none of them opens with it. */
const lostBlocks = async ({ keys, masters }: GivingUp): Promise<readonly StoredBlock[]> => {
  const lost: StoredBlock[] = [];
  const opening = new Set<string>();
  for await (const page of pagesOfBlocks(keys))
    for (const block of page)
      if (block.wrappedBy !== givenUp && isLost(masters, block)) lost.push(block);
      else opening.add(block.wrappedBy);
  for (const { id } of masters)
    if (!opening.has(id) && lost.filter(({ wrappedBy }) => wrappedBy === id).length > 1)
      throw new WrongPersonalKey(id);
  return lost;
};

/**
 * Gives up keys that the log uses and that are missing or can't be opened: KeysLost records it for each
 * organization, and empty blocks take their places, so that the service starts; a lost block 0 is made again.
 * No process may run meanwhile. It can be repeated. Throws the errors of `execute`,
 * PersonalKeysUnavailable and WrongPersonalKey.
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
  for (const { number, version } of unopened) {
    const block = number === 0 ? newBlock(masters, entropy, 0) : empty;
    await keys.replace({ number, version, ...block });
  }
  return found;
};
