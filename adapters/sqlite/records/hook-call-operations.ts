import type { HookCall } from '../../../application/ports/hook-calls.js';
import type { Database } from '../database.js';
import type { OperationSet } from '../writer/operation-set.js';

const schema = `
  create table if not exists hook_calls (
    number integer primary key,
    id text not null unique,
    hook text not null,
    org text not null,
    at text not null,
    status integer not null,
    code text,
    card text,
    request_id text not null
  ) strict;
  create index if not exists hook_calls_by_hook on hook_calls (hook, number);
  create table if not exists hook_uses (hook text primary key, fires integer not null, last_fired_at text not null) strict, without rowid;
`;

/** Records hook calls, and counts the ones that made a card: each is a fire of the hook. */
export const hookCallOperations = (database: Database) => {
  database.exec(schema);
  const insert = database.prepare(
    'insert into hook_calls (id, hook, org, at, status, code, card, request_id) values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing',
  );
  const fire = database.prepare(`
    insert into hook_uses (hook, fires, last_fired_at) values (?, 1, ?)
    on conflict (hook) do update set fires = fires + 1, last_fired_at = excluded.last_fired_at`);
  const remove = database.prepare('delete from hook_calls where number = ?');
  return {
    operations: {
      removeHookCalls: (numbers: readonly number[]): void => {
        for (const number of numbers) remove.run(number);
      },

      recordHookCall: ({ id, hook, org, at, status, code, card, requestId }: HookCall): void => {
        const { changes } = insert.run(id, hook, org, at, status, code, card, requestId);
        if (card !== null && changes > 0) fire.run(hook, at);
      },
    },
  } satisfies OperationSet;
};
