import { card, cardStream, requireCard } from '../domain/card.js';
import type { CardCode } from '../domain/card-code.js';
import type { RecordedEvent } from '../domain/events.js';
import type { CardDocument } from '../projections/cards.js';
import { foldCard, type ReadCardsDeps } from './read-cards.js';
import { parseEvent } from '../domain/events.js';
import { DomainError } from '../domain/errors.js';

/** A card with all that production needs. */
export interface CardForOperator {
  readonly card: CardDocument;
  readonly org: string;
  /** Null if it was erased or can't be read any more. */
  readonly message: string | null;
  readonly designId: string;
  readonly source: 'api' | 'hook';
}

/**
 * Every event of a card, oldest first, or of a send that was abandoned. Throws `card_not_found`,
 * EventStoreUnavailable.
 */
export const cardHistory = async (
  { store }: Pick<ReadCardsDeps, 'store'>,
  code: CardCode,
): Promise<readonly RecordedEvent[]> => {
  const events = await store.readStream(cardStream(code), 0);
  if (events.length === 0) throw new DomainError('card_not_found', 'There is no such card.');
  return events;
};

/** A card of any organization, from its stream. Throws `card_not_found`, EventStoreUnavailable. */
export const cardForOperator = async (
  deps: Pick<ReadCardsDeps, 'store'>,
  code: CardCode,
): Promise<CardForOperator> => {
  const events = await cardHistory(deps, code);
  const { order, message } = requireCard(
    events.map((event) => parseEvent(card, event)).reduce(card.evolve, card.initial),
  );
  const document = foldCard(events);
  if (document === null) throw new DomainError('card_not_found', 'There is no such card.');
  return { card: document, org: order.org, message, designId: order.design.id, source: order.source.kind };
};
