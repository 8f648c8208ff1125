import type { Milliseconds } from '../../../domain/ids.js';
import { useVisit } from './visit.js';

/**
 * By time zone: to make one takes a hundred times as long as to use it, and a page of a list shows a hundred.
 */
const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterFor = (zone: string): Intl.DateTimeFormat => {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  formatters.set(zone, made);
  return made;
};

/** A time in the time zone of the service, with its name, and its year unless that is the present one. */
export const Time = ({ at }: { readonly at: string | Milliseconds }) => {
  const { timeZone, year } = useVisit();
  const time = new Date(at);
  return (
    <time dateTime={typeof at === 'string' ? at : time.toISOString()}>
      {formatterFor(timeZone).format(time).replace(`, ${year},`, ',')}
    </time>
  );
};

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A calendar day in words, without its year. */
export const dayName = (day: string): string => {
  const [, month, date] = day.split('-').map(Number);
  return `${months[(month ?? 0) - 1] ?? ''} ${date ?? ''}`;
};

/** A calendar day, with its year unless that is the present one. */
export const Day = ({ day }: { readonly day: string }) => {
  const year = day.slice(0, 4);
  return <time dateTime={day}>{`${dayName(day)}${year === useVisit().year ? '' : `, ${year}`}`}</time>;
};
