import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../application/ports/system.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import type { Milliseconds } from '../../domain/ids.js';

/** How long a measurement serves the gauges of a scrape. */
const scrapeTtl: Milliseconds = 500;
/** How long a scrape waits for something that is measured for it. */
const scrapeTimeout: Milliseconds = 500;

/**
 * Measures on demand, if the last measurement is old enough: `pause` returns the age for the time that a
 * measurement took. Returns the last result; null before the first, and after a failure.
 */
export const measured = <Found>(
  clock: Clock,
  measure: () => Promise<Found>,
  pause: (took: Milliseconds) => Milliseconds = () => scrapeTtl,
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
    if (measuring !== null) await withTimeout(clock, scrapeTimeout, measuring, () => undefined);
    return found;
  };
};

/** Registers a count that is kept elsewhere, and read at each scrape. */
export const registerCount = (registry: Registry, name: string, help: string, read: () => number): void => {
  const counter = new Counter({
    name,
    help,
    registers: [registry],
    collect: () => {
      counter.reset();
      counter.inc(read());
    },
  });
};

/** Registers a gauge whose value is read at each scrape; while that is null, the gauge is left out. */
export const registerGauge = (
  registry: Registry,
  name: string,
  help: string,
  read: () => Promise<number | null>,
): void => {
  const gauge = new Gauge({
    name,
    help,
    registers: [registry],
    collect: async () => {
      const value = await read();
      if (value === null) gauge.remove();
      else gauge.set(value);
    },
  });
};

/** The same for several values, each with a label of its own; missing values are left out. */
export const registerGauges = (
  registry: Registry,
  [name, label]: readonly [name: string, label: string],
  help: string,
  read: () => Promise<Iterable<readonly [string, number]>>,
): void => {
  const gauge = new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect: async () => {
      const values = await read();
      gauge.reset();
      for (const [of, value] of values) gauge.set({ [label]: of }, value);
    },
  });
};
