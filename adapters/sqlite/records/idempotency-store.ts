import {
  IdempotencyUnavailable,
  answerTtl,
  type IdempotencyStore,
  type KeyClaim,
} from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { errcodeOf, isDamage, rowFrom, type Database } from '../database.js';
import { NotWritten } from '../errors.js';
import type { CompletedKey } from '../writer/append.js';
import type { SqliteWriter } from '../writer/writer.js';

interface RunningClaim {
  readonly claim: KeyClaim;
  /**
   * When the key was first accepted, in milliseconds since 1970. A take-over of the claim doesn't change it.
   * (decision 40: the 24 hours run from the first acceptance)
   */
  readonly acceptedAt: number;
}

const nameOf = ({ org, key }: KeyClaim): string => `${org}\n${key}`;
const sameHolder = (a: KeyClaim, b: KeyClaim): boolean => a.owner === b.owner && a.code === b.code;

export type RunningClaims = ReturnType<typeof runningClaims>;

/** The claims that requests of this process work under. They are only in memory: a crash leaves none. */
export const runningClaims = () => {
  const running = new Map<string, RunningClaim>();
  const find = (claim: KeyClaim): RunningClaim | null => {
    const found = running.get(nameOf(claim));
    return found !== undefined && sameHolder(found.claim, claim) ? found : null;
  };
  return {
    /** The claim on the key of `wanted`, or null. */
    onKeyOf: (wanted: KeyClaim): KeyClaim | null => running.get(nameOf(wanted))?.claim ?? null,

    /**
     * `now`: by the machine's clock, by which the next process tells the age of the key. If that is ahead of
     * the claim's, the machine has slept, or began with a wrong clock: the key is kept for longer.
     */
    start: (claim: KeyClaim, now: Milliseconds): void =>
      void running.set(nameOf(claim), { claim, acceptedAt: Math.max(Date.parse(claim.claimedAt), now) }),

    /** Returns false if `held` is not the running claim on its key. */
    replace: (held: KeyClaim, next: KeyClaim): boolean => {
      const found = find(held);
      if (found === null) return false;
      running.set(nameOf(held), { claim: next, acceptedAt: found.acceptedAt });
      return true;
    },

    isRunning: (claim: KeyClaim): boolean => find(claim) !== null,

    /** Removes a claim that is completed or released, unless another owner has taken it over. */
    remove: (claim: KeyClaim): void => {
      if (find(claim) !== null) running.delete(nameOf(claim));
    },

    /** The key as it is stored when the claim is completed. */
    completedKey: (claim: KeyClaim): CompletedKey => {
      const { org, key, body, code } = claim;
      const now = Date.parse(claim.claimedAt);
      return { org, key, body, code, now, acceptedAt: find(claim)?.acceptedAt ?? now };
    },
  };
};

/**
 * Running claims are kept in memory, completed keys in events.db, mostly by the append that completes them.
 * `onDamage`: the keys can't be read from the file any more, and every send with a key would be refused.
 */
export const sqliteIdempotencyStore = ({
  writer,
  database,
  claims,
  clock,
  onDamage,
}: {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly claims: RunningClaims;
  readonly clock: Clock;
  readonly onDamage: (reason: string) => void;
}): IdempotencyStore => {
  const completed = database.prepare(
    'select body, code from idempotency_keys where org = ? and key = ? and acceptedAt > ?',
  );

  const completedOn = ({ org, key, claimedAt }: KeyClaim) => {
    try {
      const after = Date.parse(claimedAt) - answerTtl;
      return rowFrom<{ readonly body: string; readonly code: string }>(completed, org, key, after);
    } catch (error) {
      if (isDamage(errcodeOf(error))) onDamage(messageOf(error));
      throw unavailable(error);
    }
  };

  return {
    clock: { now: () => clock.steady() },

    claim: async (wanted) => {
      const running = claims.onKeyOf(wanted);
      const known = running ?? completedOn(wanted);
      if (known !== undefined && known.body !== wanted.body) return { kind: 'reused' };
      if (running !== null) return { kind: 'running', claim: running };
      if (known !== undefined) return { kind: 'completed', code: known.code };
      claims.start(wanted, clock.now());
      return { kind: 'claimed' };
    },

    replace: async (held, next) => claims.replace(held, next),

    complete: async (held) => {
      if (!claims.isRunning(held)) return false;
      try {
        await writer.run('completeKey', claims.completedKey(held), () => claims.remove(held));
        return true;
      } catch (error) {
        throw unavailable(error);
      }
    },

    release: async (held) => claims.remove(held),
  };
};

const unavailable = (error: unknown): IdempotencyUnavailable => {
  const reason = messageOf(error);
  const what = error instanceof NotWritten ? 'Nothing was written' : "The idempotency keys can't be read";
  return new IdempotencyUnavailable(`${what}: ${reason}`, { cause: error });
};
