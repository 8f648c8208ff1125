import { Counter, type Registry } from 'prom-client';

export const registerForeignEvents = (registry: Registry, count: () => number): void => {
  const counter = new Counter({
    name: 'foreign_events_total',
    help: 'Events of other programs that were passed over, in streams of the event store with names of this service.',
    registers: [registry],
    collect: () => {
      counter.reset();
      counter.inc(count());
    },
  });
};
