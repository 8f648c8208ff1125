import { FinalError } from '../../domain/errors.js';
import { erasures, type LoggedEvent } from '../../domain/events.js';
import type { Instant, OrganizationId, StreamName } from '../../domain/ids.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import { logPages, type LogReader } from '../ports/event-store.js';
import { isGivenUp, type PersonalKeys, type ShredderMark } from '../ports/personal-keys.js';
import { assertSameLog, OtherLog } from '../log/same-log.js';
import { blockOf, MissingPersonalKey } from './key-ring.js';
import { asStored } from './personal.js';

/** Events that can't be read although no erasure covers them. */
export interface UnreadableEvents {
  readonly events: number;
  readonly byOrganization: ReadonlyMap<OrganizationId | null, number>;
  /** When the newest of them occurred; null if there is none. */
  readonly newest: Instant | null;
}

const maxNamed = 20;

/** Counts of events by organization, largest first, in words. */
export const organizationsIn = ({ byOrganization }: Pick<UnreadableEvents, 'byOrganization'>): string => {
  const all = [...byOrganization].toSorted(([, one], [, other]) => other - one);
  const named = all.slice(0, maxNamed).map(([org, count]) => `${org ?? 'the house'} (${count})`);
  return [...named, ...(all.length > maxNamed ? [`${all.length - maxNamed} more`] : [])].join(', ');
};

/**
 * The keys belong to another log, or some are missing. (docs/incidents.md#keys-of-personal-data-are-lost)
 */
export class LostKeys extends FinalError {
  constructor(found: UnreadableEvents, place: string) {
    super(
      `Keys of personal data are missing from ${place}: ${found.events} events can't be read, and no erasure covers them. They are of ${organizationsIn(found)}; the newest occurred at ${found.newest}. ` +
        `Restore ${place} from a backup that was made after that; or, if there is none, give the keys up: "personal give-up". (docs/incidents.md#keys-of-personal-data-are-lost)`,
    );
  }
}

/** The blocks of the keys that events are sealed with. */
export const blocksOf = (events: readonly LoggedEvent[]): readonly number[] =>
  events.flatMap((event) => {
    const { keyId } = asStored(event).metadata;
    return (keyId === null ? null : blockOf(keyId)) ?? [];
  });

/**
 * Where in the log the events begin whose keys were not noted yet: at the beginning if the mark is of another
 * log, or of a later state of this one.
 */
export const placeInLog = async (
  log: Pick<LogReader, 'head' | 'markAt'>,
  mark: ShredderMark | null,
  onOther: (error: OtherLog) => void = () => undefined,
): Promise<bigint> => {
  if (mark === null || mark.event === null) return 0n;
  const { position, event } = mark;
  try {
    await assertSameLog(log, 'The shredder', { position, event });
    return position;
  } catch (error) {
    if (!(error instanceof OtherLog)) throw error;
    onOther(error);
    return 0n;
  }
};

/** Counts the events with keys in these blocks that no erasure covers. Reads the whole log. */
export const countSealedIn = async (
  log: Pick<LogReader, 'readLog'>,
  blocks: ReadonlySet<number>,
): Promise<UnreadableEvents> => {
  const sealed = new Map<StreamName, { readonly count: number; readonly last: LoggedEvent['metadata'] }>();
  for await (const page of logPages(log, 0n))
    for (const event of page) {
      const { stream, type, metadata } = event;
      if (erasures.has(type)) sealed.delete(stream);
      else if (blocksOf([event]).some((block) => blocks.has(block)))
        sealed.set(stream, { count: (sealed.get(stream)?.count ?? 0) + 1, last: metadata });
    }
  const byOrganization = new Map<OrganizationId | null, number>();
  let newest: Instant | null = null;
  let events = 0;
  for (const { count, last } of sealed.values()) {
    byOrganization.set(last.org, (byOrganization.get(last.org) ?? 0) + count);
    events += count;
    if (newest === null || last.occurredAt > newest) newest = last.occurredAt;
  }
  return { events, byOrganization, newest };
};

export interface OwnKeysDeps {
  readonly log: Pick<LogReader, 'head' | 'markAt' | 'readLog'>;
  readonly store: Pick<PersonalKeys, 'mark' | 'missing' | 'wrappers'>;
  readonly masters: MasterKeys;
  /** The store to restore if keys are missing. */
  readonly place: string;
  /** Called if the keys were used with a later state of the log, or with another log. */
  readonly onOther?: (error: OtherLog) => void;
}

/** The blocks of keys that the log uses and that are missing. Reads the events after the mark. */
export const missingBlocks = async (
  deps: Omit<OwnKeysDeps, 'masters' | 'place'>,
): Promise<ReadonlySet<number>> => {
  const { log, store, onOther } = deps;
  const used = new Set<number>();
  for await (const page of logPages(log, await placeInLog(log, await store.mark(), onOther)))
    for (const block of blocksOf(page)) used.add(block);
  return new Set(await store.missing([...used]));
};

/**
 * Ensures that each block of keys used by sealed events is there, unless erasures cover all of those events.
 * Throws LostKeys, MissingPersonalKey, PersonalKeysUnavailable and EventStoreUnavailable.
 */
export const assertOwnKeys = async (deps: OwnKeysDeps): Promise<void> => {
  const { log, store, masters, place } = deps;
  for (const wrapper of await store.wrappers())
    if (!isGivenUp(wrapper) && !masters.some(({ id }) => id === wrapper))
      throw new MissingPersonalKey(wrapper);
  const missing = await missingBlocks(deps);
  if (missing.size === 0) return;
  const found = await countSealedIn(log, missing);
  if (found.events > 0) throw new LostKeys(found, place);
};

/**
 * For a block that was there when the process started: a single lost block leaves its events unreadable.
 * Throws LostKeys if more are lost, or all, and the errors of `assertOwnKeys`.
 */
export const assertOthersThere = async (deps: OwnKeysDeps): Promise<void> => {
  if ((await missingBlocks(deps)).size > 1 || (await deps.store.wrappers()).length === 0)
    await assertOwnKeys(deps);
};

/** A store of keys that does not exist. */
export const noKeys: OwnKeysDeps['store'] = {
  mark: async () => null,
  missing: async (numbers) => numbers,
  wrappers: async () => [],
};
