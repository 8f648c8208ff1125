import { LazyLru } from '../../../application/memory/lazy-lru.js';
import { noStream } from '../../../application/ports/event-store.js';
import { keptLonger, answerTtl, type KeyClaim } from '../../../application/ports/idempotency-store.js';
import { numberFrom, rowsFrom, type Database } from '../database.js';

/**
 * One event as it is stored; `data` is without its personal part. A tuple, because an object's field names
 * would be copied with every event that crosses to another thread.
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

/**
 * An idempotency key to remember. `acceptedAt`: when it was first accepted, in milliseconds since 1970.
 * `now`: by the clock of keys.
 */
export interface CompletedKey extends Pick<KeyClaim, 'org' | 'key' | 'body' | 'code'> {
  readonly acceptedAt: number;
  readonly now: number;
}

export interface AppendInput {
  readonly writes: readonly WriteInput[];
  readonly completing: readonly CompletedKey[];
}

/** `position`: of the write's last event. `isNew`: false if an earlier append had stored the same events. */
export type WriteResult =
  | { readonly kind: 'appended'; readonly position: number; readonly isNew: boolean }
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
  create table if not exists idempotency_keys (
    org text not null,
    key text not null,
    body text not null,
    code text not null,
    acceptedAt integer not null,
    primary key (org, key)
  ) strict, without rowid;
  create index if not exists idempotency_keys_by_age on idempotency_keys (acceptedAt);
`;

interface StoredEvent {
  readonly position: number;
  readonly id: string;
}

const maxKnownHeads = 50_000;
/** Each completed key deletes this many expired ones, so that the table shrinks without a sweep. */
const purgedPerKey = 3;

/**
 * Appends to the log, and completes idempotency keys. `onHead` is called with the position of the log's last
 * event after each commit that appended events.
 */
export const appendOperations = (database: Database, onHead: (position: number) => void) => {
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
    insert into idempotency_keys (org, key, body, code, acceptedAt) values (?, ?, ?, ?, ?)
    on conflict (org, key) do update set body = excluded.body, code = excluded.code, acceptedAt = excluded.acceptedAt
    where acceptedAt <= excluded.acceptedAt - ${answerTtl}`);
  const sameCard = database.prepare('select 1 from idempotency_keys where org = ? and key = ? and code = ?');
  const purge = database.prepare(
    `delete from idempotency_keys where (org, key) in (select org, key from idempotency_keys where acceptedAt <= ? order by acceptedAt limit ${purgedPerKey})`,
  );
  /** The last revision of a stream, in the open transaction. */
  const heads = new LazyLru<string, number>(maxKnownHeads);
  /** The streams that the open transaction has changed. */
  const changedStreams = new Set<string>();
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

  /** If an earlier append stored all these events at these revisions, the position of the last; else null. */
  const storedBefore = ({ stream, expected, events }: WriteInput): number | null => {
    const rows = rowsFrom<StoredEvent>(stored, stream, expected, events.length);
    return rows.length === events.length && rows.every((row, index) => row.id === events[index]?.[0])
      ? (rows.at(-1)?.position ?? null)
      : null;
  };

  /** The result of a write that must not be written (again); null if it must. */
  const compare = (write: WriteInput): WriteResult | null => {
    const head = headOf(write.stream);
    if (head === write.expected) return null;
    const before = head > write.expected ? storedBefore(write) : null;
    return before === null ? { kind: 'conflict' } : { kind: 'appended', position: before, isNew: false };
  };

  const write = ({ stream, expected, events }: WriteInput): WriteResult => {
    let revision = expected;
    changedStreams.add(stream);
    for (const event of events) {
      revision += 1;
      position += 1;
      insert.run(position, stream, revision, ...event);
    }
    heads.set(stream, revision);
    return { kind: 'appended', position, isNew: true };
  };

  const complete = ({ org, key, body, code, acceptedAt, now }: CompletedKey): void => {
    if (
      insertKey.run(org, key, body, code, acceptedAt).changes === 0 &&
      numberFrom(sameCard, org, key, code) === null
    )
      throw new Error("an idempotency key is completed already, and can't be completed with another card");
    purge.run(now - answerTtl - keptLonger);
  };

  const append = ({ writes, completing }: AppendInput): readonly WriteResult[] => {
    const known = writes.map(compare);
    if (known.some((found) => found?.kind === 'conflict'))
      return known.map((found) => (found?.kind === 'conflict' ? found : { kind: 'skipped' }));
    const results = writes.map((input, index) => known[index] ?? write(input));
    completing.forEach(complete);
    return results;
  };

  return {
    operations: { append, completeKey: complete },
    /** The memory of the open transaction becomes valid. */
    committed: () => {
      changedStreams.clear();
      if (position === committedPosition) return;
      committedPosition = position;
      onHead(position);
    },
    /** It is dropped. */
    rolledBack: () => {
      for (const stream of changedStreams) heads.delete(stream);
      changedStreams.clear();
      position = committedPosition;
    },
  };
};
