import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../application/ports/system.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import type { Milliseconds } from '../../domain/ids.js';

/** How long a measurement serves the gauges of a scrape. */
const scrapeTtl: Milliseconds = 500;
/** How long a scrape waits for something that is measured for it. */
const scrapeTimeout: Milliseconds = 500;

interface Measuring {
  /** The age from which a measurement that took so long is made again. */
  readonly pause?: (took: Milliseconds) => Milliseconds;
  /** The last result is returned while the next takes long. */
  readonly keepsLast?: boolean;
}

/**
 * Measures on demand, if the last measurement is old enough. Returns the last result; null before the first,
 * after a failure, and while the next takes long.
 */
export const measured = <Found>(
  clock: Clock,
  measure: () => Promise<Found>,
  { pause = () => scrapeTtl, keepsLast = false }: Measuring = {},
): (() => Promise<Found | null>) => {
  let found: Found | null = null;
  let againAt = -Infinity;
  let measuring: Promise<void> | null = null;
  const measureNow = async (): Promise<void> => {
    const began = clock.monotonic();
    found = await measure().catch(() => null);
    againAt = clock.monotonic() + pause(clock.monotonic() - began);
    measuring = null;
  };
  return async () => {
    if (measuring === null && clock.monotonic() >= againAt) measuring = measureNow();
    if (measuring === null) return found;
    const result = measuring.then(() => found);
    return withTimeout(clock, scrapeTimeout, result, () => (keepsLast ? found : null));
  };
};

/** A value; null if there is none. Or several, each with the value of the metric's label. */
type Read = number | null | Iterable<readonly [string, number]>;

/**
 * Registers metrics by their names, with what they say and how they are read at each scrape; missing values
 * are left out. Those whose names end in `_total` are counts that are kept elsewhere, and others gauges. A
 * name may be followed by that of a label: `part_ready{part}`.
 */
export const registerMetrics = (
  registry: Registry,
  metrics: Readonly<Record<string, readonly [help: string, read: () => Read | Promise<Read>]>>,
): void => {
  for (const [words, [help, read]] of Object.entries(metrics)) {
    const [name = '', label = ''] = words.split(/[{}]/);
    const Kind = name.endsWith('_total') ? Counter : Gauge;
    const metric: Counter | Gauge = new Kind({
      name,
      help,
      labelNames: label === '' ? [] : [label],
      registers: [registry],
      collect: async () => {
        const value = await read();
        metric.reset();
        if (typeof value === 'number') return metric.inc(value);
        if (value === null) return metric.remove();
        for (const [of, one] of new Map(value)) metric.inc({ [label]: of }, one);
      },
    });
  }
};
