import { erasures } from '../../domain/erasures.js';
import type { EventMetadata } from '../../domain/events.js';
import { Uuid, type OrganizationId } from '../../domain/ids.js';
import { emptyFrontier, grow, rootOf, type Hash } from '../../domain/merkle.js';
import { eventChecker, leavesOf } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { isDigestOf, isSealedText, storedTexts } from './hash-chain.js';
import type { KeyRing } from '../personal/key-ring.js';
import { sealNext } from '../personal/personal.js';
import { EventStoreUnavailable, type EventStore, type NewEvent } from '../ports/event-store.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';
import type { Entropy } from '../ports/system.js';

interface CopyLogDeps {
  /** Nobody writes to it any more. */
  readonly from: RawLog;
  /** Empty, or with the beginning of a copy. Nobody writes to it yet. */
  readonly to: Pick<EventStore, 'append'> & RawLog;
  readonly keys: Pick<KeyRing, 'next' | 'ready' | 'destroy'>;
  readonly entropy: Pick<Entropy, 'bytes'>;
}

export interface CopiedLog {
  readonly events: number;
  /** The root of the tree over them, which is that of the log that was copied. */
  readonly root: Hash;
  /** How many events got their personal data sealed, which was in the clear. */
  readonly sealed: number;
  /** Of cards and contacts that were erased since: the keys of their data are destroyed already. */
  readonly erased: number;
}

/** The other store holds something else than the beginning of this log. */
export class NoCopy extends Error {
  override readonly name = 'NoCopy';
}

const readAtOnce = 500;
const triesOfAWrite = 5;

/**
 * Copies every event of a log to an empty store, in the order of the log, text for text; only personal data
 * that is in the clear is sealed on the way, which neither hashes nor the tree notice. It can be stopped
 * anywhere and begun again. Throws DamagedLog, NoCopy, EventStoreUnavailable and PersonalKeysUnavailable.
 */
export const copyLog = async (
  deps: CopyLogDeps,
  onProgress: (events: number) => void = () => undefined,
): Promise<CopiedLog> => {
  const { from, to } = deps;
  const tree = treeOver(from);
  const counts = { 'as it was': 0, sealed: 0, erased: 0 };
  let end = 0n;
  for (let found = await tree.next(); found.length > 0; found = await tree.next()) {
    const there = await to.readStored(end, found.length);
    assertSame(found, there);
    for (const event of found.slice(there.length)) counts[await copy(deps, event)] += 1;
    end = (await to.readStored(end, found.length)).at(-1)?.position ?? end;
    onProgress(tree.size());
  }
  if ((await to.readStored(end, 1)).length > 0)
    throw new NoCopy('The other store holds events that this log does not have. Copy into an empty store.');
  const copied = treeOver(to);
  while ((await copied.next()).length > 0);
  if (!copied.root().equals(tree.root()))
    throw new NoCopy('What the other store holds is not what was copied to it. Begin with an empty one.');
  return { events: tree.size(), root: tree.root(), sealed: counts.sealed, erased: counts.erased };
};

/** Reads a log from its beginning, checks its chains, and makes its tree. */
const treeOver = (log: RawLog) => {
  const check = eventChecker(log);
  const counts = new Map<OrganizationId | null, number>();
  let frontier = emptyFrontier;
  let position = 0n;
  return {
    next: async (): Promise<readonly StoredEvent[]> => {
      const events = await log.readStored(position, readAtOnce);
      const leaves = leavesOf(await check(events), counts);
      ({ frontier } = grow(
        frontier,
        leaves.map(({ hash }) => hash),
      ));
      position = events.at(-1)?.position ?? position;
      return events;
    },
    size: (): number => frontier.size,
    root: (): Hash => rootOf(frontier),
  };
};

const assertSame = (found: readonly StoredEvent[], there: readonly StoredEvent[]): void => {
  for (const [index, { stream, revision, id, data, metadata, personal }] of there.entries()) {
    const event = found[index];
    if (event?.id !== id || event.stream !== stream || event.data !== data || event.metadata !== metadata)
      throw new NoCopy(
        `The other store holds ${stream}@${revision} where this log does not. Copy into an empty store.`,
      );
    // Neither hashes nor the tree notice whether it is sealed.
    const isCopied =
      event.personal === null || isSealedText(event.personal)
        ? personal === event.personal
        : personal !== null && isSealedText(personal);
    if (!isCopied)
      throw new NoCopy(
        `The other store holds personal data of ${stream}@${revision} that was not copied there. Copy into an empty store.`,
      );
  }
};

const copy = async (deps: CopyLogDeps, event: StoredEvent): Promise<'as it was' | 'sealed' | 'erased'> => {
  const { personal, stream, revision } = event;
  if (personal === null || isSealedText(personal)) {
    await write(deps, event, personal);
    return 'as it was';
  }
  const { keys, entropy, from } = deps;
  const { personal: stamp } = JSON.parse(event.metadata) as EventMetadata;
  if (!isDigestOf(stamp, personal))
    throw new DamagedLog(event.position, 'its personal data is not what was recorded', 'the event store');
  await keys.ready();
  const { keyId, text } = sealNext(keys, entropy, Uuid.parse(event.id), personal);
  const later = await from.readStoredStream(stream, revision + 1);
  const isErased = later.some(({ type }) => erasures.has(type));
  if (isErased) await keys.destroy([keyId]);
  await write(deps, event, text);
  return isErased ? 'erased' : 'sealed';
};

/** Writes the event as it is, with this text as its personal data. */
const write = async (
  { to }: CopyLogDeps,
  { stream, revision, id, type, data, metadata, position }: StoredEvent,
  personal: string | null,
): Promise<void> => {
  const fields = JSON.parse(data) as object;
  const event: NewEvent = {
    id: Uuid.parse(id),
    type,
    data: personal === null ? fields : { ...fields, personal: JSON.parse(personal) as unknown },
    metadata: JSON.parse(metadata) as EventMetadata,
  };
  const texts = storedTexts(event);
  if (texts.data !== data || texts.personal !== personal || texts.metadata !== metadata)
    throw new DamagedLog(position, 'it is not written as this service writes events', 'the event store');
  for (let tries = 1; ; tries += 1) {
    const [outcome] = await to.append([{ stream, expected: revision - 1, events: [event] }]);
    if (outcome?.kind === 'appended') return;
    if (outcome?.kind === 'conflict')
      throw new NoCopy(`Somebody else has written to ${stream} in the other store. Copy into an empty one.`);
    if (tries === triesOfAWrite) throw new EventStoreUnavailable('the other store does not answer');
  }
};
