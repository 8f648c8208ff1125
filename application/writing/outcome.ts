import { NamedError } from '../../domain/errors.js';
import type { CommandId } from '../../domain/ids.js';
import { EventStoreUnavailable } from '../ports/event-store.js';

/**
 * Whether the command took effect can't be known within this request. The client gets no response, and learns
 * it from a retry with the same key. (docs/architecture.md#unknown-outcomes)
 */
export class OutcomeUnknown extends NamedError {
  constructor(readonly command: CommandId) {
    super('the outcome of an append is unknown');
  }
}

/** The request began too long ago to be carried out; it wrote nothing. */
export class RequestOverdue extends NamedError {}

/** Other writers were always faster; this command wrote nothing. */
export class TooContended extends NamedError {}

/** Whether the same work may succeed later, as it is. */
export const isPassing = (error: unknown): boolean =>
  error instanceof EventStoreUnavailable || error instanceof OutcomeUnknown || error instanceof TooContended;
