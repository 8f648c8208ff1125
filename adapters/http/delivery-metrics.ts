import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { DeliveryMetrics } from '../../application/webhooks/attempt-delivery.js';
import type { DeliveryLog, QueueDepth } from '../../application/ports/delivery-log.js';
import type { Clock } from '../../application/ports/system.js';

const countedFor = 500;
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/**
 * Queue depth, the age of the oldest due delivery, attempts by result, and latencies. Depths are counted for
 * each scrape; while the store is away they stay as they were.
 */
export const deliveryMetrics = (
  registry: Registry,
  deliveries: Pick<DeliveryLog, 'depth'>,
  clock: Clock,
): DeliveryMetrics => {
  const registers = [registry];
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts by result.',
    labelNames: ['result'] as const,
    registers,
  });
  const duration = new Histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'Time of one attempt.',
    buckets,
    registers,
  });
  const latency = new Histogram({
    name: 'webhook_first_delivery_seconds',
    help: 'Time from an event to its delivery, for deliveries whose first attempt succeeded.',
    buckets,
    registers,
  });
  let counted: { readonly at: number; readonly depth: Promise<QueueDepth | null> } | null = null;
  /** Counted once for all gauges of a scrape. */
  const depth = (): Promise<QueueDepth | null> => {
    const at = clock.now();
    if (counted === null || at - counted.at > countedFor)
      counted = { at, depth: deliveries.depth(at).catch(() => null) };
    return counted.depth;
  };
  const gauge = (name: string, help: string, value: (depth: QueueDepth) => number) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const now = await depth();
        if (now !== null) this.set(value(now));
      },
    });
  gauge('webhook_pending_deliveries', 'Deliveries that wait for an attempt.', ({ pending }) => pending);
  gauge('webhook_dead_letters', 'Deliveries whose attempts are used up.', ({ deadLetters }) => deadLetters);
  gauge(
    'webhook_oldest_due_seconds',
    'How long the delivery that has waited longest has been due; 0 if none is due.',
    ({ oldestDue }) => (oldestDue === null ? 0 : (clock.now() - oldestDue) / 1000),
  );
  gauge(
    'webhook_disabled_endpoints',
    'Endpoints that nothing is sent to: they failed too often, or were switched off.',
    ({ disabledEndpoints }) => disabledEndpoints,
  );
  return {
    attempted: (result, ms, sinceEvent) => {
      attempts.inc({ result });
      duration.observe(ms / 1000);
      if (sinceEvent !== null) latency.observe(sinceEvent / 1000);
    },
  };
};
