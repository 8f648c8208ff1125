import {
  HookCallsUnavailable,
  newestKept,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../../application/ports/hook-calls.js';
import { messageOf, type ErrorCode } from '../../../domain/errors.js';
import { Instant, OrganizationId, Uuid, type Milliseconds } from '../../../domain/ids.js';
import type { Database, Statement } from '../database.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import type { SqliteWriter } from '../writer/writer.js';

interface Row {
  readonly id: string;
  readonly hook: string;
  readonly org: string;
  readonly at: string;
  readonly status: number;
  readonly code: string | null;
  readonly card: string | null;
  readonly request_id: string;
}

const columns = 'id, hook, org, at, status, code, card, request_id';

/** The call that a row holds. Its code was written from an ErrorCode. */
const callOf = ({ id, hook, org, at, status, code, card, request_id: requestId }: Row): HookCall => ({
  id: Uuid.parse(id),
  hook: Uuid.parse(hook),
  org: OrganizationId.parse(org),
  at: Instant.parse(at),
  status,
  code: code as ErrorCode | null,
  card,
  requestId,
});

const unavailable = (error: unknown): HookCallsUnavailable =>
  new HookCallsUnavailable(messageOf(error), { cause: error });

/** Removing this many at a time doesn't delay other writes. */
const removedAtOnce = 200;

/** The call log in events.db. Recording a call shares the commit of other writes at that time. */
export class SqliteHookCalls implements HookCalls {
  readonly #writer: SqliteWriter;
  readonly #numberOf: Statement;
  readonly #page: Statement;
  readonly #use: Statement;
  readonly #nextHook: Statement;
  readonly #oldest: Statement;

  constructor({ writer, database }: { readonly writer: SqliteWriter; readonly database: Database }) {
    this.#writer = writer;
    this.#numberOf = database.prepare('select number from hook_calls where id = ? and hook = ?');
    this.#page = database.prepare(
      `select ${columns} from hook_calls where hook = ? and number < ? order by number desc limit ?`,
    );
    this.#nextHook = database.prepare(
      'select hook from hook_calls where hook > ? order by hook, number limit 1',
    );
    this.#oldest = database.prepare(
      `select number, at from hook_calls where hook = ? and number <=
       (select number from hook_calls where hook = ? order by number desc limit 1 offset ?)
       order by number limit ?`,
    );
    this.#use = database.prepare('select fires, last_fired_at from hook_uses where hook = ?');
  }

  async record(call: HookCall): Promise<void> {
    try {
      await this.#writer.run('recordHookCall', call);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async page(
    hook: Uuid,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly HookCall[] | null> {
    return this.#read(() => {
      const before = startingAfter === null ? Number.MAX_SAFE_INTEGER : this.#number(hook, startingAfter);
      if (before === null) return null;
      const rows: readonly Row[] = this.#page.all(hook, before, limit);
      return rows.map(callOf);
    });
  }

  async use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>> {
    return this.#read(() => new Map(hooks.flatMap((hook) => this.#useOf(hook))));
  }

  async removeOld(before: Milliseconds, signal: AbortSignal): Promise<void> {
    for (let hook = this.#hookAfter(''); hook !== null && !signal.aborted; hook = this.#hookAfter(hook)) {
      for (let old = this.#oldOf(hook, before); old.length > 0 && !signal.aborted;) {
        await this.#remove(old);
        old = old.length < removedAtOnce ? [] : this.#oldOf(hook, before);
      }
      await nextTurn();
    }
  }

  async #remove(numbers: readonly number[]): Promise<void> {
    try {
      await this.#writer.run('removeHookCalls', numbers);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** The first hook with calls whose id is greater. */
  #hookAfter(hook: string): string | null {
    return this.#read(() => {
      const row: { readonly hook: string } | undefined = this.#nextHook.get(hook);
      return row?.hook ?? null;
    });
  }

  /** The numbers of a hook's old calls that are not among its newest, oldest first. */
  #oldOf(hook: string, before: Milliseconds): readonly number[] {
    const rows = this.#read(() => {
      const found: readonly { readonly number: number; readonly at: string }[] = this.#oldest.all(
        hook,
        hook,
        newestKept,
        removedAtOnce,
      );
      return found;
    });
    return rows.filter(({ at }) => Date.parse(at) < before).map(({ number }) => number);
  }

  #number(hook: Uuid, id: string): number | null {
    const row: { readonly number: number } | undefined = this.#numberOf.get(id, hook);
    return row?.number ?? null;
  }

  #useOf(hook: Uuid): readonly (readonly [Uuid, HookUse])[] {
    const row: { readonly fires: number; readonly last_fired_at: string } | undefined = this.#use.get(hook);
    return row === undefined
      ? []
      : [[hook, { fireCount: row.fires, lastFiredAt: Instant.parse(row.last_fired_at) }]];
  }

  #read<T>(query: () => T): T {
    try {
      return query();
    } catch (error) {
      throw unavailable(error);
    }
  }
}
