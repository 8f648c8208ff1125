import { erasedPayload } from '../../../domain/delivery-payload.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { deliveryRows } from './delivery-rows.js';

interface ErasedCard {
  readonly _id: string;
  readonly at: Milliseconds;
}

/** Deliveries of these cards are stored without anything personal, and started only so. */
export const erasedCards = (database: MongoDatabase) => database.collection<ErasedCard>('erased_cards');

/** Which of the cards were erased. */
export const erasedAmong = async (
  database: MongoDatabase,
  cards: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (cards.length === 0) return new Set();
  const found = await findAll(erasedCards(database), { _id: { $in: [...new Set(cards)] } });
  return new Set(found.map(({ _id }) => _id));
};

/**
 * Takes everything personal out of the deliveries of cards, and marks them in the same update: whatever adds
 * to a body matches unmarked deliveries only.
 */
export const eraseRows = async (database: MongoDatabase, cards: readonly string[]): Promise<void> => {
  if (cards.length === 0) return;
  const deliveries = await deliveryRows(database);
  const which = { card: { $in: [...cards] }, erased: false };
  const rows = await findAll(deliveries, which, { projection: { body: 1 } });
  if (rows.length === 0) return;
  const writes = rows.map(({ _id, body }) => {
    const erased = { body: erasedPayload(body), erased: true, 'attempts.$[].body': null };
    return { updateOne: { filter: { _id: { $eq: _id } }, update: { $set: erased } } };
  });
  await deliveries.bulkWrite(writes, { ordered: false });
};
