import { addDays, today } from '../../domain/calendar.js';
import { insteadOf } from '../../domain/errors.js';
import type { Instant, LocalDate, OrganizationId } from '../../domain/ids.js';
import { cardCounts, cardDays, type CardCount, type CardDayDocument } from '../../projections/card-days.js';
import { ReadModelsUnavailable, type ReadModels } from '../ports/read-models.js';

/** Counts of an organization's cards on a day of the service's time zone. */
export type CardDay = { readonly day: LocalDate } & Readonly<Record<CardCount, number>>;

export interface DaysWanted {
  readonly now: Instant;
  readonly timeZone: string;
  /** How many, today included. */
  readonly days: number;
}

/** Each hour of a document in which something was counted, by the local day on which it begins. */
const hoursOf = (document: CardDayDocument, timeZone: string): readonly CardDay[] =>
  Array.from({ length: 24 }, (_, hour) => {
    const [accepted = 0, mailed = 0, cancelled = 0] = cardCounts.map((count) => document[count][hour]);
    if (accepted + mailed + cancelled === 0) return null;
    const at = new Date(`${document.day}T${String(hour).padStart(2, '0')}:00:00Z`).toISOString() as Instant;
    return { day: today(at, timeZone), accepted, mailed, cancelled };
  }).filter((counted) => counted !== null);

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
  const counted = rows.flatMap(({ document }) => hoursOf(document, timeZone));
  const last = today(now, timeZone);
  return Array.from({ length: days }, (_, index) => {
    const day = addDays(last, index + 1 - days);
    const own = counted.filter((hour) => hour.day === day);
    const sum = (count: CardCount): number => own.reduce((total, hour) => total + hour[count], 0);
    return { day, accepted: sum('accepted'), mailed: sum('mailed'), cancelled: sum('cancelled') };
  });
};
