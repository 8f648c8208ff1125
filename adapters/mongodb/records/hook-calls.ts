import type { Collection } from 'mongodb';
import type { Instant, Milliseconds, Uuid } from '../../../domain/ids.js';
import {
  HookCallsUnavailable,
  newestKept,
  type HookCall,
  type HookCalls,
} from '../../../application/ports/hook-calls.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { batchSize, findAll, takeNumbers } from '../client/documents.js';
import { isDuplicate, isInserted } from '../client/refusals.js';

type CallRow = Omit<HookCall, 'id'> & {
  readonly _id: Uuid;
  /** Its place in the order in which calls were recorded. */
  readonly number: number;
  /** When the server may remove it; absent while it is among the newest of its hook. */
  readonly endsAt?: Date;
};

/** The uses of a hook. They outlive the calls. */
export interface UseRow {
  readonly _id: Uuid;
  readonly calls: number;
  readonly fires: number;
  readonly lastFiredAt: Instant | null;
  /** The calls that were counted last, so that none is counted twice. */
  readonly counted: readonly string[];
}

const callOf = ({ _id, number: _number, endsAt: _endsAt, ...call }: CallRow): HookCall => ({
  ...call,
  id: _id,
});

const newestFirst = { number: -1 } as const;

/** How many counted calls a hook remembers: far more than can be under way. */
const countedKept = 200;
/** A hook's calls get their ends whenever it has had this many more. */
const endedTogether = 100;

export interface MongoHookCallsOptions {
  readonly database: MongoDatabase;
  /** How long a call is kept once it is not among the newest of its hook. */
  readonly keep: Milliseconds;
}

/**
 * The call log of the inbound hooks, one document per call, and one per hook with its uses. A call that is no
 * longer among the newest of its hook gets the time of its end, after which the server removes it.
 */
export const mongoHookCalls = ({ database, keep }: MongoHookCallsOptions): HookCalls => {
  const indexed = (): Promise<Collection<CallRow>> => database.indexed('hook_calls');
  const uses = (): Collection<UseRow> => database.collection('hook_uses');

  /** Counts a call for its hook, once. Returns how many there are now, or null if it was counted before. */
  const countOf = async ({ id, hook, card, at }: HookCall): Promise<number | null> => {
    const made = card !== null;
    const count = () =>
      uses().findOneAndUpdate(
        { _id: { $eq: hook }, counted: { $nin: [id] } },
        {
          $inc: { calls: 1, fires: made ? 1 : 0 },
          $push: { counted: { $each: [id], $slice: -countedKept } },
          ...(made ? { $set: { lastFiredAt: at } } : { $setOnInsert: { lastFiredAt: null } }),
        },
        { upsert: true, returnDocument: 'after', projection: { counted: 0 } },
      );
    const unlessPresent = (error: unknown) => {
      if (isDuplicate(error)) return null;
      throw error;
    };
    // Another call may have made the document meanwhile; if it is still there, this one was counted in it.
    const counted = (await count().catch(unlessPresent)) ?? (await count().catch(unlessPresent));
    return counted?.calls ?? null;
  };

  const endOf = ({ _id, at }: CallRow) => {
    const endsAt = new Date(Date.parse(at) + keep);
    return { updateOne: { filter: { _id: { $eq: _id } }, update: { $set: { endsAt } } } };
  };

  /** Gives ends to the calls that are no longer among the newest of their hook, and have none yet. */
  const endOldest = async (calls: Collection<CallRow>, hook: Uuid): Promise<void> => {
    const of = { hook: { $eq: hook } };
    const [newest] = await findAll(calls, of, { sort: newestFirst, skip: newestKept, limit: 1 });
    for (let number = newest?.number; number !== undefined;) {
      const older = { ...of, number: { $lte: number } };
      const rows = await findAll(calls, older, { sort: newestFirst, limit: batchSize });
      const endless = rows.filter(({ endsAt }) => endsAt === undefined);
      if (endless.length > 0) await calls.bulkWrite(endless.map(endOf));
      number = endless.length < batchSize ? undefined : endless.at(-1)?.number;
    }
  };

  return guardedPort<HookCalls>(HookCallsUnavailable, {
    record: async (call) => {
      const { id, ...fields } = call;
      const calls = await indexed();
      const count = await countOf(call);
      const number = await takeNumbers(database, 'hook_calls', 1);
      await isInserted(calls.insertOne({ _id: id, number, ...fields }));
      if (count !== null && count % endedTogether === 0) await endOldest(calls, call.hook);
    },

    page: async (hook, { startingAfter, limit }) => {
      const calls = await indexed();
      const of = { hook: { $eq: hook } };
      const after =
        startingAfter === null ? null : await calls.findOne({ _id: { $eq: startingAfter as Uuid }, ...of });
      if (startingAfter !== null && after === null) return null;
      if (limit < 1) return [];
      const filter = after === null ? of : { ...of, number: { $lt: after.number } };
      return (await findAll(calls, filter, { sort: newestFirst, limit })).map(callOf);
    },

    use: async (hooks) => {
      const used = await findAll(uses(), { _id: { $in: [...hooks] } }, { projection: { counted: 0 } });
      return new Map(used.map(({ _id, fires, lastFiredAt }) => [_id, { fireCount: fires, lastFiredAt }]));
    },

    removeOld: async () => {
      // The index `ended` does.
    },
  });
};
