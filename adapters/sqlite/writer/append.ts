import { LRUCache } from 'lru-cache';
import { noStream } from '../../../application/ports/event-store.js';
import { rememberedFor } from '../../../application/ports/idempotency-store.js';
import { numberFrom, type Database } from '../database.js';
import type { OperationSet } from './operation-set.js';

/**
 * One event as it is stored: the texts of data (without the personal part), personal part and metadata come
 * last. A tuple, because the names of an object's fields are written anew with each object that crosses to
 * another thread.
 */
export type EventTexts = readonly [
  id: string,
  type: string,
  data: string,
  personal: string | null,
  metadata: string,
];

export interface WriteInput {
  readonly stream: string;
  readonly expected: number;
  readonly events: readonly EventTexts[];
}

/** A key to be remembered, and when it was first accepted (milliseconds since 1970). */
export interface CompletedKey {
  readonly org: string;
  readonly key: string;
  readonly body: string;
  readonly code: string;
  readonly acceptedAt: number;
}

export interface AppendInput {
  readonly writes: readonly WriteInput[];
  readonly completing: readonly CompletedKey[];
}

/**
 * `position` is that of the write's last event; `fresh` is false where an earlier append had stored the same
 * events.
 */
export type WriteResult =
  | { readonly kind: 'appended'; readonly position: number; readonly fresh: boolean }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'skipped' };

const schema = `
  create table if not exists events (
    position integer primary key,
    stream text not null,
    revision integer not null,
    id text not null,
    type text not null,
    data text not null,
    personal text,
    metadata text not null,
    unique (stream, revision)
  ) strict;
  create table if not exists marks (name text primary key, position integer not null) strict, without rowid;
  create table if not exists idempotency_keys (
    org text not null,
    key text not null,
    body text not null,
    code text not null,
    accepted_at integer not null,
    primary key (org, key)
  ) strict, without rowid;
  create index if not exists idempotency_keys_by_age on idempotency_keys (accepted_at);
`;

const rememberedHeads = 50_000;
/**
 * Every completed key takes so many expired ones with it: the table shrinks without a sweep that anybody
 * waits for.
 */
const purgedPerKey = 3;

/**
 * Appends to the log, completed idempotency keys, and the marks that the log's keepers leave in it.
 * `announce` hears the log's head after each commit that moved it.
 */
export const appendOperations = (database: Database, announce: (head: number) => void) => {
  database.exec(schema);
  const insert = database.prepare(
    'insert into events (position, stream, revision, id, type, data, personal, metadata) values (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const lastRevision = database.prepare(
    'select revision from events where stream = ? order by revision desc limit 1',
  );
  const lastPosition = database.prepare('select max(position) as position from events');
  const stored = database.prepare(
    'select position, id from events where stream = ? and revision > ? order by revision limit ?',
  );
  const insertKey = database.prepare(`
    insert into idempotency_keys (org, key, body, code, accepted_at) values (?, ?, ?, ?, ?)
    on conflict (org, key) do update set body = excluded.body, code = excluded.code, accepted_at = excluded.accepted_at
    where accepted_at <= excluded.accepted_at - ${rememberedFor}`);
  const sameCard = database.prepare('select 1 from idempotency_keys where org = ? and key = ? and code = ?');
  const purge = database.prepare(
    `delete from idempotency_keys where (org, key) in (select org, key from idempotency_keys where accepted_at <= ? order by accepted_at limit ${purgedPerKey})`,
  );
  const saveMark = database.prepare(`
    insert into marks (name, position) values (?, ?) on conflict (name) do update set position = excluded.position where position < excluded.position`);

  const heads = new LRUCache<string, number>({ max: rememberedHeads });
  /** What the open transaction has changed. It counts only once the transaction is committed. */
  const touched = new Set<string>();
  const positionOnDisk = (): number => numberFrom(lastPosition) ?? 0;
  let committedPosition = positionOnDisk();
  let position = committedPosition;

  const headOf = (stream: string): number => {
    const known = heads.get(stream);
    if (known !== undefined) return known;
    const revision = numberFrom(lastRevision, stream) ?? noStream;
    heads.set(stream, revision);
    return revision;
  };

  /**
   * The position of the last of these events where an earlier append has stored all of them at these very
   * revisions, else null.
   */
  const storedBefore = ({ stream, expected, events }: WriteInput): number | null => {
    const rows: readonly { readonly position: number; readonly id: string }[] = stored.all(
      stream,
      expected,
      events.length,
    );
    return rows.length === events.length && rows.every((row, index) => row.id === events[index]?.[0])
      ? (rows.at(-1)?.position ?? null)
      : null;
  };

  const check = (write: WriteInput): WriteResult | 'write' => {
    const head = headOf(write.stream);
    if (head === write.expected) return 'write';
    const before = head > write.expected ? storedBefore(write) : null;
    return before === null ? { kind: 'conflict' } : { kind: 'appended', position: before, fresh: false };
  };

  const write = ({ stream, expected, events }: WriteInput): WriteResult => {
    let revision = expected;
    touched.add(stream);
    for (const event of events) {
      revision += 1;
      position += 1;
      insert.run(position, stream, revision, ...event);
    }
    heads.set(stream, revision);
    return { kind: 'appended', position, fresh: true };
  };

  const complete = ({ org, key, body, code, acceptedAt }: CompletedKey): void => {
    if (
      insertKey.run(org, key, body, code, acceptedAt).changes === 0 &&
      numberFrom(sameCard, org, key, code) === null
    )
      throw new Error('an idempotency key that is completed already can not be completed with another card');
    purge.run(acceptedAt - rememberedFor);
  };

  const append = ({ writes, completing }: AppendInput): readonly WriteResult[] => {
    const checks = writes.map(check);
    if (checks.some((found) => found !== 'write' && found.kind === 'conflict'))
      return checks.map((found) =>
        found !== 'write' && found.kind === 'conflict' ? found : { kind: 'skipped' },
      );
    const results = writes.map((wanted, index) => {
      const found = checks[index];
      return found === undefined || found === 'write' ? write(wanted) : found;
    });
    completing.forEach(complete);
    return results;
  };

  return {
    operations: {
      append,
      completeKey: complete,
      /** Moves a mark forward, never back. */
      saveMark: ({ name, position: marked }: { readonly name: string; readonly position: number }): void => {
        saveMark.run(name, marked);
      },
    },
    committed: () => {
      touched.clear();
      if (position === committedPosition) return;
      committedPosition = position;
      announce(position);
    },
    rolledBack: () => {
      for (const stream of touched) heads.delete(stream);
      touched.clear();
      position = committedPosition;
    },
  } satisfies OperationSet;
};
