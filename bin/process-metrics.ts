import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../application/ports/system.js';

/** How often the loop is looked at, in milliseconds. The histogram counts it as a part of each delay. */
const resolution = 20;
const nanoseconds = 1e9;
const quantiles = [0.5, 0.99, 1] as const;

const secondsLate = (delays: IntervalHistogram, quantile: number): number => {
  if (delays.count === 0) return 0;
  const late = quantile === 1 ? delays.max : delays.percentile(quantile * 100);
  return Math.max(0, late / nanoseconds - resolution / 1000);
};

/**
 * Registers what the process itself costs, and which version it is. The loop is watched from the first scrape
 * on: a process that nobody asks does not look.
 */
export const registerProcessMetrics = (
  registry: Registry,
  clock: Clock,
  { version, role }: { readonly version: string; readonly role: string },
): void => {
  const registers = [registry];
  new Gauge({
    name: 'service_info',
    help: 'Always 1: the version of the service, its role, and the version of Node.',
    labelNames: ['version', 'role', 'node'] as const,
    registers,
  }).set({ version, role, node: process.versions.node }, 1);
  const began = clock.now() / 1000 - process.uptime();
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process began, in seconds since 1970.',
    registers,
  }).set(began);
  const processor = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of all threads of the process.',
    registers,
    collect: () => {
      const { user, system } = process.cpuUsage();
      processor.reset();
      processor.inc((user + system) / 1e6);
    },
  });
  const memory: Gauge = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    registers,
    collect: () => {
      memory.set(process.memoryUsage.rss());
    },
  });
  const heap: Gauge = new Gauge({
    name: 'process_heap_bytes',
    help: 'Memory that objects of the main thread take.',
    registers,
    collect: () => {
      heap.set(process.memoryUsage().heapUsed);
    },
  });
  let delays: IntervalHistogram | null = null;
  const lag = new Gauge({
    name: 'event_loop_lag_seconds',
    help: 'How much later than planned the main thread came to its work since the scrape before: half of the times, 99 of 100, at most.',
    labelNames: ['quantile'] as const,
    registers,
    collect: () => {
      if (delays === null) {
        delays = monitorEventLoopDelay({ resolution });
        delays.enable();
      }
      for (const quantile of quantiles)
        lag.set({ quantile: String(quantile) }, secondsLate(delays, quantile));
      delays.reset();
    },
  });
};
