import { cardStatuses, type CardStatus } from '../../domain/card.js';
import { OrganizationId } from '../../domain/ids.js';
import { foldName } from '../../domain/text.js';
import { cards } from '../../projections/cards.js';
import { organizations, type OrganizationDocument } from '../../projections/organizations.js';
import { rowAt } from '../requests/invalid-cursor.js';
import { pagesOf, type Page, type Stored, everyOrganization, type ReadModels } from '../ports/read-models.js';
import { readAccount, readBalance, type ReadAccountsDeps } from './read-accounts.js';
import { balances } from '../../projections/balances.js';
import { nextTurn } from '../timing/next-turn.js';

/** An organization in the operator's list. */
export interface ListedOrganization extends OrganizationDocument {
  readonly balance: number;
}

export interface OrganizationQuery extends Page {
  /** How the names begin, whatever their case; null for all of them. */
  readonly name: string | null;
}

/** Sorts after every name. */
const afterAll = '\u{10FFFF}';

const pageOf = async (
  { readModels }: ReadAccountsDeps,
  { name, limit }: OrganizationQuery,
  last: Stored<OrganizationDocument> | null,
): Promise<readonly Stored<OrganizationDocument>[]> => {
  if (name === null) return readModels.page(organizations, { org: null, limit, before: last?.created });
  const beginning = foldName(name);
  const after =
    last === null
      ? { agenda: beginning, created: -1n }
      : { agenda: foldName(last.document.name), created: last.created };
  return readModels.agenda(organizations, { upTo: `${beginning}${afterAll}`, after, limit });
};

/**
 * The organizations, newest first; matches of a name's beginning by name. Throws `invalid_cursor` and, like
 * the others here, ReadModelsUnavailable and EventStoreUnavailable.
 */
export const listOrganizations = async (
  deps: ReadAccountsDeps,
  query: OrganizationQuery,
): Promise<readonly ListedOrganization[]> => {
  const { startingAfter, name } = query;
  const isListed = (found: OrganizationDocument) =>
    name === null || foldName(found.name).startsWith(foldName(name));
  const what = 'organization of this list';
  const last = await rowAt(deps.readModels, organizations, startingAfter, what, isListed);
  const rows = await pageOf(deps, query, last);
  return Promise.all(
    rows.map(async ({ document }) => ({
      ...document,
      balance: await readBalance(deps, OrganizationId.parse(document.id)),
    })),
  );
};

/** How many cards of an organization have each status. */
export type CardCounts = Readonly<Record<CardStatus, number>>;

/** Throws `not_found`. */
export const readOrganization = async (
  deps: ReadAccountsDeps,
  org: OrganizationId,
): Promise<ListedOrganization & { readonly cards: CardCounts }> => {
  const account = await readAccount(deps, org);
  const balance = await readBalance(deps, org);
  const counts: Partial<Record<CardStatus, number>> = {};
  // One after the other: there may be millions, and no request waits for this.
  for (const status of cardStatuses)
    counts[status] = await deps.readModels.count(cards, { org, where: { status } });
  return { ...account, balance, cards: counts as CardCounts };
};

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
