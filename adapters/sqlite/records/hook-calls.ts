import {
  HookCallsUnavailable,
  newestKept,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../../application/ports/hook-calls.js';
import { numberFrom, rowFrom, rowsFrom } from '../database.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { reachable } from '../errors.js';
import type { EventsFile } from '../log/events-file.js';

const columns = 'id, hook, org, at, status, code, card, requestId';

/** Removing this many at a time doesn't delay other writes. */
const removedAtOnce = 200;

const insert = `insert into hook_calls (${columns}) values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`;
/** A call that made a card is a fire of its hook, if it was inserted just now. */
const fire = `
  insert into hook_uses (hook, fires, lastFiredAt) select ?, 1, ? where changes() > 0
  on conflict (hook) do update set fires = fires + 1, lastFiredAt = excluded.lastFiredAt`;
const remove = 'delete from hook_calls where number = ?';

interface NumberedCall {
  readonly number: number;
  readonly at: string;
}

/** The call log in events.db. Recording a call shares the commit of other writes at that time. */
export const sqliteHookCalls = ({ writer, database }: Pick<EventsFile, 'writer' | 'database'>): HookCalls => {
  const numberOf = database.prepare('select number from hook_calls where id = ? and hook = ?');
  const calls = database.prepare(
    `select ${columns} from hook_calls where hook = ? and number < ? order by number desc limit ?`,
  );
  const nextHook = database.prepare(
    'select hook from hook_calls where hook > ? order by hook, number limit 1',
  );
  const oldest = database.prepare(
    `select number, at from hook_calls where hook = ?1 and number > ?2 and number <=
       (select number from hook_calls where hook = ?1 order by number desc limit 1 offset ?3)
       order by number limit ?4`,
  );
  const newest = database.prepare(
    'select number, at from hook_calls where hook = ? order by number desc limit 1',
  );
  const useOf = database.prepare('select fires as fireCount, lastFiredAt from hook_uses where hook = ?');

  /**
   * The old ones among a hook's next calls after a number, apart from its newest ones; and that number, null
   * at the end: later calls are younger, but for those that were recorded while the clock was ahead.
   */
  const oldAfter = (hook: string, number: number, end: string) => {
    const rows = rowsFrom<NumberedCall>(oldest, hook, number, newestKept, removedAtOnce);
    const latest = rowFrom<NumberedCall>(newest, hook);
    const last = rows.length < removedAtOnce ? undefined : rows.at(-1);
    const goesOn = last !== undefined && (last.at < end || last.at > (latest?.at ?? last.at));
    return { old: rows.filter(({ at }) => at < end), last: goesOn ? last.number : null };
  };

  /** The first hook with calls whose id is greater. */
  const hookAfter = (hook: string) => rowFrom<{ readonly hook: string }>(nextHook, hook)?.hook ?? null;

  return reachable<HookCalls>(HookCallsUnavailable, {
    record: async ({ id, hook, org, at, status, code, card, requestId }) => {
      const inserting = [insert, id, hook, org, at, status, code, card, requestId] as const;
      await writer.write(inserting, ...(card === null ? [] : [[fire, hook, at] as const]));
    },

    page: async (hook, { startingAfter, limit }) => {
      const before =
        startingAfter === null ? Number.MAX_SAFE_INTEGER : numberFrom(numberOf, startingAfter, hook);
      if (before === null) return null;
      return rowsFrom<HookCall>(calls, hook, before, limit);
    },

    use: async (hooks) =>
      new Map(
        hooks.flatMap((hook) => {
          const use = rowFrom<HookUse>(useOf, hook);
          return use === undefined ? [] : [[hook, use] as const];
        }),
      ),

    removeOld: async (before, signal) => {
      const end = new Date(before).toISOString();
      for (let hook = hookAfter(''); hook !== null && !signal.aborted; hook = hookAfter(hook)) {
        for (let number: number | null = 0; number !== null && !signal.aborted;) {
          const { old, last }: ReturnType<typeof oldAfter> = oldAfter(hook, number, end);
          if (old.length > 0) await writer.write(...old.map((each) => [remove, each.number] as const));
          await nextTurn();
          number = last;
        }
      }
    },
  });
};
