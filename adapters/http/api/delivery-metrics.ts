import { Counter, Histogram, type Registry } from 'prom-client';
import type { DeliveryMetrics } from '../../../application/webhooks/attempt-delivery.js';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** Attempts by result, and latencies, of the process that makes them. */
export const deliveryMetrics = (registry: Registry): DeliveryMetrics => {
  const registers = [registry];
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts by result: delivered, retrying or exhausted.',
    labelNames: ['result'] as const,
    registers,
  });
  // The first one of a kind is an increase only where there was a zero before it.
  for (const result of ['delivered', 'retrying', 'exhausted'] as const) attempts.inc({ result }, 0);
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
  return {
    attempted: (result, ms, sinceEvent) => {
      attempts.inc({ result });
      duration.observe(ms / 1000);
      if (sinceEvent !== null) latency.observe(sinceEvent / 1000);
    },
  };
};
