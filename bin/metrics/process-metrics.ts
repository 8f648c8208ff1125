import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../application/ports/system.js';
import { registerMetrics } from './measured.js';

/** How often the loop is looked at, in milliseconds. The histogram counts it as a part of each delay. */
const resolution = 20;
const nanoseconds = 1e9;

const secondsLate = (delay: number): number => Math.max(0, delay / nanoseconds - resolution / 1000);

/**
 * Registers the costs of the process itself, and its version. The loop is watched from the first scrape on: a
 * process that is never scraped doesn't watch.
 */
export const registerProcessMetrics = (
  registry: Registry,
  clock: Clock,
  { version, role }: { readonly version: string; readonly role: string },
): void => {
  new Gauge({
    name: 'service_info',
    help: 'Always 1: the version of the service, its role, and the version of Node.',
    labelNames: ['version', 'role', 'node'] as const,
    registers: [registry],
  }).set({ version, role, node: process.versions.node }, 1);
  const began = clock.now() / 1000 - process.uptime();
  let delays: IntervalHistogram | null = null;
  let max = 0;
  registerMetrics(registry, {
    process_start_time_seconds: ['When the process began, in seconds since 1970.', () => began],
    process_resident_memory_bytes: ['Memory of the process.', () => process.memoryUsage.rss()],
    process_heap_bytes: [
      'Memory that objects of the main thread take.',
      () => process.memoryUsage().heapUsed,
    ],
    process_cpu_seconds_total: [
      'Processor time of all threads of the process.',
      () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1e6;
      },
    ],
    event_loop_lag_p99_seconds: [
      'How late the main thread came to its work since the last scrape, at the 99th percentile.',
      () => {
        if (delays === null) {
          delays = monitorEventLoopDelay({ resolution });
          delays.enable();
        }
        const isEmpty = delays.count === 0;
        const p99 = isEmpty ? 0 : secondsLate(delays.percentile(99));
        // Before the next gauge is read.
        max = isEmpty ? 0 : secondsLate(delays.max);
        delays.reset();
        return p99;
      },
    ],
    event_loop_lag_max_seconds: [
      'How late the main thread came to its work since the last scrape, at most.',
      () => max,
    ],
  });
};
