import type { Binary, Collection, Document, Filter, FindOptions, WithId } from 'mongodb';
import type { MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';

/** How many documents go into one request at most. */
export const batchSize = 500;

/** The items in chunks, one per request. */
export const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  );

export const findAll = <Row extends Document>(
  rows: Collection<Row>,
  which: Filter<Row>,
  options?: FindOptions,
): Promise<WithId<Row>[]> => rows.find(which, options).toArray();

/** Takes the next numbers of a sequence, which nothing else gets; returns the first. Gaps are harmless. */
export const takeNumbers = async (database: MongoDatabase, name: string, count: number): Promise<number> => {
  const sequences = database.collection<{ readonly _id: string; readonly last: number }>('sequences');
  const advance = () =>
    sequences.findOneAndUpdate(
      { _id: { $eq: name } },
      { $inc: { last: count } },
      { upsert: true, returnDocument: 'before' },
    );
  const before = await advance().catch((error: unknown) => {
    if (isDuplicate(error)) return advance();
    throw error;
  });
  return (before?.last ?? 0) + 1;
};

export const bytesOf = ({ buffer, position }: Binary): Buffer => Buffer.from(buffer).subarray(0, position);
