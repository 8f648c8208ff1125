import { FinalError } from '../../domain/errors.js';
import type { EventMacs } from '../../domain/event-mac.js';
import type { EventStore } from '../ports/event-store.js';
import type { RawLog } from '../ports/raw-log.js';
import { eventChecker, ForeignMac } from './checked-leaves.js';
import { DamagedLog } from './damaged-log.js';

/** Events that are written with another key look forged to every process that has the right one. */
export class WrongEventKey extends FinalError {
  constructor() {
    super(
      'The newest events of the log do not have the MACs that the keys in EVENT_KEY_FILE give them, and nothing is written. Restore that file: it must be the one that the log was written with. If it is, the log was changed: restore the log from a backup.',
    );
  }
}

/**
 * Ensures, before anything is written, that EVENT_KEY_FILE has the key of the newest events. The notary finds
 * any other fault. Throws MissingEventKey, WrongEventKey, EventStoreUnavailable.
 */
export const assertEventKey = async (
  log: Pick<EventStore, 'head' | 'positionBefore'>,
  raw: RawLog,
  macs: EventMacs,
): Promise<void> => {
  const { position } = await log.head();
  if (position === 0n) return;
  const before = await log.positionBefore({ position });
  const from = before === 0n ? before : await log.positionBefore({ position: before });
  let isForeign = false;
  for (const event of (await raw.readStored(from, 2)).toReversed())
    try {
      await eventChecker(raw, macs)([event], 1);
      return;
    } catch (error) {
      if (!(error instanceof DamagedLog)) throw error;
      isForeign ||= error instanceof ForeignMac;
    }
  if (isForeign) throw new WrongEventKey();
};
