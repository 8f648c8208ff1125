import { cardStatuses, type CardStatus } from '../../domain/card.js';
import { parseCardCode } from '../../domain/card-code.js';
import type { OrganizationId } from '../../domain/ids.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import {
  everyOrganization,
  pagesOf,
  type PageQuery,
  type ReadModels,
  type Stored,
} from '../ports/read-models.js';
import { nextTurn } from '../timing/next-turn.js';
import type { CardQuery } from './read-cards.js';

export interface AllCardsQuery extends CardQuery {
  readonly org: OrganizationId | null;
}

/** A card, and the cursor of the page after it. */
export interface ListedCard {
  readonly card: CardDocument;
  readonly cursor: string;
}

const needsPerson: CardStatus = 'blocked';
const others = cardStatuses.filter((status) => status !== needsPerson);
/** Before the code in a cursor: the cards that need a person are not all listed yet. */
const waitingMark = 'blocked:';

interface ListPlace {
  /** Whether cards that need a person are still being listed. */
  readonly isWaiting: boolean;
  readonly before: bigint | undefined;
}

const placeOf = async (readModels: ReadModels, cursor: string | null): Promise<ListPlace> => {
  if (cursor === null) return { isWaiting: true, before: undefined };
  const isWaiting = cursor.startsWith(waitingMark);
  const parsed = parseCardCode(isWaiting ? cursor.slice(waitingMark.length) : cursor);
  const row = parsed.kind === 'code' ? await readModels.get(cards, parsed.code) : null;
  if (row === null) throw invalidCursor('card of this list');
  return { isWaiting, before: row.created };
};

type Row = Stored<CardDocument>;

const newestFirst = (a: Row, b: Row): number => (a.created < b.created ? 1 : -1);

/**
 * Cards of all organizations, or of one: first the cards that need a person, then the others, each newest
 * first; with a status, only that one. Each status is a query of its own, because there is an index for that,
 * and an order of statuses would need another. Throws `invalid_cursor`, ReadModelsUnavailable.
 */
export const listAllCards = async (
  readModels: ReadModels,
  { limit, status, reference, org, startingAfter }: AllCardsQuery,
): Promise<readonly ListedCard[]> => {
  const { isWaiting, before } = await placeOf(readModels, startingAfter);
  const of = (wanted: CardStatus, limit: number, from: bigint | undefined): Promise<readonly Row[]> => {
    const where = { status: wanted, ...(reference !== null && { reference }) };
    return readModels.page(cards, { org: org ?? everyOrganization, where, limit, before: from });
  };
  const listed = (rows: readonly Row[], mark = ''): readonly ListedCard[] =>
    rows.map(({ document: card }) => ({ card, cursor: `${mark}${card.code}` }));
  if (status !== null) return listed(await of(status, limit, before));
  const waiting = isWaiting ? await of(needsPerson, limit, before) : [];
  const left = limit - waiting.length;
  if (left === 0) return listed(waiting, waitingMark);
  const from = isWaiting ? undefined : before;
  const rest = await Promise.all(others.map((wanted) => of(wanted, left, from)));
  return [...listed(waiting, waitingMark), ...listed(rest.flat().sort(newestFirst).slice(0, left))];
};

const readAtOnce = 500;
const maxHeld = 10_000;

/**
 * The cards of all organizations that need a person, the oldest first: the `maxHeld` oldest. All are read,
 * because the oldest come last. Throws ReadModelsUnavailable.
 */
export const heldOldestFirst = async (
  readModels: Pick<ReadModels, 'page'>,
): Promise<readonly CardDocument[]> => {
  const query: PageQuery = { org: everyOrganization, where: { status: needsPerson }, limit: readAtOnce };
  let held: CardDocument[] = [];
  for await (const rows of pagesOf(readModels, cards, query, nextTurn))
    held = [...held, ...rows.map(({ document }) => document)].slice(-maxHeld);
  return held.toReversed();
};
