import type { Collection, IndexDescription } from 'mongodb';
import type { ErrorCode } from '../../../domain/errors.js';
import { Instant, OrganizationId, Uuid, type Milliseconds } from '../../../domain/ids.js';
import {
  HookCallsUnavailable,
  newestKept,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../../application/ports/hook-calls.js';
import { batchSize } from '../client/chunks.js';
import { guarded, type MongoDatabase } from '../client/database.js';
import { isDuplicate, isInserted } from '../client/refusals.js';

interface CallRow {
  readonly _id: string;
  /** Its place in the order in which calls were recorded. */
  readonly number: number;
  readonly hook: string;
  readonly org: string;
  readonly at: string;
  readonly status: number;
  readonly code: string | null;
  readonly card: string | null;
  readonly requestId: string;
  /** When the server may remove it; absent while it is among the newest of its hook. */
  readonly endsAt?: Date;
}

interface SequenceRow {
  readonly _id: string;
  readonly last: number;
}

/** The uses of a hook. They outlive the calls. */
export interface UseRow {
  readonly _id: string;
  readonly calls: number;
  readonly fires: number;
  readonly lastFiredAt: string | null;
  /** The calls that were counted last, so that none is counted twice. */
  readonly counted: readonly string[];
}

const callOf = ({ _id, hook, org, at, status, code, card, requestId }: CallRow): HookCall => ({
  id: Uuid.parse(_id),
  hook: Uuid.parse(hook),
  org: OrganizationId.parse(org),
  at: Instant.parse(at),
  status,
  code: code as ErrorCode | null,
  card,
  requestId,
});

export const hookCallIndexes: readonly IndexDescription[] = [
  { key: { number: 1 }, name: 'by_number' },
  { key: { hook: 1, number: -1 }, name: 'by_hook' },
  { key: { endsAt: 1 }, name: 'ended', expireAfterSeconds: 0 },
];

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
export class MongoHookCalls implements HookCalls {
  constructor(private readonly options: MongoHookCallsOptions) {}

  record({ id, ...call }: HookCall): Promise<void> {
    return this.#with(async (calls) => {
      const count = await this.#count(id, call);
      const number = await this.#nextNumber();
      await isInserted(calls.insertOne({ _id: id, number, ...call }));
      if (count !== null && count % endedTogether === 0) await this.#endOldest(calls, call.hook);
    });
  }

  page(
    hook: Uuid,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly HookCall[] | null> {
    return this.#with(async (calls) => {
      const of = { hook: { $eq: hook as string } };
      const after =
        startingAfter === null ? null : await calls.findOne({ _id: { $eq: startingAfter }, ...of });
      if (startingAfter !== null && after === null) return null;
      if (limit < 1) return [];
      const filter = after === null ? of : { ...of, number: { $lt: after.number } };
      const rows = await calls.find(filter).sort({ number: -1 }).limit(limit).toArray();
      return rows.map(callOf);
    });
  }

  use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>> {
    return guarded(HookCallsUnavailable, async () => {
      const uses = await this.#uses()
        .find({ _id: { $in: [...hooks] } })
        .project<Omit<UseRow, 'counted'>>({ counted: 0 })
        .toArray();
      return new Map(
        uses.map(({ _id, fires, lastFiredAt }) => [
          Uuid.parse(_id),
          { fireCount: fires, lastFiredAt: lastFiredAt === null ? null : Instant.parse(lastFiredAt) },
        ]),
      );
    });
  }

  async removeOld(): Promise<void> {
    // The index `ended` does.
  }

  /** Counts a call for its hook, once. Returns how many there are now, or null if it was counted before. */
  async #count(id: Uuid, { hook, card, at }: Omit<HookCall, 'id'>): Promise<number | null> {
    const made = card !== null;
    const count = () =>
      this.#uses().findOneAndUpdate(
        { _id: { $eq: hook as string }, counted: { $nin: [id] } },
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
  }

  /** Gives ends to the calls that are no longer among the newest of their hook, and have none yet. */
  async #endOldest(calls: Collection<CallRow>, hook: Uuid): Promise<void> {
    const of = { hook: { $eq: hook as string } };
    const [newest] = await calls.find(of).sort({ number: -1 }).skip(newestKept).limit(1).toArray();
    for (let number = newest?.number; number !== undefined;) {
      const rows = await calls
        .find({ ...of, number: { $lte: number } })
        .sort({ number: -1 })
        .limit(batchSize)
        .toArray();
      const endless = rows.filter(({ endsAt }) => endsAt === undefined);
      if (endless.length > 0) await calls.bulkWrite(endless.map((row) => this.#end(row)));
      number = endless.length < batchSize ? undefined : endless.at(-1)?.number;
    }
  }

  #end({ _id, at }: CallRow) {
    const endsAt = new Date(Date.parse(at) + this.options.keep);
    return { updateOne: { filter: { _id: { $eq: _id } }, update: { $set: { endsAt } } } };
  }

  #uses(): Collection<UseRow> {
    return this.options.database.collection<UseRow>('hook_uses');
  }

  /** A number that no other call has; gaps don't matter. */
  async #nextNumber(): Promise<number> {
    const sequences = this.options.database.collection<SequenceRow>('sequences');
    const advance = () =>
      sequences.findOneAndUpdate(
        { _id: { $eq: 'hook_calls' } },
        { $inc: { last: 1 } },
        { upsert: true, returnDocument: 'before' },
      );
    const row = await advance().catch((error: unknown) => {
      if (isDuplicate(error)) return advance();
      throw error;
    });
    return (row?.last ?? 0) + 1;
  }

  #with<T>(work: (calls: Collection<CallRow>) => Promise<T>): Promise<T> {
    return guarded(HookCallsUnavailable, async () =>
      work(await this.options.database.indexed<CallRow>('hook_calls', hookCallIndexes)),
    );
  }
}
