import { isDeepStrictEqual } from 'node:util';
import type { EventMetadata } from '../../domain/events.js';
import type { EventMacs } from '../../domain/event-mac.js';
import { Uuid, type OrganizationId } from '../../domain/ids.js';
import { emptyFrontier, grow, rootOf, type Hash } from '../../domain/merkle.js';
import { eventChecker, leavesOf } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { storedTexts } from './hash-chain.js';
import { EventStoreUnavailable, type EventStore, type NewEvent } from '../ports/event-store.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';

interface CopyLogDeps {
  /** No process may write to it any more. */
  readonly from: RawLog;
  /** Empty, or with the beginning of a copy. No process may write to it yet. */
  readonly to: Pick<EventStore, 'append'> & RawLog;
  readonly macs: Pick<EventMacs, 'verifies'>;
}

export interface CopiedLog {
  readonly events: number;
  /** The root of the tree over them, which is that of the log that was copied. */
  readonly root: Hash;
}

/** The other store holds something else than the beginning of this log. */
export class NoCopy extends Error {
  override readonly name = 'NoCopy';
}

const readAtOnce = 500;
const triesOfAWrite = 5;

/**
 * Copies every event of a log to an empty store, in the order of the log, text for text. It can be stopped
 * anywhere and resumed. Throws DamagedLog, MissingEventKey, NoCopy and EventStoreUnavailable.
 */
export const copyLog = async (
  { from, to, macs }: CopyLogDeps,
  onProgress: (events: number) => void = () => undefined,
): Promise<CopiedLog> => {
  const tree = treeOver(from, macs);
  let end = 0n;
  for (let found = await tree.next(); found.length > 0; found = await tree.next()) {
    const there = await to.readStored(end, found.length);
    assertSame(found, there);
    for (const event of found.slice(there.length)) await write(to, event);
    end = (await to.readStored(end, found.length)).at(-1)?.position ?? end;
    onProgress(tree.size());
  }
  if ((await to.readStored(end, 1)).length > 0)
    throw new NoCopy('The other store holds events that this log does not have. Copy into an empty store.');
  const copied = treeOver(to, macs);
  while ((await copied.next()).length > 0);
  if (!copied.root().equals(tree.root()))
    throw new NoCopy('What the other store holds is not what was copied to it. Begin with an empty one.');
  return { events: tree.size(), root: tree.root() };
};

/** Reads a log from its beginning, checks its chains, and makes its tree. */
const treeOver = (log: RawLog, macs: CopyLogDeps['macs']) => {
  const check = eventChecker(log, macs);
  const counts = new Map<OrganizationId | null, number>();
  let frontier = emptyFrontier;
  let position = 0n;
  return {
    next: async (): Promise<readonly StoredEvent[]> => {
      const events = await log.readStored(position, readAtOnce);
      const leaves = leavesOf(await check(events, events.length), counts);
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
  for (const [index, { position: _, ...copied }] of there.entries()) {
    const { position: __, ...event } = found[index] ?? { position: 0n };
    if (!isDeepStrictEqual(event, copied))
      throw new NoCopy(
        `The other store holds ${copied.stream}@${copied.revision} where this log does not. Copy into an empty store.`,
      );
  }
};

const write = async (
  to: Pick<EventStore, 'append'>,
  { stream, revision, id, type, data, personal, metadata, position }: StoredEvent,
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
      throw new NoCopy(
        `Another program has written to ${stream} in the other store. Copy into an empty one.`,
      );
    if (tries === triesOfAWrite) throw new EventStoreUnavailable('the other store does not answer');
  }
};
