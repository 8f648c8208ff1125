import { z } from 'zod';
import { DomainError } from './errors.js';
import { Instant, LocalDate, type Brand } from './ids.js';
import { isBlank, truncate } from './text.js';

/** A day of every year: `MM-DD`. */
export type MonthDay = Brand<string, 'MonthDay'>;
export const MonthDay = z.string().transform((day) => day as MonthDay);

/** The days between which a card arrives, both included. (docs/contract.md#card-fields) */
export const ArrivalWindow = z.object({ earliest: LocalDate, latest: LocalDate });
export type ArrivalWindow = z.infer<typeof ArrivalWindow>;

/**
 * How long a card takes: business days until it is posted, calendar days in the mail. Whole numbers from 0 to
 * 60. (decision 20: the soonest date)
 */
export interface ProductionPlanning {
  readonly productionDays: number;
  readonly mailDays: number;
}

/** The day that many calendar days later, or earlier if `days` is negative. */
export const addDays = (date: LocalDate, days: number): LocalDate =>
  new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10) as LocalDate;

/** 0 is Sunday, 6 is Saturday. */
export const weekday = (date: LocalDate): number => new Date(date).getUTCDay();

/**
 * The day that `YYYY-MM-DD` names; null for any other text and for a day that does not exist: `Date.parse`
 * takes February 30 for March 2. (decision 18: which arrive-by dates are accepted)
 */
export const parseLocalDate = (text: string): LocalDate | null => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) return null;
  const date = text as LocalDate;
  return addDays(date, 0) === date ? date : null;
};

const isoTime = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/i;
const instantLength = 'YYYY-MM-DDTHH:MM:SS.mmmZ'.length;

/**
 * The instant that an ISO 8601 time or date names, in UTC unless it has an offset; null for any other text,
 * and for what does not exist or is in no year of four digits: as text, that would not sort by time.
 */
export const parseInstant = (text: string): Instant | null => {
  const [, date = '', clock = '00:00', zone = 'Z'] = isoTime.exec(text) ?? [];
  const time = parseLocalDate(date) === null ? NaN : Date.parse(`${date}T${clock}${zone.toUpperCase()}`);
  const at = Number.isNaN(time) ? '' : new Date(time).toISOString();
  return at.length === instantLength ? Instant.parse(at) : null;
};

/** Remembers the last result of a pure function: the service asks for the same day all day long. */
const rememberingLast = <Given extends readonly unknown[], Result>(
  compute: (...given: Given) => Result,
): ((...given: Given) => Result) => {
  let last: { readonly given: Given; readonly result: Result } | null = null;
  return (...given) => {
    if (last === null || last.given.some((value, index) => value !== given[index]))
      last = { given, result: compute(...given) };
    return last.result;
  };
};

/** Making a formatter takes a thousand times as long as using it. */
const formatterFor = rememberingLast(
  (timeZone: string): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    }),
);

const minuteLength = 'YYYY-MM-DDTHH:MM'.length;

const dateInMinute = rememberingLast((minute: string, timeZone: string): LocalDate => {
  const [month, day, year] = formatterFor(timeZone)
    .format(Date.parse(`${minute}Z`))
    .split('/');
  return `${year}-${month}-${day}` as LocalDate;
});

/**
 * The date at an instant in an IANA time zone. Throws a RangeError if there is no such zone. (decision 18:
 * which arrive-by dates are accepted)
 */
export const today = (at: Instant, timeZone: string): LocalDate =>
  dateInMinute(at.slice(0, minuteLength), timeZone);

const fixedHolidays: ReadonlySet<string> = new Set(['01-01', '06-19', '07-04', '11-11', '12-25']);

const isFixedHoliday = (date: LocalDate): boolean => fixedHolidays.has(date.slice(5));

/**
 * Martin Luther King, Washington, Memorial, Labor, Columbus and Thanksgiving Day, by month: a weekday, and
 * the first of the seven days on which it can fall.
 */
const floatingHolidays: ReadonlyMap<string, { readonly weekday: number; readonly from: number }> = new Map([
  ['01', { weekday: 1, from: 15 }],
  ['02', { weekday: 1, from: 15 }],
  ['05', { weekday: 1, from: 25 }],
  ['09', { weekday: 1, from: 1 }],
  ['10', { weekday: 1, from: 8 }],
  ['11', { weekday: 4, from: 22 }],
]);

/**
 * The eleven federal holidays. One that falls on a Sunday is kept on Monday as well, one on a Saturday only
 * on that Saturday. (decision 20: the soonest date)
 */
