import { momentOf, type Moment } from '../../application/as-of.js';
import type { EventStore } from '../../application/ports/event-store.js';
import { DomainError } from '../../domain/errors.js';
import type { Instant } from '../../domain/ids.js';
import { optionalText } from './fields.js';
import { isoTime } from './responses.js';

const position = /^\d{1,18}$/;

/** A query parameter that names a moment: a position of the log or a time. */
export const momentParam = (description: string) =>
  optionalText({ code: 'invalid_parameter', description, examples: ['2026-03-31T23:59:59Z'] });

/** Reads a moment. Throws `invalid_parameter`, also for a position that the log has not reached. */
export const momentFrom = async (
  store: Pick<EventStore, 'head' | 'markAt'>,
  sent: string | null,
  param: string,
): Promise<Moment | null> => {
  if (sent === null) return null;
  if (position.test(sent)) return momentOf(store, BigInt(sent), param);
  const time = isoTime.test(sent) ? Date.parse(sent) : NaN;
  if (Number.isNaN(time))
    throw new DomainError(
      'invalid_parameter',
      `\`${param}\` must be a position of the log or an ISO 8601 time.`,
      param,
    );
  return { position: null, at: new Date(time).toISOString() as Instant };
};
