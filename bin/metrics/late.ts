import type { Registry } from 'prom-client';
import type { Checkpoints } from '../../application/ports/checkpoints.js';
import type { DeliveryLog } from '../../application/ports/delivery-log.js';
import type { LogReader } from '../../application/ports/event-store.js';
import type { Clock } from '../../application/ports/system.js';
import type { Suspensions } from '../../application/organizations/suspensions.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { measured, registerMetrics } from './measured.js';
import { measureLag } from './projection-lag.js';

export interface LatenessDeps {
  readonly store: Pick<LogReader, 'head' | 'readLog'>;
  readonly checkpoints: Pick<Checkpoints, 'all'>;
  readonly deliveries: Pick<DeliveryLog, 'depth'>;
  readonly suspensions: Pick<Suspensions, 'isSuspended'>;
  readonly clock: Clock;
}

/**
 * Registers the work that other processes have left undone, as their stores show it: a dead process can't
 * hide it. Figures that can't be measured are left out. (docs/operations.md#watch)
 */
export const registerLateness = (registry: Registry, deps: LatenessDeps): void => {
  const { store, checkpoints, deliveries, suspensions, clock } = deps;
  const secondsSince = (time: Milliseconds): number => Math.max(0, clock.now() - time) / 1_000;

  const measure = measureLag(store, clock);
  const readers = measured(clock, async () => {
    const all = await checkpoints.all();
    return { all, lag: await measure(all.map(({ position }) => position)) };
  });
  /** Deliveries of suspended organizations wait for the end of the suspension. */
  const oldestOf = async (due: ReadonlyMap<OrganizationId, Milliseconds>): Promise<Milliseconds | null> => {
    for (const [org, time] of [...due].toSorted(([, a], [, b]) => a - b))
      if (!(await suspensions.isSuspended(org).catch(() => false))) return time;
    return null;
  };
  const depth = measured(clock, async () => {
    const found = await deliveries.depth(clock.now());
    return { ...found, oldestDue: await oldestOf(found.oldestDue) };
  });
  registerMetrics(registry, {
    'log_reader_lag_seconds{reader}': [
      'How much older the first event that the reader has not handled is than the last event of the log. Up to 5 s are usual.',
      async () => {
        const { all, lag } = (await readers()) ?? { all: [] };
        return all.map(({ name, position }) => [name, (lag?.of(position) ?? 0) / 1_000] as const);
      },
    ],
    open_work_oldest_seconds: [
      'Age of the oldest half-done work that waits for the reconciler, up to 6 s late; 0 if there is none.',
      async () => {
        const found = await readers();
        const begun = found?.all.flatMap(({ openSince }) => openSince ?? []);
        return begun === undefined ? null : Math.max(0, ...begun.map(secondsSince));
      },
    ],
    webhook_oldest_due_seconds: [
      'How long the oldest due delivery has waited, without disabled endpoints and suspended organizations; 0 if none is due.',
      async () => {
        const found = await depth();
        return found && (found.oldestDue === null ? 0 : secondsSince(found.oldestDue));
      },
    ],
    webhook_pending_deliveries: [
      'Deliveries that wait for an attempt, without disabled endpoints; counted up to 100,000.',
      async () => (await depth())?.pending ?? null,
    ],
    webhook_dead_letters: [
      'Deliveries whose attempts are used up; counted up to 100,000.',
      async () => (await depth())?.deadLetters ?? null,
    ],
    webhook_disabled_endpoints: [
      'Endpoints that failed too often or were switched off.',
      async () => (await depth())?.disabledEndpoints ?? null,
    ],
  });
};