export const isPostalHoliday = (date: LocalDate): boolean => {
  if (isFixedHoliday(date)) return true;
  const day = Number(date.slice(8));
  const on = weekday(date);
  const floating = floatingHolidays.get(date.slice(5, 7));
  if (floating?.weekday === on && day >= floating.from && day <= floating.from + 6) return true;
  return on === 1 && isFixedHoliday(addDays(date, -1));
};

const isSundayOrHoliday = (date: LocalDate): boolean => weekday(date) === 0 || isPostalHoliday(date);

/** Monday to Friday without postal holidays. (decision 20: the soonest date) */
export const isBusinessDay = (date: LocalDate): boolean => !isSundayOrHoliday(date) && weekday(date) !== 6;

/**
 * The last of that many business days, counted from the next day, or backwards from the day before if `days`
 * is negative. (decision 20: the soonest date; decision 32: when production must begin)
 */
export const addBusinessDays = (date: LocalDate, days: number): LocalDate => {
  const step = days < 0 ? -1 : 1;
  let day = date;
  for (let left = Math.abs(days); left > 0;) {
    day = addDays(day, step);
    if (isBusinessDay(day)) left -= 1;
  }
  return day;
};

/**
 * The earliest arrive-by date that a card accepted on `from` can have: never a Sunday or a postal holiday.
 * (decision 20: the soonest date)
 */
export const soonestArrival = rememberingLast(
  (from: LocalDate, { productionDays, mailDays }: ProductionPlanning): LocalDate => {
    let day = addDays(addBusinessDays(from, productionDays), mailDays);
    while (isSundayOrHoliday(day)) day = addDays(day, 1);
    return day;
  },
);

/**
 * The window that ends on the arrive-by date: it begins four days earlier, or five if that day is a Sunday or
 * a postal holiday. (decision 19: when the window begins)
 */
export const arrivalWindow = rememberingLast((latest: LocalDate): ArrivalWindow => {
  const earliest = addDays(latest, -4);
  return { earliest: isSundayOrHoliday(earliest) ? addDays(latest, -5) : earliest, latest };
});

/**
 * The day on which production must begin for a card to arrive by `latest`. It can be earlier than the day on
 * which the card was accepted. (decision 32: the path of a card through production)
 */
export const dueDay = rememberingLast(
  (latest: LocalDate, { productionDays, mailDays }: ProductionPlanning): LocalDate =>
    addBusinessDays(addDays(latest, -mailDays), -productionDays),
);

const existingDate = (what: string, text: string, shown = ''): LocalDate => {
  const date = parseLocalDate(text);
  if (date === null)
    throw new DomainError('invalid_date', `${what} must be a date that exists, written YYYY-MM-DD${shown}.`);
  return date;
};

/**
 * The arrive-by date that a client asks for. Throws `invalid_date`. (decision 18: which arrive-by dates are
 * accepted)
 */
export const readArriveOn = (text: string): LocalDate =>
  existingDate('The arrive-by date', text, `, not \`${truncate(text, 40)}\``);

/**
 * The day on which a contact began to work somewhere. Throws `invalid_date`. (decision 21: dates of a
 * contact)
 */
export const readWorkAnniversary = (text: string): LocalDate | null =>
  isBlank(text) ? null : existingDate('The work anniversary', text);

/**
 * The arrive-by date, if it can be honored. Throws `invalid_date`; the message gives the earliest possible
 * date. (decision 18: which arrive-by dates are accepted)
 */
export const honored = (date: LocalDate, from: LocalDate, planning: ProductionPlanning): LocalDate => {
  const soonest = soonestArrival(from, planning);
  if (date < soonest)
    throw new DomainError(
      'invalid_date',
      `${date} is ${date < from ? 'in the past' : 'too soon'}. The earliest possible arrive-by date is ${soonest}.`,
    );
  return date;
};

/**
 * A birthday from `MM-DD` or `YYYY-MM-DD`; the year is dropped. Throws `invalid_birthday`: 02-29 is one,
 * 2023-02-29 isn't. (decision 21: dates of a contact)
 */
export const readBirthday = (text: string): MonthDay | null => {
  if (isBlank(text)) return null;
  const date = parseLocalDate(/^\d{2}-\d{2}$/.test(text) ? `2000-${text}` : text);
  if (date === null)
    throw new DomainError(
      'invalid_birthday',
      'The birthday must be a day that exists, written MM-DD or YYYY-MM-DD.',
    );
  return date.slice(5) as MonthDay;
};

/**
 * How many anniversaries of a date there have been by a day; 0 if the date is yet to come. In a year without
 * February 29, its anniversary is March 1. (decision 48: what a template variable stands for)
 */
export const wholeYearsSince = (date: LocalDate, on: LocalDate): number => {
  const years = Number(on.slice(0, 4)) - Number(date.slice(0, 4));
  return Math.max(0, on.slice(5) < date.slice(5) ? years - 1 : years);
};
