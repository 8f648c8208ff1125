import type { Collection, IndexDescription } from 'mongodb';
import type { ErrorCode } from '../../domain/errors.js';
import { Instant, OrganizationId, Uuid } from '../../domain/ids.js';
import {
  HookCallsUnavailable,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../application/ports/hook-calls.js';
import { guarded, type MongoDatabase } from './database.js';
import { isDuplicate } from './refusals.js';

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
}

interface SequenceRow {
  readonly _id: string;
  readonly last: number;
}

interface UseRow {
  readonly _id: string;
  readonly fires: number;
  readonly last: number;
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

/** The status of a call that made a card: a fire. The index has the status, and not the card. */
const firedStatus = 201;

const indexes: IndexDescription[] = [
  { key: { number: 1 }, name: 'by_number' },
  { key: { hook: 1, number: -1 }, name: 'by_hook' },
  { key: { hook: 1, status: 1, number: -1 }, name: 'by_status' },
];

/**
 * The call log of the inbound hooks, one document per call. Fires are counted from the log, so that a call
 * that is recorded twice counts once.
 */
export class MongoHookCalls implements HookCalls {
  readonly #database: MongoDatabase;

  constructor(database: MongoDatabase) {
    this.#database = database;
  }

  record({ id, ...call }: HookCall): Promise<void> {
    return this.#with(async (calls) => {
      if ((await calls.findOne({ _id: { $eq: id as string } })) !== null) return;
      try {
        await calls.insertOne({ _id: id, number: await this.#nextNumber(), ...call });
      } catch (error) {
        if (!isDuplicate(error)) throw error;
      }
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
    return this.#with(async (calls) => {
      if (hooks.length === 0) return new Map();
      const match = { $match: { hook: { $in: [...hooks] }, status: firedStatus } };
      const group = { $group: { _id: '$hook', fires: { $sum: 1 }, last: { $max: '$number' } } };
      const used = await calls.aggregate<UseRow>([match, group]).toArray();
      const lasts = await calls.find({ number: { $in: used.map(({ last }) => last) } }).toArray();
      const at = new Map(lasts.map((row) => [row.number, Instant.parse(row.at)]));
      return new Map(
        used.map(({ _id, fires, last }) => [
          Uuid.parse(_id),
          { fireCount: Number(fires), lastFiredAt: at.get(last) ?? null },
        ]),
      );
    });
  }

  /** A number that no other call has; gaps don't matter. */
  async #nextNumber(): Promise<number> {
    const sequences = this.#database.collection<SequenceRow>('sequences');
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
      work(await this.#database.indexed<CallRow>('hook_calls', indexes)),
    );
  }
}
