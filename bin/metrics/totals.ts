import type { Registry } from 'prom-client';
import type { Clock } from '../../application/ports/system.js';
import type { Totals } from '../../application/organizations/read-organizations.js';
import type { Milliseconds } from '../../domain/ids.js';
import { measured, registerMetrics } from './measured.js';

/** How often it is counted at most. */
const cacheTtl: Milliseconds = 60_000;
/** A count that takes long is made seldom: it takes a hundredth of the time at most. */
const restsFor = 100;

/**
 * Registers the numbers of cards and credits. It counts when it is scraped and the last count is old; while
 * it does, or can't, the last numbers are shown. `warn` is called with the first failure of several in a row.
 */
export const registerTotals = (
  registry: Registry,
  clock: Clock,
  count: (failed: (error: unknown) => void) => Promise<Totals>,
  warn: (error: unknown) => void,
): void => {
  let known: Totals = { cards: new Map(), credits: null };
  let isFailing = false;
  const totals = measured(
    clock,
    async () => {
      const failures: unknown[] = [];
      try {
        const { cards, credits } = await count((error) => failures.push(error));
        known = { cards: new Map([...known.cards, ...cards]), credits: credits ?? known.credits };
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0 && !isFailing) warn(failures[0]);
      isFailing = failures.length > 0;
      return known;
    },
    { pause: (took) => Math.max(cacheTtl, took * restsFor), keepsLast: true },
  );
  registerMetrics(registry, {
    'cards_by_status{status}': [
      'Cards of all organizations; held ones are blocked. Counted at most once a minute.',
      async () => (await totals())?.cards ?? [],
    ],
    credits_outstanding: [
      'Unspent credits of all organizations. Counted at most once a minute.',
      async () => (await totals())?.credits ?? null,
    ],
  });
};
