import { Counter, type Registry } from 'prom-client';

const registerCount =
  (name: string, help: string) =>
  (registry: Registry, count: () => number): void => {
    const counter = new Counter({
      name,
      help,
      registers: [registry],
      collect: () => {
        counter.reset();
        counter.inc(count());
      },
    });
  };

export const registerForeignEvents = registerCount(
  'foreign_events_total',
  'Events of other programs in streams that belong to this service, passed over.',
);

export const registerUnreadable = registerCount(
  'personal_unreadable_total',
  'Events whose personal data could not be read although nothing erased it.',
);
