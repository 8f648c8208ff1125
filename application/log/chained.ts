import { DomainError } from '../../domain/errors.js';
import type { RecordedEvent } from '../../domain/events.js';
import { rawOf, verifies, whyDamaged } from './hash-chain.js';
import { asStored } from '../personal/personal.js';

/** A stream differs from what was recorded, so nothing of it is shown. */
export class DamagedStream extends DomainError {
  constructor({ stream, revision }: RecordedEvent, reason: string) {
    super('log_damaged', `The event log is not as it was written: at ${stream}@${revision}, ${reason}.`);
  }
}

/**
 * Makes sure that events of one stream follow the one before them (null: none), each with the hash that its
 * content gives. Throws DamagedStream.
 */
export const assertChained = (previous: RecordedEvent | null, events: readonly RecordedEvent[]): void => {
  let before = previous;
  for (const event of events) {
    if (event.revision !== (before?.revision ?? -1) + 1)
      throw new DamagedStream(event, `it follows revision ${before?.revision ?? -1}`);
    const raw = rawOf(asStored(event));
    if (!verifies(before?.metadata.hash ?? null, raw)) throw new DamagedStream(event, whyDamaged(raw));
    before = event;
  }
};
