import type { MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';

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
