import type { Clock } from '../../../application/ports/system.js';
import { parseInstant } from '../../../domain/calendar.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { LabelledControl, useSent } from '../web/form.js';
import { useVisit } from '../web/visit.js';
import type { Sent } from './page.js';

const day = 24 * 60 * 60 * 1000;

/** A time as the field of a form holds it: without a zone, to the minute. */
const written = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/;

/** A time as people in a zone read it, for the field of a form. */
export const localTime = (at: Milliseconds, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
    .format(at)
    .replace(' ', 'T');

/**
 * The time in a field. If the clocks are set back and a time comes twice, the earlier one; throws
 * `invalid_parameter`.
 */
export const readLocalTime = (text: string, timeZone: string, param: string): Milliseconds => {
  const inUtc = written.test(text) ? parseInstant(text) : null;
  if (inUtc === null)
    throw new DomainError('invalid_parameter', 'Give a day and a time, like 2026-03-02T15:04.', param);
  const wall = Date.parse(inUtc);
  const offsetAt = (at: Milliseconds): Milliseconds => Date.parse(`${localTime(at, timeZone)}Z`) - at;
  const [before, after] = [wall - offsetAt(wall - day), wall - offsetAt(wall + day)];
  return before + offsetAt(before) === wall ? before : after;
};

/** The field for the time since which something is done: the last day, unless another was typed. */
export const Since = ({ clock }: { readonly clock: Clock }) => {
  const { timeZone } = useVisit();
  const value = useSent('since') || localTime(clock.now() - day, timeZone);
  return (
    <LabelledControl name="since" label="Since" hint={timeZone.replaceAll('_', ' ')}>
      {(facts) => <input {...facts} type="datetime-local" value={value} required />}
    </LabelledControl>
  );
};

/** The time in that field. */
export const sinceIn = (sent: Sent, timeZone: string): Milliseconds =>
  readLocalTime(sent('since'), timeZone, 'since');
