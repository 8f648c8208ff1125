import { erasedPayload } from '../../../domain/delivery-payload.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';
import { deliveryRows } from './delivery-rows.js';
import { isInserted } from '../client/refusals.js';

interface ErasedCard {
  readonly _id: string;
  readonly at: Milliseconds;
}

export const erasedCards = (database: MongoDatabase) => database.collection<ErasedCard>('erased_cards');

/** From now on deliveries of the card are stored without anything personal, and started only so. */
export const rememberErased = async (
  database: MongoDatabase,
  card: string,
  now: Milliseconds,
): Promise<void> => {
  await isInserted(erasedCards(database).insertOne({ _id: card, at: now }));
};

/** Which of the cards were erased. */
export const erasedAmong = async (
  database: MongoDatabase,
  cards: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (cards.length === 0) return new Set();
  const which = { _id: { $in: [...new Set(cards)] } };
  const found = await erasedCards(database).find(which).toArray();
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
  const rows = await deliveries.find(which, { projection: { body: 1 } }).toArray();
  if (rows.length === 0) return;
  const writes = rows.map(({ _id, body }) => {
    const erased = { body: erasedPayload(body), erased: true, 'attempts.$[].body': null };
    return { updateOne: { filter: { _id: { $eq: _id } }, update: { $set: erased } } };
  });
  await deliveries.bulkWrite(writes, { ordered: false });
};
