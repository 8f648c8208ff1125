import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../application/ports/system.js';
import type { OpenWork } from '../application/credits/reconcile.js';

/** Registers how old the oldest half-done work is. `current` is null in a process that stands by. */
export const registerOpenWork = (registry: Registry, clock: Clock, current: () => OpenWork | null): void => {
  const gauge = new Gauge({
    name: 'open_work_oldest_seconds',
    help: 'How long ago the oldest half-done work was begun that waits for the reconciler; 0 if there is none.',
    registers: [registry],
    collect: () => {
      const begun = current()?.oldest ?? null;
      gauge.set(begun === null ? 0 : Math.max(0, clock.now() - begun) / 1_000);
    },
  });
};
