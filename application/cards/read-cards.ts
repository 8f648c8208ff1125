import { cardStream, type CardStatus } from '../../domain/card.js';
import { parseCardCode, type CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import type { RecordedEvent } from '../../domain/events.js';
import type { OrganizationId } from '../../domain/ids.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import { foldDocument, upToDate, type ReadDeps } from '../projecting/up-to-date.js';

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

/** The document that a card's events amount to; null if they make no card. */
export const foldCard = (events: readonly RecordedEvent[]): Promise<CardDocument | null> =>
  foldDocument(cards, events);

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
  const fold = async () => foldCard(await store.readStream(cardStream(code), 0));
  const document = await upToDate(readYourWrites, read, fold);
  if (document === null || (org !== null && document.org !== org))
    throw new DomainError('card_not_found', 'There is no such card in this organization.');
  return document;
};

export interface CardQuery extends Page {
  readonly status: CardStatus | null;
  readonly reference: string | null;
}

/**
 * A page of an organization's cards, newest first. Throws `invalid_cursor`, ReadModelsUnavailable. (decision
 * 28: order and end of a list)
 */
export const listCards = async (
  { readModels }: ReadDeps,
  org: OrganizationId,
  { limit, status, reference, startingAfter }: CardQuery,
): Promise<readonly CardDocument[]> => {
  const before = startingAfter === null ? undefined : await createdAt(readModels, org, startingAfter);
  const where = { ...(status !== null && { status }), ...(reference !== null && { reference }) };
  const rows = await readModels.page(cards, { org, where, limit, before });
  return rows.map(({ document }) => document);
};

const createdAt = async (readModels: ReadModels, org: OrganizationId, cursor: string): Promise<bigint> => {
  const parsed = parseCardCode(cursor);
  const row = parsed.kind === 'code' ? await readModels.get(cards, parsed.code) : null;
  if (row === null || row.document.org !== org) throw invalidCursor('card of this organization');
  return row.created;
};
