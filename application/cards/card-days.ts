import { addDays, today } from '../../domain/calendar.js';
import { insteadOf } from '../../domain/errors.js';
import type { Instant, LocalDate, OrganizationId } from '../../domain/ids.js';
import { cardCounts, cardDays, type CardCount } from '../../projections/card-days.js';
import { ReadModelsUnavailable, type ReadModels } from '../ports/read-models.js';

/** Counts of an organization's cards on a day of the service's time zone. */
export type CardDay = { readonly day: LocalDate } & Readonly<Record<CardCount, number>>;

const noCards = { accepted: 0, mailed: 0, cancelled: 0 } satisfies Record<CardCount, number>;

export interface DaysWanted {
  readonly now: Instant;
  readonly timeZone: string;
  /** How many, today included. */
  readonly days: number;
}

/**
 * The last days, oldest first, including days without cards; null while they are counted for the first time.
 * In a time zone that is not whole hours from UTC, an hour belongs to the day on which it begins.
 */
export const readCardDays = async (
  { readModels }: { readonly readModels: ReadModels },
  org: OrganizationId,
  { now, timeZone, days }: DaysWanted,
): Promise<readonly CardDay[] | null> => {
  // The first and the last local day each lie in two days of UTC.
  const read = readModels.page(cardDays, { org, limit: days + 1 });
  // A page is shown without its counts rather than not at all.
  const rows = await read.catch(insteadOf(ReadModelsUnavailable, null));
  if (rows === null) return null;
  const first = addDays(today(now, timeZone), 1 - days);
  const counted = Array.from({ length: days }, (_, index) => ({ day: addDays(first, index), ...noCards }));
  for (const { document } of rows)
    for (const count of cardCounts)
      for (const [hour, cards] of document[count].entries()) {
        if (cards === 0) continue;
        const at = `${document.day}T${String(hour).padStart(2, '0')}:00:00.000Z` as Instant;
        const own = counted.find(({ day }) => day === today(at, timeZone));
        if (own !== undefined) own[count] += cards;
      }
  return counted;
};
