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

interface TimeProps {
  readonly at: string | Milliseconds | null;
  /** The words before it; without a time, they are left out, too. */
  readonly before?: string;
}

/** A time in the time zone of the service, with its name, and its year unless that is the present one. */
export const Time = ({ at, before }: TimeProps) => {
  const { timeZone, year } = useVisit();
  if (at === null) return null;
  const time = new Date(at);
  return (
    <>
      {before}
      <time dateTime={typeof at === 'string' ? at : time.toISOString()}>
        {formatterFor(timeZone).format(time).replace(`, ${year},`, ',')}
      </time>
    </>
  );
};

const days = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** A calendar day in words, without its year. */
export const dayName = (day: string): string => days.format(new Date(day));

/** A calendar day, with its year unless that is the present one. */
export const Day = ({ day }: { readonly day: string }) => {
  const year = day.slice(0, 4);
  return <time dateTime={day}>{`${dayName(day)}${year === useVisit().year ? '' : `, ${year}`}`}</time>;
};
