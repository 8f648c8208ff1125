import { cardStatuses, type CardStatus } from '../../domain/card.js';
import { balances } from '../../projections/balances.js';
import { cards } from '../../projections/cards.js';
import { organizations } from '../../projections/organizations.js';
import { nextTurn } from '../timing/next-turn.js';
import { everyOrganization, pagesOf, type ReadModels } from '../ports/read-models.js';

/** All organizations together, as far as they could be counted. */
export interface Totals {
  readonly cards: ReadonlyMap<CardStatus, number>;
  readonly credits: number | null;
}

type Counted = Pick<ReadModels, 'get' | 'page' | 'count'>;

/** Read together. Between pages everything else has its turn: embedded read models read on this thread. */
const organizationsAtOnce = 20;

const countCredits = async (readModels: Counted): Promise<number> => {
  let total = 0;
  const query = { org: null, limit: organizationsAtOnce };
  for await (const page of pagesOf(readModels, organizations, query, nextTurn)) {
    const found = await Promise.all(page.map(({ document: { id } }) => readModels.get(balances, id)));
    for (const balance of found) total += balance?.document.balance ?? 0;
  }
  return total;
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
    const count = await tried(readModels.count(cards, { org: everyOrganization, where: { status } }));
    if (count !== null) counts.set(status, count);
  }
  return { cards: counts, credits: await tried(countCredits(readModels)) };
};
