import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../application/ports/system.js';
import type { Totals } from '../application/totals.js';
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
 * it does, or can't, the last numbers are shown.
 */
export const registerTotals = (registry: Registry, clock: Clock, count: () => Promise<Totals>): void => {
  let known: Totals | null = null;
  let countAgainAt = -Infinity;
  let counting: Promise<void> | null = null;
  const countNow = async (): Promise<void> => {
    const began = clock.monotonic();
    try {
      known = await count();
    } catch {
      // Another part says that the read models can't be read.
    }
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
      const found = await totals();
      if (found === null) credits.remove();
      else credits.set(found.credits);
    },
  });
};
