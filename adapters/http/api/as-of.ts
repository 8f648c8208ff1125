import { latest, momentOf, type AsOf, type Moment, type Past } from '../../../application/history/as-of.js';
import type { EventStore, Place } from '../../../application/ports/event-store.js';
import { z } from 'zod';
import { parseInstant } from '../../../domain/calendar.js';
import { truncate } from '../../../domain/text.js';
import { DomainError } from '../../../domain/errors.js';
import { optionalText } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { instant, pageOf, timestamp } from './responses.js';
import type { TextResponse } from '../server/route.js';

const position = /^\d{1,18}$/;

/** A query parameter that names a moment: a position of the log or a time. */
export const momentParam = (description: string, example = '2026-03-31T23:59:59Z') =>
  optionalText(description, example, { code: 'invalid_parameter' });

type Log = Pick<EventStore, 'head' | 'markAt'>;

/** Reads a moment. Throws `invalid_parameter`, also for a position that is none of this log's. */
export const momentFrom = async (log: Log, sent: string | null, param: string): Promise<Moment | null> =>
  sent === null ? null : readMoment(log, sent, param);

/** Reads a place in the log. Throws as `momentFrom`. */
export const placeFrom = async (log: Log, sent: string, param: string): Promise<Place> => {
  const { position, at } = await readMoment(log, sent, param);
  return position === null ? { time: Date.parse(at) } : { position };
};

const readMoment = async (log: Log, sent: string, param: string): Promise<Moment> => {
  if (position.test(sent)) return momentOf(log, BigInt(sent), param);
  const at = parseInstant(sent);
  if (at === null)
    throw new DomainError(
      'invalid_parameter',
      `\`${param}\` must be a position of the log or an ISO 8601 time, not \`${truncate(sent, 100)}\`.`,
      param,
    );
  return { position: null, at };
};

/** A further field of a response as of a moment: the event at which it stopped, in its stream. */
export const asOfField = {
  as_of: z
    .object({ position: shown.position, revision: shown.revision, at: instant('When the event occurred.') })
    .nullable()
    .optional()
    .describe('There if `at` was sent: the last event that the response is made of; null if there is none.'),
};

export const atParam = momentParam(
  'As it was at this position of the log or this time (ISO 8601), from the events up to then alone. Omit it for now.',
);

export const atQuery = z.object({ at: atParam });

export const asOfBody = (past: AsOf | null) => ({
  as_of: past && {
    position: past.position === null ? null : String(past.position),
    revision: String(past.revision),
    at: timestamp(past.at),
  },
});

/** A page of things as they were at a moment. */
export const pastPage = <Thing>(
  pasts: readonly Past<Thing>[],
  limit: number,
  cursorOf: (was: Thing) => string,
  shape: (was: Thing) => object,
): TextResponse =>
  pageOf(
    pasts,
    limit,
    ({ was }) => cursorOf(was),
    ({ was }) => shape(was),
    asOfBody(latest(pasts)),
  );
