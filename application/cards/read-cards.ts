import { cardStream, cardStatuses, type CardStatus } from '../../domain/card.js';
import { parseCardCode, type CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { listPage, rowAt } from '../requests/invalid-cursor.js';
import {
  everyOrganization,
  pagesOf,
  type Page,
  type ReadModels,
  type PageQuery,
  type Stored,
} from '../ports/read-models.js';
import { foldDocument, upToDate, type ReadDeps } from '../projecting/read-your-writes.js';
import { nextTurn } from '../timing/next-turn.js';

/**
 * The canonical form of the code that a client wrote. Throws `missing_id`, and `card_not_found` for an
 * impossible code. (decision 23: how forgiving a code is read)
 */
export const codeFrom = (text: string): CardCode => {
  const parsed = parseCardCode(text);
  switch (parsed.kind) {
    case 'code':
      return parsed.code;
    case 'blank':
      throw new DomainError('missing_id', 'Put a card code in the path.', 'card_code');
    case 'mistyped':
      throw new DomainError(
        'card_not_found',
        'There is no such card. The check character does not fit, so the code was probably mistyped.',
      );
    case 'unknown':
      throw new DomainError('card_not_found', 'There is no such card. A card code looks like HC-7K3M9QX.');
  }
};

/**
 * A card of an organization, or of any organization if `org` is null. Throws `card_not_found`,
 * ReadModelsUnavailable, EventStoreUnavailable.
 */
export const lookUpCard = async (
  deps: ReadDeps,
  code: CardCode,
  org: OrganizationId | null,
): Promise<CardDocument> => {
  const { store, readModels, readYourWrites } = deps;
  const read = async () => (await readModels.get(cards, code))?.document ?? null;
  const fold = async () => foldDocument(cards, await store.readStream(cardStream(code), 0));
  const document = await upToDate(readYourWrites, read, fold);
  if (document === null || (org !== null && document.org !== org))
    throw new DomainError('card_not_found', 'There is no such card in this organization.');
  return document;
};

export interface CardQuery extends Page {
  readonly status: CardStatus | null;
  readonly reference: string | null;
}

/** A cursor is the code of a card, however it is typed; no card has an empty one. */
const keyIn = (cursor: string): string => {
  const parsed = parseCardCode(cursor);
  return parsed.kind === 'code' ? parsed.code : '';
};

/**
 * A page of an organization's cards, newest first. Throws `invalid_cursor`, ReadModelsUnavailable. (decision
 * 28: order and end of a list)
 */
export const listCards = (
  { readModels }: ReadDeps,
  org: OrganizationId,
  { limit, status, reference, startingAfter }: CardQuery,
): Promise<readonly CardDocument[]> => {
  const where = { ...(status !== null && { status }), ...(reference !== null && { reference }) };
  const page = { limit, startingAfter: startingAfter && keyIn(startingAfter) };
  return listPage(readModels, cards, page, { org, where, what: 'card of this organization' });
};

/** A card, and the cursor of the page after it. */
interface ListedCard {
  readonly card: CardDocument;
  readonly cursor: string;
}

const needsPerson: CardStatus = 'blocked';
const others = cardStatuses.filter((status) => status !== needsPerson);
/** Before the code in a cursor: the cards that need a person are not all listed yet. */
const waitingMark = 'blocked:';

type Row = Stored<CardDocument>;

const newestFirst = (a: Row, b: Row): number => (a.created < b.created ? 1 : -1);

/**
 * Cards of all organizations, or of one: first the cards that need a person, then the others, each newest
 * first; with a status, only that one. Each status is a query of its own, because there is an index for that,
 * and an order of statuses would need another. Throws `invalid_cursor`, ReadModelsUnavailable.
 */
export const listAllCards = async (
  readModels: ReadModels,
  { limit, status, reference, org, startingAfter }: CardQuery & { readonly org: OrganizationId | null },
): Promise<readonly ListedCard[]> => {
  const isWaiting = startingAfter === null || startingAfter.startsWith(waitingMark);
  const key = startingAfter && keyIn(startingAfter.slice(isWaiting ? waitingMark.length : 0));
  const last = await rowAt(readModels, cards, key, 'card of this list', () => true);
  const of = (wanted: CardStatus, limit: number, before: bigint | undefined): Promise<readonly Row[]> => {
    const where = { status: wanted, ...(reference !== null && { reference }) };
    return readModels.page(cards, { org: org ?? everyOrganization, where, limit, before });
  };
  const listed = (rows: readonly Row[], mark = ''): readonly ListedCard[] =>
    rows.map(({ document: card }) => ({ card, cursor: `${mark}${card.code}` }));
  if (status !== null) return listed(await of(status, limit, last?.created));
  const waiting = isWaiting ? await of(needsPerson, limit, last?.created) : [];
  const left = limit - waiting.length;
  if (left === 0) return listed(waiting, waitingMark);
  const from = isWaiting ? undefined : last?.created;
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
