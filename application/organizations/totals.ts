import { cardStatuses, type CardStatus } from '../../domain/card.js';
import { balances } from '../../projections/balances.js';
import { cards } from '../../projections/cards.js';
import { organizations } from '../../projections/organizations.js';
import { nextTurn } from '../timing/next-turn.js';
import type { ReadModels } from '../ports/read-models.js';

/** All organizations together, as far as they could be counted. */
export interface Totals {
  readonly cards: ReadonlyMap<CardStatus, number>;
  readonly credits: number | null;
}

type Counted = Pick<ReadModels, 'get' | 'page' | 'countAcross'>;

/** Read together. Between pages everything else has its turn: embedded read models read on this thread. */
const organizationsAtOnce = 20;

const countCredits = async (readModels: Counted): Promise<number> => {
  let total = 0;
  let before: bigint | null = null;
  for (;;) {
    const page: readonly { readonly created: bigint; readonly document: { readonly id: string } }[] =
      await readModels.page(organizations, {
        org: null,
        limit: organizationsAtOnce,
        ...(before !== null && { before }),
      });
    const found = await Promise.all(page.map(({ document: { id } }) => readModels.get(balances, id)));
    for (const balance of found) total += balance?.document.balance ?? 0;
    const last = page.at(-1);
    if (last === undefined || page.length < organizationsAtOnce) return total;
    before = last.created;
    await nextTurn();
  }
};

/**
 * Counts one after the other: there may be millions, and no request waits. Counts that fail are left out, and
 * their errors reported.
 */
export const countTotals = async (readModels: Counted, failed: (error: unknown) => void): Promise<Totals> => {
  const tried = async (counting: Promise<number>): Promise<number | null> => {
    try {
      return await counting;
    } catch (error) {
      failed(error);
      return null;
    }
  };
  const counts = new Map<CardStatus, number>();
  for (const status of cardStatuses) {
    const count = await tried(readModels.countAcross(cards, { status }));
    if (count !== null) counts.set(status, count);
  }
  return { cards: counts, credits: await tried(countCredits(readModels)) };
};
