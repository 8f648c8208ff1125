import { ObjectId, type Collection } from 'mongodb';
import {
  IdempotencyUnavailable,
  answerTtl,
  type KeyClaim,
  type IdempotencyStore,
} from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { Batcher } from '../client/batcher.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { duplicatesIn } from '../client/refusals.js';

type KeyRow = KeyClaim & {
  /** Organization and key as JSON. */
  readonly _id: string;
  readonly completed: boolean;
  /** The command that completed it; absent while it runs. */
  readonly completedBy?: string;
  /** The server deletes the row some time after this. */
  readonly until: Date;
};

const idOf = ({ org, key }: Pick<KeyClaim, 'org' | 'key'>): string => JSON.stringify([org, key]);

const claimOf = ({
  _id,
  completed: _completed,
  completedBy: _by,
  until: _until,
  ...claim
}: KeyRow): KeyClaim => claim;

/** Whether this very claim wrote a row. */
const isBy = ({ owner, code }: KeyClaim, row: KeyRow): boolean => row.owner === owner && row.code === code;

const agreedWithin: Milliseconds = 5_000;

/** Resolves once the clock goes by the server's again. Throws IdempotencyUnavailable. */
const untilAgreed = async (clock: Clock): Promise<void> => {
  const end = clock.monotonic() + agreedWithin;
  while (clock.isAgreed?.() === false) {
    if (clock.monotonic() > end)
      throw new IdempotencyUnavailable('this machine was suspended, or its clock was set');
    await clock.sleep(100);
  }
};

/**
 * Idempotency keys, one document each. An insert decides which request gets a key; everything after that is a
 * compare-and-set. (docs/money.md, rule 6: a claim changes hands by compare-and-set)
 */
export const mongoIdempotencyStore = ({
  database,
  clock,
}: {
  readonly database: MongoDatabase;
  readonly clock: Clock;
}): IdempotencyStore => {
  const indexed = (): Promise<Collection<KeyRow>> => database.indexed('idempotency_keys');

  const running = (held: KeyClaim) => ({
    _id: idOf(held),
    owner: { $eq: held.owner },
    code: { $eq: held.code },
    completed: false,
    until: { $gt: new Date(clock.now()) },
  });

  /** For each row whether it was inserted; false if there was one with its id. */
  const insertions = Batcher.lane(clock, async (rows: readonly KeyRow[]): Promise<readonly boolean[]> => {
    const keys = await indexed();
    const duplicates = await duplicatesIn(keys.insertMany([...rows], { ordered: false }));
    return rows.map((_, index) => !duplicates.has(index));
  });

  /** For each claim whether it was running until now. */
  const completions = Batcher.lane(clock, async (held: readonly KeyClaim[]): Promise<readonly boolean[]> => {
    const keys = await indexed();
    const completedBy = new ObjectId().toHexString();
    const updates = held.map((claim) => ({
      updateOne: { filter: running(claim), update: { $set: { completed: true, completedBy } } },
    }));
    const { matchedCount } = await keys.bulkWrite(updates, { ordered: false });
    if (matchedCount === held.length) return held.map(() => true);
    const rows = await findAll(keys, { _id: { $in: held.map(idOf) } });
    const mine = new Map(rows.filter((row) => row.completedBy === completedBy).map((row) => [row._id, row]));
    return held.map((claim) => {
      const row = mine.get(idOf(claim));
      // The same claim once more in this batch finds it completed.
      return row !== undefined && isBy(claim, row) && mine.delete(row._id);
    });
  });

  return guardedPort<IdempotencyStore>(IdempotencyUnavailable, {
    clock,

    claim: async (wanted) => {
      await untilAgreed(clock);
      const keys = await indexed();
      const row: KeyRow = {
        _id: idOf(wanted),
        ...wanted,
        completed: false,
        until: new Date(Date.parse(wanted.claimedAt) + answerTtl),
      };
      for (;;) {
        if (await insertions.add(row)) return { kind: 'claimed' };
        const found = await keys.findOne({ _id: row._id });
        if (found === null) continue;
        if (found.until.getTime() <= Date.parse(wanted.claimedAt)) {
          // Expired, and the server has not deleted it yet.
          await keys.deleteOne({ _id: row._id, until: { $eq: found.until } });
          continue;
        }
        if (found.body !== wanted.body) return { kind: 'reused' };
        if (found.completed) return { kind: 'completed', code: found.code };
        // Our own: the response to the first insert was lost, and the driver has repeated it.
        return isBy(wanted, found) ? { kind: 'claimed' } : { kind: 'running', claim: claimOf(found) };
      }
    },

    replace: async (held, next) => {
      const keys = await indexed();
      const { body, code, owner, ledgerRevision, claimedAt } = next;
      const { matchedCount } = await keys.updateOne(running(held), {
        $set: { body, code, owner, ledgerRevision, claimedAt },
      });
      // If the driver has repeated the write, the first one may have changed the row.
      return matchedCount === 1 || (await keys.findOne(running(next))) !== null;
    },

    complete: (held) => completions.add(held),

    release: async (held) => void (await (await indexed()).deleteOne(running(held))),
  });
};
