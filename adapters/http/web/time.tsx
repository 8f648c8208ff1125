import type { Instant } from '../../../domain/ids.js';

/** An instant in the time zone of the service, with its name. */
export const Time = ({ at, zone }: { readonly at: Instant; readonly zone: string }) => (
  <time dateTime={at}>
    {new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'short',
    }).format(new Date(at))}
  </time>
);

const days = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', month: 'short', day: 'numeric' });

/** A calendar day in words. */
export const dayName = (day: string): string => days.format(new Date(`${day}T00:00:00Z`));

/** A calendar day. */
export const Day = ({ day }: { readonly day: string }) => <time dateTime={day}>{dayName(day)}</time>;
