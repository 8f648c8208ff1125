import { erasures } from '../domain/erasures.js';
import type { LoggedEvent, RecordedEvent } from '../domain/events.js';
import type { KeyRing } from './key-ring.js';
import { asStored, keyIdOf, openText } from './personal.js';
import { markOf, type EventStore } from './ports/event-store.js';
import type { PersonalKeys } from './ports/personal-keys.js';
import type { Clock } from './ports/system.js';
import { assertSameLog } from './same-log.js';
import { streamPages } from './stream-pages.js';
import { untilAborted } from './until-aborted.js';

export interface ShredderDeps {
  /** With personal data opened. */
  readonly store: EventStore;
  readonly keys: Pick<KeyRing, 'load' | 'keyOf' | 'destroy'>;
  /** Where the shredder keeps its place: see PersonalKeys. */
  readonly place: Pick<PersonalKeys, 'mark' | 'saveMark'>;
  readonly clock: Clock;
}

const pause = 1_000;
const batchSize = 500;
/** Without an erasure, the place is saved after this many events. */
const savedAfter = 10_000n;

/**
 * The key of an event, if it is this event's: a store of keys that was lost or restored gives the same
 * numbers again, to events of other people.
 */
const ownKey = async (keys: ShredderDeps['keys'], event: RecordedEvent): Promise<string | null> => {
  const stored = asStored(event);
  const keyId = keyIdOf(stored);
  if (keyId === null) return null;
  await keys.load([keyId]);
  const key = keys.keyOf(keyId);
  const { personal }: { readonly personal?: unknown } = stored.data;
  return key !== null && openText(key, event.id, personal) !== null ? keyId : null;
};

/** Destroys the keys of a stream's events before an erasure. */
const shred = async ({ store, keys }: ShredderDeps, { stream, revision }: LoggedEvent): Promise<void> => {
  const found: string[] = [];
  for await (const page of streamPages(store, stream, 0))
    for (const event of page) {
      const key = event.revision < revision ? await ownKey(keys, event) : null;
      if (key !== null) found.push(key);
    }
  await keys.destroy(found);
};

/**
 * Follows the log and destroys the keys of what was erased, until the signal aborts. Its place is kept with
 * the keys: where those are restored from a backup, everything that was erased since is erased again. Only
 * one may run at a time. (docs/architecture.md#personal-data)
 */
export const runShredder = async (
  deps: ShredderDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, place, clock } = deps;
  await untilAborted({ clock, signal, pause, onError: report }, async () => {
    const mark = await place.mark();
    let saved = mark?.position ?? 0n;
    const event = mark?.event ?? null;
    if (event !== null) await assertSameLog(store, 'The shredder', { position: saved, event });
    for await (const batch of store.follow(saved, { signal, batch: batchSize })) {
      const erased = batch.filter(({ type }) => erasures.has(type));
      for (const event of erased) await shred(deps, event);
      const last = batch.at(-1);
      if (last === undefined || (erased.length === 0 && last.position - saved < savedAfter)) continue;
      await place.saveMark({ position: last.position, event: markOf(last) });
      saved = last.position;
    }
  });
};
