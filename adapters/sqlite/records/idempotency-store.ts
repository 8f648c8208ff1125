import {
  IdempotencyUnavailable,
  answerTtl,
  type KeyClaim,
  type ClaimOutcome,
  type IdempotencyStore,
} from '../../../application/ports/idempotency-store.js';
import type { Clock } from '../../../application/ports/system.js';
import { messageOf } from '../../../domain/errors.js';
import { errcodeOf, isDamage, type Database, type Statement } from '../database.js';
import { NotWritten } from '../errors.js';
import type { RunningClaims } from './running-claims.js';
import type { SqliteWriter } from '../writer/writer.js';

export interface SqliteIdempotencyStoreOptions {
  readonly writer: SqliteWriter;
  readonly database: Database;
  readonly claims: RunningClaims;
  readonly clock: Clock;
  /** The keys can't be read from the file any more: every send with a key would be refused. */
  readonly onDamage: (reason: string) => void;
}

/**
 * Running claims are kept in memory, completed keys in events.db, mostly by the append that completes them.
 */
export class SqliteIdempotencyStore implements IdempotencyStore {
  readonly #completed: Statement;
  readonly clock: IdempotencyStore['clock'];

  constructor(private readonly options: SqliteIdempotencyStoreOptions) {
    this.clock = { now: () => options.clock.steady() };
    this.#completed = options.database.prepare(
      'select body, code from idempotency_keys where org = ? and key = ? and acceptedAt > ?',
    );
  }

  async claim(wanted: KeyClaim): Promise<ClaimOutcome> {
    const { claims, clock } = this.options;
    const running = claims.onKeyOf(wanted);
    if (running !== null)
      return running.body === wanted.body ? { kind: 'running', claim: running } : { kind: 'reused' };
    const completed = this.#lookUp(wanted);
    if (completed !== null)
      return completed.body === wanted.body
        ? { kind: 'completed', code: completed.code }
        : { kind: 'reused' };
    claims.start(wanted, clock.now());
    return { kind: 'claimed' };
  }

  async replace(held: KeyClaim, next: KeyClaim): Promise<boolean> {
    return this.options.claims.replace(held, next);
  }

  async complete(held: KeyClaim): Promise<boolean> {
    const { writer, claims } = this.options;
    if (!claims.isRunning(held)) return false;
    try {
      await writer.run('completeKey', claims.completedKey(held), () => claims.remove(held));
      return true;
    } catch (error) {
      throw unavailable(error);
    }
  }

  async release(held: KeyClaim): Promise<void> {
    this.options.claims.remove(held);
  }

  #lookUp({ org, key, claimedAt }: KeyClaim): { readonly body: string; readonly code: string } | null {
    try {
      const found: { readonly body: string; readonly code: string } | undefined = this.#completed.get(
        org,
        key,
        Date.parse(claimedAt) - answerTtl,
      );
      return found ?? null;
    } catch (error) {
      if (isDamage(errcodeOf(error))) this.options.onDamage(messageOf(error));
      throw unavailable(error);
    }
  }
}

const unavailable = (error: unknown): IdempotencyUnavailable => {
  const reason = messageOf(error);
  const what = error instanceof NotWritten ? 'Nothing was written' : "The idempotency keys can't be read";
  return new IdempotencyUnavailable(`${what}: ${reason}`, { cause: error });
};
