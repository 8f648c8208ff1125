import { card, cardStream, requireCard, type Order } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { parseEvent, type RecordedEvent } from '../../domain/events.js';
import type { CardDocument } from '../../projections/cards.js';
import { asOf, recordAt, type Moment, type Past } from '../history/as-of.js';
import { foldCard, type ReadCardsDeps } from './read-cards.js';
import { DomainError } from '../../domain/errors.js';

/** A card with all that production needs. */
export interface CardForOperator {
  readonly card: CardDocument;
  readonly org: string;
  /** Null if it was erased or can't be read any more. */
  readonly message: string | null;
  readonly designId: string;
  readonly source: Order['source']['kind'];
}

/**
 * All events of a card or of an abandoned send, oldest first, up to a moment (null: all). Throws
 * `card_not_found`, also if there was no such card yet, DamagedStream, EventStoreUnavailable.
 */
export const cardHistory = async (
  { store }: Pick<ReadCardsDeps, 'store'>,
  code: CardCode,
  moment: Moment | null,
): Promise<readonly RecordedEvent[]> => (await recordOf(store, code, moment)).events;

const recordOf = async (store: ReadCardsDeps['store'], code: CardCode, moment: Moment | null) => {
  const record = await recordAt(store, cardStream(code), moment);
  if (record.events.length === 0) throw new DomainError('card_not_found', 'There is no such card.');
  return record;
};

/**
 * A card of any organization, from its stream: as it is, or as it was at a moment. Throws `card_not_found`,
 * DamagedStream, EventStoreUnavailable.
 */
export const cardForOperator = async (
  { store }: Pick<ReadCardsDeps, 'store'>,
  code: CardCode,
  moment: Moment | null,
): Promise<Past<CardForOperator>> => {
  const { events, erasedAt } = await recordOf(store, code, moment);
  const { order, message } = requireCard(
    events.map((event) => parseEvent(card, event)).reduce(card.evolve, card.initial),
  );
  const document = foldCard(events);
  const last = events.at(-1);
  if (document === null || last === undefined)
    throw new DomainError('card_not_found', 'There is no such card.');
  const was = {
    card: erasedAt === null ? document : { ...document, erasedAt },
    org: order.org,
    message,
    designId: order.design.id,
    source: order.source.kind,
  };
  return { was, asOf: asOf(last) };
};
