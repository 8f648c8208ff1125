import { LazyLru } from '../memory/lazy-lru.js';
import type { OrganizationId, StreamName } from '../../domain/ids.js';
import { macKeyId, MissingEventKey, type EventMacs } from '../../domain/event-mac.js';
import { entryBytes, entryHash, ImpossibleEntry } from '../../domain/log-entry.js';
import { leafHash, type Hash } from '../../domain/merkle.js';
import { DamagedLog } from './damaged-log.js';
import { macIn, verifiedHash, whyDamaged } from './hash-chain.js';
import type { Leaf } from '../ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../ports/raw-log.js';

/** An event whose hash follows from its stored texts and from the event before it in its stream. */
export interface CheckedEvent {
  readonly event: StoredEvent;
  readonly hash: string;
  readonly org: OrganizationId | null;
  /** Null if it is the first in its stream. */
  readonly before: {
    readonly hash: string;
    /** Whether it was not checked here; null if it may have been, long ago. */
    readonly isOutside: boolean | null;
  } | null;
}

interface ReadMetadata {
  readonly org: OrganizationId | null;
  readonly hash?: unknown;
}

/** The MAC of an event names a key that we have, and is not its own. */
export class ForeignMac extends DamagedLog {}

const parsed = (metadata: string): ReadMetadata | null => {
  try {
    return JSON.parse(metadata) as ReadMetadata;
  } catch {
    return null;
  }
};

/**
 * Makes sure that a process with EVENT_KEY_FILE has written an event. Throws DamagedLog, and MissingEventKey.
 */
const assertOurs = (
  macs: Pick<EventMacs, 'verifies'>,
  { event: { stream, revision, position, metadata }, hash }: CheckedEvent,
  isNew: boolean,
): void => {
  const mac = macIn(metadata);
  const name = `${stream}@${revision}`;
  const isRight = mac !== null && macs.verifies(hash, mac, isNew);
  if (isRight === null) throw new MissingEventKey(macKeyId(mac ?? ''), `${name} at position ${position}`);
  if (isRight) return;
  const [Fault, fault] =
    mac === null ? [DamagedLog, 'has no MAC'] : [ForeignMac, 'has a MAC that is not its own'];
  throw new Fault(position, `${name} ${fault}: the service did not write it`);
};

/**
 * Checks events against the ones before them in their streams. Throws DamagedLog. `isWhole`: each stream is
 * shown to it without gaps. `remembered`: how many streams it knows the last events of, before it forgets
 * some.
 */
export const chainChecker = (
  raw: Pick<RawLog, 'readStoredStream'>,
  isWhole: boolean,
  remembered = 50_000,
): ((event: StoredEvent) => Promise<CheckedEvent>) => {
  const heads = new LazyLru<StreamName, { readonly revision: number; readonly hash: string }>(remembered);
  const beforeOf = async ({ stream, revision, position }: StoredEvent): Promise<CheckedEvent['before']> => {
    const known = heads.get(stream);
    if (known !== undefined && known.revision === revision - 1) return { hash: known.hash, isOutside: false };
    if (known !== undefined && isWhole)
      throw new DamagedLog(position, `${stream} goes on with revision ${revision} after ${known.revision}`);
    if (revision === 0) return null;
    const [before] = await raw.readStoredStream(stream, revision - 1, 1);
    const hash = before?.revision === revision - 1 ? parsed(before.metadata)?.hash : null;
    if (typeof hash !== 'string')
      throw new DamagedLog(position, `${stream} has no revision ${revision - 1} before it`);
    return { hash, isOutside: (known === undefined && heads.size < remembered) || null };
  };
  return async (event) => {
    const before = await beforeOf(event);
    const metadata = parsed(event.metadata);
    const hash = metadata === null ? null : verifiedHash(before?.hash ?? null, event);
    if (metadata === null || hash === null) throw new DamagedLog(event.position, whyDamaged(event));
    heads.set(event.stream, { revision: event.revision, hash });
    return { event, hash, org: metadata.org, before };
  };
};

/**
 * Checks the next events of the log. Throws DamagedLog at the first that does not follow from the one before
 * it in its stream, or that the service did not write; and MissingEventKey. `covered`: this many of them are
 * compared with the signed tree, too.
 */
export type CheckEvents = (
  events: readonly StoredEvent[],
  covered: number,
) => Promise<readonly CheckedEvent[]>;

export const eventChecker = (
  log: Pick<RawLog, 'readStoredStream'>,
  macs: Pick<EventMacs, 'verifies'>,
): CheckEvents => {
  const check = chainChecker(log, true);
  return async (events, covered) => {
    const found: CheckedEvent[] = [];
    for (const event of events) {
      const checked = await check(event);
      assertOurs(macs, checked, found.length >= covered);
      found.push(checked);
    }
    return found;
  };
};

/** The leaves of events. `counts`: how many events of each organization precede them; it is updated. */
export const leavesOf = (
  events: readonly CheckedEvent[],
  counts: Map<OrganizationId | null, number>,
): readonly Leaf[] =>
  events.map(({ event: { stream, revision, position }, hash, org }) => {
    const orgSeq = counts.get(org) ?? 0;
    counts.set(org, orgSeq + 1);
    try {
      return { hash: entryHash({ stream, revision, hash, org, orgSeq }), position, orgSeq };
    } catch (error) {
      throw error instanceof ImpossibleEntry ? new DamagedLog(position, error.message) : error;
    }
  });

/** The organization of an event by its own texts. */
export const orgOf = ({ metadata }: StoredEvent): OrganizationId | null => parsed(metadata)?.org ?? null;

/** The entry of an event by its own texts; null if it can't be read. */
export const entryOf = ({ stream, revision, metadata }: StoredEvent, orgSeq: number): Buffer | null => {
  const { org, hash } = parsed(metadata) ?? {};
  if (org === undefined || typeof hash !== 'string') return null;
  return entryBytes({ stream, revision, hash, org, orgSeq });
};

/** The leaf of an event by its own texts; null if it can't be read. */
export const leafOf = (event: StoredEvent, orgSeq: number): Hash | null => {
  const entry = entryOf(event, orgSeq);
  return entry && leafHash(entry);
};
