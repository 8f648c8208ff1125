import {
  HookCallsUnavailable,
  newestKept,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../../application/ports/hook-calls.js';
import { messageOf } from '../../../domain/errors.js';
import { Instant, type Milliseconds, type Uuid } from '../../../domain/ids.js';
import type { Database, Statement } from '../database.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import type { InputOf } from '../writer/operations.js';
import type { SqliteWriter } from '../writer/writer.js';

const columns = 'id, hook, org, at, status, code, card, request_id as requestId';

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
    await this.#write('recordHookCall', call);
  }

  async page(
    hook: Uuid,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly HookCall[] | null> {
    return this.#read(() => {
      const before = startingAfter === null ? Number.MAX_SAFE_INTEGER : this.#number(hook, startingAfter);
      if (before === null) return null;
      const calls: readonly HookCall[] = this.#page.all(hook, before, limit);
      return calls;
    });
  }

  async use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>> {
    return this.#read(() => new Map(hooks.flatMap((hook) => this.#useOf(hook))));
  }

  async removeOld(before: Milliseconds, signal: AbortSignal): Promise<void> {
    for (let hook = this.#hookAfter(''); hook !== null && !signal.aborted; hook = this.#hookAfter(hook)) {
      for (let old = this.#oldOf(hook, before); old.length > 0 && !signal.aborted;) {
        await this.#write('removeHookCalls', old);
        old = old.length < removedAtOnce ? [] : this.#oldOf(hook, before);
      }
      await nextTurn();
    }
  }

  async #write<Name extends 'recordHookCall' | 'removeHookCalls'>(name: Name, input: InputOf<Name>) {
    try {
      await this.#writer.run(name, input);
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
