import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../application/ports/system.js';
import type { Totals } from '../application/organizations/totals.js';
import { within } from '../application/within.js';
import type { Milliseconds } from '../domain/ids.js';

/** How often it is counted at most. */
const countedFor: Milliseconds = 60_000;
/** A count that takes long is made seldom: it takes a hundredth of the time at most. */
const restsFor = 100;
/** How long a scrape waits for a count. */
const patience: Milliseconds = 500;

/**
 * Registers the numbers of cards and credits. It counts when it is scraped and the last count is old; while
 * it does, or can't, the last numbers are shown. `warn` hears of the first failure of several in a row.
 */
export const registerTotals = (
  registry: Registry,
  clock: Clock,
  count: (failed: (error: unknown) => void) => Promise<Totals>,
  warn: (error: unknown) => void,
): void => {
  let known: Totals | null = null;
  let isFailing = false;
  let countAgainAt = -Infinity;
  let counting: Promise<void> | null = null;
  const countNow = async (): Promise<void> => {
    const began = clock.monotonic();
    const failures: unknown[] = [];
    try {
      const found = await count((error) => failures.push(error));
      known = {
        cards: new Map([...(known?.cards ?? []), ...found.cards]),
        credits: found.credits ?? known?.credits ?? null,
      };
    } catch (error) {
      failures.push(error);
    }
    if (failures.length > 0 && !isFailing) warn(failures[0]);
    isFailing = failures.length > 0;
    const now = clock.monotonic();
    countAgainAt = now + Math.max(countedFor, (now - began) * restsFor);
    counting = null;
  };
  const totals = async (): Promise<Totals | null> => {
    if (counting === null && clock.monotonic() >= countAgainAt) counting = countNow();
    if (counting !== null) await within(clock, patience, counting, () => undefined);
    return known;
  };
  const registers = [registry];
  const cards = new Gauge({
    name: 'cards_by_status',
    help: 'Cards of all organizations. Those that are held are blocked.',
    labelNames: ['status'] as const,
    registers,
    collect: async () => {
      for (const [status, number] of (await totals())?.cards ?? []) cards.set({ status }, number);
    },
  });
  const credits = new Gauge({
    name: 'credits_outstanding',
    help: 'Credits that all organizations together have left.',
    registers,
    collect: async () => {
      const found = (await totals())?.credits ?? null;
      if (found === null) credits.remove();
      else credits.set(found);
    },
  });
};
