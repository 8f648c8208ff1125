import { isDeepStrictEqual } from 'node:util';
import { NamedError } from '../../domain/errors.js';
import type { EventMetadata } from '../../domain/events.js';
import type { EventMacs } from '../../domain/event-mac.js';
import { Uuid, type OrganizationId } from '../../domain/ids.js';
import { emptyFrontier, grow, rootOf, type Hash } from '../../domain/merkle.js';
import { eventChecker, leavesOf } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';
import { storedTexts } from './hash-chain.js';
import { EventStoreUnavailable, type EventStore, type NewEvent } from '../ports/event-store.js';
import type { Checkpoint } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';

interface CopyLogDeps {
  /** No process may write to it any more. */
  readonly from: RawLog;
  /** Empty, or with the beginning of a copy. No process may write to it yet. */
  readonly to: RawLog;
  /** Appends to it. What is begun at once it stores in its order, and tries once. */
  readonly writer: Pick<EventStore, 'append'>;
  readonly macs: Pick<EventMacs, 'verifies'>;
  /** The newest checkpoint of the log, which must go on from it. */
  readonly signed?: Pick<Checkpoint, 'size' | 'root'> | null;
  /** Called with the two positions of each event. */
  readonly onCopied?: (from: bigint, to: bigint) => void;
}

export interface CopiedLog {
  readonly events: number;
  /** The root of the tree over them, which is that of the log that was copied. */
  readonly root: Hash;
}

/** The other store holds something else than the beginning of this log. */
export class NoCopy extends NamedError {}

const readAtOnce = 1_000;
const tries = 5;

/**
 * Copies every event of a log to an empty store, in the order of the log, text for text, and reads it back.
 * It can be stopped anywhere and resumed. Throws DamagedLog, MissingEventKey, NoCopy and
 * EventStoreUnavailable.
 */
export const copyLog = async (
  { from, to, writer, macs, signed = null, onCopied = () => undefined }: CopyLogDeps,
  onProgress: (events: number) => void = () => undefined,
): Promise<CopiedLog> => {
  const tree = treeOver(from, macs, signed);
  let end = 0n;
  for (let found = await tree.next(); found.length > 0; found = await tree.next()) {
    let there = await to.readStored(end, found.length);
    for (let tried = 0; there.length < found.length; tried += 1) {
      assertSame(found, there);
      if (tried === tries) throw new EventStoreUnavailable('the other store takes no more events');
      await writeAll(writer, found.slice(there.length));
      there = await to.readStored(end, found.length);
    }
    assertSame(found, there);
    for (const [index, { position }] of there.entries()) onCopied(found[index]?.position ?? 0n, position);
    end = there.at(-1)?.position ?? end;
    onProgress(tree.size());
  }
  if ((await to.readStored(end, 1)).length > 0)
    throw new NoCopy('The other store holds events that this log does not have. Copy into an empty store.');
  if (signed !== null && tree.size() < signed.size) throw ofAnother(signed);
  return { events: tree.size(), root: tree.root() };
};

const ofAnother = ({ size }: { readonly size: number }): NoCopy =>
  new NoCopy(
    `The newest checkpoint is for ${size} events, and the log has others, or fewer: its settings name two services, or events are missing. Check EVENTSTORE_URL, EVENTSTORE_PREFIX and MONGODB_URL, and empty the other store.`,
  );

/** Reads a log from its beginning, checks its chains, and makes its tree. */
const treeOver = (
  log: RawLog,
  macs: CopyLogDeps['macs'],
  signed: NonNullable<CopyLogDeps['signed']> | null,
) => {
  const check = eventChecker(log, macs);
  const counts = new Map<OrganizationId | null, number>();
  let frontier = emptyFrontier;
  let position = 0n;
  return {
    next: async (): Promise<readonly StoredEvent[]> => {
      const events = await log.readStored(position, readAtOnce);
      const leaves = leavesOf(await check(events, events.length), counts);
      const hashes = leaves.map(({ hash }) => hash);
      const left = (signed?.size ?? 0) - frontier.size;
      const isReached = signed !== null && left > 0 && left <= hashes.length;
      if (isReached && !rootOf(grow(frontier, hashes.slice(0, left)).frontier).equals(signed.root))
        throw ofAnother(signed);
      ({ frontier } = grow(frontier, hashes));
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

/** An append with more goes another way than those that are begun with it. */
const charactersAtOnce = 16_384;

/** Whatever the outcomes, what is there is read back. */
const writeAll = async (to: Pick<EventStore, 'append'>, events: readonly StoredEvent[]): Promise<void> => {
  const begun: Promise<unknown>[] = [];
  for (const event of events) {
    const { stream, revision, data, personal, metadata } = event;
    const isLarge = data.length + metadata.length + (personal?.length ?? 0) > charactersAtOnce;
    if (isLarge) await Promise.all(begun);
    begun.push(to.append([{ stream, expected: revision - 1, events: [asNew(event)] }]));
    if (isLarge) await Promise.all(begun);
  }
  await Promise.all(begun);
};

const asNew = ({ id, type, data, personal, metadata, position }: StoredEvent): NewEvent => {
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
  return event;
};
