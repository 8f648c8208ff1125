import { card } from '../../domain/card.js';
import { contact } from '../../domain/contact.js';
import { doNotMail } from '../../domain/do-not-mail.js';
import { erasures, schemaOf, type LoggedEvent, type RecordedEvent } from '../../domain/events.js';
import { categoryOf } from '../../domain/ids.js';
import { isPlainObject } from '../../domain/plain-object.js';
import type { KeyRing } from './key-ring.js';
import { blocksOf, placeInLog } from './own-keys.js';
import { asStored } from './personal.js';
import { markOf, streamPages, type EventStore } from '../ports/event-store.js';
import type { PersonalKeys } from '../ports/personal-keys.js';
import type { Clock } from '../ports/system.js';
import { untilAborted } from '../timing/until-aborted.js';
import { eraseWaitingRows, type NamedContact, type WaitingRowsDeps } from '../contacts/waiting-rows.js';

export interface ShredderDeps extends WaitingRowsDeps {
  /** With personal data opened. */
  readonly store: EventStore;
  readonly personalKeys: WaitingRowsDeps['personalKeys'] & Pick<KeyRing, 'takeBack'>;
  /** Where the shredder keeps its place: see PersonalKeys. */
  readonly place: Pick<PersonalKeys, 'mark' | 'saveMark'>;
  readonly clock: Clock;
}

const pause = 1_000;
const batchSize = 100;
/** A batch syncs the disk, and the thread that answers waits for it: what comes meanwhile is one batch. */
const rest = 200;
/** Without an erasure, the place is saved after this many events. */
const maxUnsaved = 10_000;

/** The external id of a contact, by an event of it whose personal data can be read. */
const externalIdIn = ({ data }: RecordedEvent): string | null => {
  const { personal }: { readonly personal?: unknown } = data;
  const externalId = isPlainObject(personal) ? personal['externalId'] : null;
  return typeof externalId === 'string' ? externalId : null;
};

/**
 * The targets of erasures: the keys of the events before them in their streams, and rows of files that wait.
 */
const erasedBy = async ({ store }: ShredderDeps, erased: readonly LoggedEvent[]) => {
  const [found, contacts]: [string[], NamedContact[]] = [[], []];
  for (const { stream, revision, metadata } of erased) {
    const externalIds = new Set<string>();
    // Without the erasure, for what is read with it is not opened.
    for await (const page of streamPages(store, stream, 0, revision))
      for (const event of page) {
        const key = asStored(event).metadata.keyId;
        if (key !== null) found.push(key);
        const externalId = categoryOf(stream) === 'contact' ? externalIdIn(event) : null;
        if (externalId !== null) externalIds.add(externalId);
      }
    const { org } = metadata;
    if (org !== null) for (const externalId of externalIds) contacts.push({ org, externalId });
  }
  return { keys: found, contacts };
};

/** Erasures of a later version of the service must not be skipped. Throws UnknownEvent. */
const assertKnown = (event: LoggedEvent): void => {
  const category = categoryOf(event.stream);
  if (category === 'card') schemaOf(card, event);
  if (category === 'contact') schemaOf(contact, event);
  if (category === 'do-not-mail') schemaOf(doNotMail, event);
};

/** Rows are searched first: the data that names their contact can't be read without the keys. */
const shred = async (deps: ShredderDeps, erased: readonly LoggedEvent[]): Promise<void> => {
  const { keys, contacts } = await erasedBy(deps, erased);
  await eraseWaitingRows(deps, contacts);
  await deps.personalKeys.destroy(keys);
};

/**
 * Follows the log, destroys the keys of erased data, and notes which blocks of keys are in use, until the
 * signal aborts. Its checkpoint is kept with the keys: after the keys are restored from a backup, all later
 * erasures are repeated. Only one may run at a time. (docs/architecture.md#personal-data)
 */
export const runShredder = async (
  deps: ShredderDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, place, clock } = deps;
  await untilAborted({ clock, signal, pause, onError: report }, async () => {
    await deps.personalKeys.takeBack();
    let mark = await place.mark();
    let unsaved = 0;
    const uses = new Set<number>();
    for await (const batch of store.follow(await placeInLog(store, mark), { signal, batch: batchSize })) {
      batch.forEach(assertKnown);
      for (const block of blocksOf(batch)) uses.add(block);
      const erased = batch.filter(({ type }) => erasures.has(type));
      if (erased.length > 0) await shred(deps, erased);
      unsaved += batch.length;
      const last = batch.at(-1);
      if (last === undefined || (erased.length === 0 && unsaved < maxUnsaved)) continue;
      const next = { position: last.position, event: markOf(last) };
      if (!(await place.saveMark(next, mark, [...uses])))
        throw new Error(
          'another process has moved the mark of the shredder, or another store is in its place',
        );
      mark = next;
      uses.clear();
      unsaved = 0;
      if (batch.length < batchSize) await clock.sleep(rest, signal);
    }
  });
};
