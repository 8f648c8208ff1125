import type { Logger } from 'pino';
import type { KeyRing } from '../../application/personal/key-ring.js';
import { Unreadable } from '../../application/personal/unreadable.js';
import type { EventStore } from '../../application/ports/event-store.js';
import type { OtherLog } from '../../application/log/same-log.js';
import type { Clock } from '../../application/ports/system.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

/** Reports that the log ends before the place up to which its keys of personal data were used. */
export const otherLogSaid =
  (log: Logger) =>
  ({ message }: OtherLog): void =>
    log.warn(
      { reason: message },
      'the keys of personal data were used with a later state of the log: what is erased only there is unreadable here',
    );

/** Counts events that can't be read, and reports them once for each block of keys. */
export const watchUnreadable = (store: EventStore, keys: KeyRing, log: Logger): Unreadable =>
  new Unreadable(store, keys, ({ stream, revision, metadata: { org, keyId } }) =>
    log.error(
      { stream, revision, org, key: keyId },
      "an event can't be read, and no erasure covers it: its key of personal data is lost or damaged",
    ),
  );

const repeatedAfter: Milliseconds = 5_000;

/** Logs an engine's failures; the same message at most every few seconds. */
export const incidentLog = (log: Logger, clock: Clock, engine: string): ((error: unknown) => void) => {
  let last = '';
  let lastAt = -Infinity;
  return (error) => {
    const reason = messageOf(error);
    if (reason === last && clock.monotonic() - lastAt < repeatedAfter) return;
    last = reason;
    lastAt = clock.monotonic();
    log.warn({ engine, reason }, 'engine failed, trying again');
  };
};
