import {
  IdempotencyUnavailable,
  answerTtl,
  type IdempotencyStore,
  type KeyClaim,
} from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import { errcodeOf, isDamage, rowFrom, type Database } from '../database.js';
import { NotWritten } from '../errors.js';
import type { RunningClaims } from './running-claims.js';
import type { SqliteWriter } from '../writer/writer.js';

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
