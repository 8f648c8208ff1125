import fc from 'fast-check';
import type { EventStore } from '../../application/ports/event-store.js';
import type { HookCall, HookCalls } from '../../application/ports/hook-calls.js';
import type { IdempotencyStore, KeyClaim } from '../../application/ports/idempotency-store.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { PersonalKeys } from '../../application/ports/personal-keys.js';
import {
  everyOrganization,
  type ProjectionStore,
  type ReadModels,
} from '../../application/ports/read-models.js';
import type { RequestRecord, RequestRows } from '../../application/ports/requests.js';
import type { ImportRecords, Records, SignInRecords } from '../../application/ports/records.js';
import type { CommandId, Instant, OrganizationId, StreamName, Uuid } from '../../domain/ids.js';
import { card, write } from '../adapters/eventstoredb/support.js';
import { leavesFrom } from '../contract/log-tiles.js';
import { startOfContract } from '../contract/idempotency-store.js';
import { notes, storedNote } from '../support/fixtures/notes.js';
import { drawing, type Port } from './compare.js';

const upTo = (most: number) => fc.integer({ min: 0, max: most });
const instant = (second: number): Instant =>
  new Date(startOfContract + second * 1000).toISOString() as Instant;
const never = new AbortController().signal;

export interface Keyed {
  readonly store: IdempotencyStore;
  /** The claims that were made, by owners who are all different. */
  readonly claims: KeyClaim[];
}

const claim = fc
  .record({ org: upTo(1), key: upTo(2), body: upTo(1), owner: fc.uuid(), code: upTo(2), at: upTo(3) })
  .map(({ org, key, body, owner, code, at }): KeyClaim => ({
    org: `org-${org}` as OrganizationId,
    key: `key ${key}`,
    body: String(body).repeat(64),
    code: `HC-AAAAAA${code}`,
    owner: owner as CommandId,
    ledgerRevision: at,
    claimedAt: instant(at),
  }));

const onKeyed = drawing<Keyed>();

/** An earlier claim, which may or may not hold; null if there was none. */
const held = ({ claims }: Keyed, index: number): KeyClaim | null =>
  claims.length === 0 ? null : (claims[claims.length - 1 - (index % claims.length)] ?? null);

export const idempotency: Port<Keyed> = {
  name: 'idempotency keys',
  operation: fc.oneof(
    {
      weight: 4,
      arbitrary: onKeyed('claim', claim, ({ store, claims }, wanted) => {
        claims.push(wanted);
        return store.claim(wanted);
      }),
    },
    {
      weight: 2,
      arbitrary: onKeyed('replace', fc.tuple(upTo(9), claim), async (keyed, [index, wanted]) => {
        const before = held(keyed, index);
        if (before === null) return null;
        const next = { ...wanted, org: before.org, key: before.key, body: before.body };
        keyed.claims.push(next);
        return keyed.store.replace(before, next);
      }),
    },
    {
      weight: 2,
      arbitrary: onKeyed('complete', upTo(9), async (keyed, index) => {
        const before = held(keyed, index);
        return before === null ? null : keyed.store.complete(before);
      }),
    },
    {
      weight: 2,
      arbitrary: onKeyed('release', upTo(9), async (keyed, index) => {
        const before = held(keyed, index);
        return before === null ? null : keyed.store.release(before);
      }),
    },
  ),
};

const records = <Kind extends string>(name: string, ...kinds: readonly Kind[]): Port<Records<Kind>> => ({
  name,
  operation: (() => {
    const on = drawing<Records<Kind>>();
    const kind = fc.constantFrom(...kinds);
    const id = upTo(4).map((number) => `id-${number}`);
    const owner = upTo(1).map((number) => `owner-${number}`);
    // What has ended may be found in one store and removed in the other; both count it as gone.
    const ends = fc.constantFrom(null, startOfContract * 2);
    const data = upTo(3).map((value) => ({ value, text: 'Zoë 🎉' }));
    let added = 0;
    return fc.oneof(
      on('add', fc.record({ kind, id, owner, data, ends }), (records: Records<Kind>, record) =>
        records.add({ ...record, data: { ...record.data, only: (added += 1) } }),
      ),
      on('find', fc.tuple(kind, id), async (records, [of, which]) =>
        withoutOnly(await records.find(of, which)),
      ),
      on('change', fc.tuple(kind, id, data, ends), async (records, [of, which, next, end]) => {
        const found = await records.find(of, which);
        return found === null ? null : records.change(found, { data: next, ends: end });
      }),
      on('change twice', fc.tuple(kind, id, data), async (records, [of, which, next]) => {
        const found = await records.find(of, which);
        if (found === null) return null;
        const first = await records.change(found, { data: next, ends: null });
        return [first, await records.change(found, { data: next, ends: null })];
      }),
      on('remove', fc.tuple(kind, id), (records, [of, which]) => records.remove(of, which)),
      on('removeAllOf', fc.tuple(kind, owner, fc.option(id)), (records, [of, whose, except]) =>
        records.removeAllOf(of, whose, except),
      ),
      on('listOf', fc.tuple(kind, owner), async (records, [of, whose]) =>
        (await records.listOf(of, whose)).map(withoutOnly),
      ),
      on('removeEnded', fc.constant(null), (records) => records.removeEnded()),
    );
  })(),
});

export const signIn: Port<SignInRecords> = records(
  'sessions and other records of signing in',
  'session',
  'link',
  'form',
  'password',
);

export const imports: Port<ImportRecords> = records(
  'files of contacts that are being imported',
  'import',
  'import-part',
  'import-bad',
  'import-upload',
  'front',
);

/** A record without its version, which means something only in its store. */
const withoutOnly = (
  found: {
    readonly kind: string;
    readonly id: string;
    readonly owner: string;
    readonly data: object;
    readonly ends: number | null;
  } | null,
): unknown => {
  if (found === null) return null;
  const { kind, id, owner, data, ends } = found;
  const { only: _, ...rest }: { readonly only?: unknown } = data;
  return { kind, id, owner, ends, data: rest };
};

const request = fc
  .record({ number: upTo(8), second: upTo(100), known: fc.boolean() })
  .map(({ number, second, known }): RequestRecord => ({
    id: `req_${number}`,
    at: instant(second),
    method: 'POST',
    route: '/api/v1/cards',
    status: known ? 201 : 0,
    code: known ? null : 'order_failed',
    ms: 1.5,
    actor: known ? { kind: 'key', id: 'a-key' } : null,
    org: known ? 'org-1' : null,
    address: '127.0.0.1',
    idempotencyKey: known ? 'ein Schlüssel' : null,
    wrote: known ? [{ stream: 'card-HC-7K3M9QX' as StreamName, revision: second }] : [],
    subjects: known ? ['HC-7K3M9QX'] : [],
  }));

const onRequestRows = drawing<RequestRows>();

export const requests: Port<RequestRows> = {
  name: 'the log of requests',
  operation: fc.oneof(
    onRequestRows(
      'save',
      fc.uniqueArray(request, { maxLength: 4, selector: ({ id }) => id }),
      (rows: RequestRows, records) => rows.save(records),
    ),
    onRequestRows('find', upTo(9), (rows, number) => rows.find(`req_${number}`)),
    onRequestRows('removeOld', upTo(100), (rows, second) =>
      rows.removeOld(startOfContract + second * 1000, never),
    ),
  ),
};

const block = (byte: number) => ({
  wrappedBy: `key ${byte % 2}`,
  iv: Buffer.alloc(12, byte),
  sealed: Buffer.alloc(64, byte),
});

const onPersonalKeys = drawing<PersonalKeys>();

export const personalKeys: Port<PersonalKeys> = {
  name: 'the keys of personal data',
  operation: fc.oneof(
    onPersonalKeys('add', fc.tuple(upTo(12), upTo(255)), (keys: PersonalKeys, [number, byte]) =>
      keys.add([{ number, ...block(byte) }]),
    ),
    onPersonalKeys('load', fc.uniqueArray(upTo(12), { maxLength: 5 }), async (keys, numbers) =>
      (await keys.load(numbers)).toSorted((a, b) => a.number - b.number),
    ),
    onPersonalKeys('replace', fc.tuple(upTo(12), upTo(3), upTo(255)), (keys, [number, version, byte]) =>
      keys.replace({ number, version, ...block(byte) }),
    ),
    onPersonalKeys('mark', fc.constant(null), (keys) => keys.mark()),
    onPersonalKeys(
      'saveMark',
      fc.tuple(upTo(5), fc.option(upTo(5)), fc.uniqueArray(upTo(12), { maxLength: 3 })),
      (keys, [position, before, uses]) =>
        keys.saveMark(
          {
            position: BigInt(position),
            event:
              position === 0
                ? null
                : { id: '00000000-0000-4000-8000-000000000000' as Uuid, hash: 'h', at: instant(position) },
          },
          before === null ? null : { position: BigInt(before), event: null },
          uses,
        ),
    ),
    onPersonalKeys('missing', fc.uniqueArray(upTo(12), { maxLength: 3 }), async (keys, numbers) =>
      (await keys.missing(numbers)).toSorted((a, b) => a - b),
    ),
    onPersonalKeys('wrappers', fc.constant(null), async (keys) => (await keys.wrappers()).toSorted()),
  ),
};

const hookCall = fc
  .record({ number: upTo(30), hook: upTo(1), ok: fc.boolean(), second: upTo(59) })
  .map(({ number, hook, ok, second }): HookCall => ({
    id: `call-${hook}-${number}` as Uuid,
    hook: `hook-${hook}` as Uuid,
    org: 'org-1' as OrganizationId,
    at: instant(second),
    status: ok ? 201 : 422,
    code: ok ? null : 'invalid_recipient',
    card: ok ? `HC-${number}` : null,
    requestId: `req_${number}`,
  }));

const onHookCalls = drawing<HookCalls>();

export const hookCalls: Port<HookCalls> = {
  name: 'the call log of hooks',
  operation: fc.oneof(
    { weight: 3, arbitrary: onHookCalls('record', hookCall, (calls: HookCalls, call) => calls.record(call)) },
    {
      weight: 2,
      arbitrary: onHookCalls(
        'page',
        fc.tuple(upTo(2), upTo(30), fc.boolean(), fc.integer({ min: 1, max: 5 })),
        (calls, [hook, number, first, limit]) =>
          calls.page(`hook-${hook}` as Uuid, {
            startingAfter: first ? null : `call-${hook}-${number}`,
            limit,
          }),
      ),
    },
    onHookCalls('use', fc.constant(null), async (calls) => {
      const hooks = ['hook-0', 'hook-1', 'hook-2'] as Uuid[];
      const used = await calls.use(hooks);
      return hooks.map((hook) => used.get(hook) ?? { fireCount: 0, lastFiredAt: null });
    }),
  ),
};

const onLogTiles = drawing<LogTiles>();

export const logTiles: Port<LogTiles> = {
  name: 'the tiles of the log',
  operation: fc.oneof(
    {
      weight: 4,
      arbitrary: onLogTiles(
        'extend',
        fc.tuple(upTo(130), upTo(4), upTo(2)),
        async (tiles: LogTiles, [count, beside, epoch]) => {
          const { size, position } = await tiles.tree();
          const from = beside === 4 ? size + 1 : size;
          const leaves = leavesFrom(from, count);
          return tiles.extend(from, leaves, leaves.at(-1)?.position ?? position, epoch);
        },
      ),
    },
    onLogTiles('tree', fc.constant(null), (tiles) => tiles.tree()),
    onLogTiles('hashes', fc.tuple(upTo(2), upTo(600), upTo(300)), (tiles, [level, from, count]) =>
      tiles.hashes(level, from, count),
    ),
    onLogTiles('leaves', upTo(4), (tiles, tile) => tiles.leaves(tile)),
    onLogTiles('tileOf', upTo(500), async (tiles, place) => {
      const { size } = await tiles.tree();
      return size === 0 ? null : tiles.tileOf(BigInt((place % size) + 1) * 10n);
    }),
    onLogTiles('keep', fc.tuple(upTo(6), upTo(9), upTo(5)), (tiles, [size, root, hour]) =>
      tiles.keep({
        size: size + 1,
        root: Buffer.alloc(32, root > 0 ? 1 : 2),
        note: `note ${size}`,
        at: instant(hour * 1800),
      }),
    ),
    onLogTiles('newest', fc.constant(null), (tiles) => tiles.newest()),
    onLogTiles('damage', fc.constant(null), (tiles) => tiles.damage()),
    onLogTiles('reportDamage', fc.option(upTo(9)), (tiles, position) =>
      tiles.reportDamage(position === null ? null : { position: BigInt(position), reason: 'broken' }),
    ),
  ),
};

/** The positions of a store's events in order: they differ from store to store. */
const positionsOf = async (store: EventStore): Promise<readonly bigint[]> =>
  (await store.readLog(0n, 10_000)).map(({ position }) => position);
const placeOf = async (store: EventStore, index: number): Promise<bigint> => {
  const positions = await positionsOf(store);
  return positions.length === 0 ? 0n : (positions[index % positions.length] ?? 0n);
};

type Logged =
  Awaited<ReturnType<EventStore['readLog']>>[number] | Awaited<ReturnType<EventStore['readLast']>>;
const shown = (event: Logged): unknown =>
  event === null
    ? null
    : [event.stream, event.revision, event.id, event.type, event.data, event.metadata.hash];

const streamWrite = fc
  .record({ stream: upTo(3), expected: upTo(4), count: fc.integer({ min: 1, max: 3 }), variant: upTo(1) })
  .map(({ stream, expected, count, variant }) => {
    const revision = expected - 1;
    const names = Array.from({ length: count }, (_, index) => `${revision}+${count}/${index} ${variant}`);
    return write(card(`stream-${stream}`), revision, ...names);
  });

const onEventStore = drawing<EventStore>();

export const eventStore: Port<EventStore> = {
  name: 'the event store',
  operation: fc.oneof(
    {
      weight: 5,
      arbitrary: onEventStore(
        'append',
        fc.uniqueArray(streamWrite, { minLength: 1, maxLength: 3, selector: ({ stream }) => stream }),
        async (store: EventStore, writes) => (await store.append(writes)).map(({ kind }) => kind),
      ),
    },
    onEventStore(
      'readStream',
      fc.tuple(upTo(4), upTo(6), fc.integer({ min: 1, max: 4 })),
      async (store, [stream, from, limit]) =>
        (await store.readStream(card(`stream-${stream}`), from, limit)).map(shown),
    ),
    onEventStore('readLast', upTo(4), async (store, stream) =>
      shown(await store.readLast(card(`stream-${stream}`))),
    ),
    onEventStore(
      'readLog',
      fc.tuple(upTo(30), fc.integer({ min: 1, max: 10 })),
      async (store, [after, limit]) => (await store.readLog(await placeOf(store, after), limit)).map(shown),
    ),
    onEventStore('positionBefore', upTo(30), async (store, index) => {
      const position = await placeOf(store, index);
      return (await store.readLog(await store.positionBefore({ position }), 2)).map(shown);
    }),
    onEventStore('head', fc.constant(null), async (store) => {
      const { position, event } = await store.head();
      return [position === ((await positionsOf(store)).at(-1) ?? 0n), event];
    }),
    onEventStore('markAt', upTo(30), async (store, index) => {
      const place = await placeOf(store, index);
      return place === 0n ? null : store.markAt(place);
    }),
  ),
};

export interface Projected {
  readonly store: ProjectionStore;
  readonly readModels: ReadModels;
}

const noteKey = upTo(8).map((number) => `note-${number}`);
const note = fc.record({
  org: fc.constantFrom('org-1', 'org-2', null),
  status: fc.constantFrom('open', 'done', 'Ünique'),
  tag: fc.constantFrom('a', 'b', null),
  due: fc.constantFrom('2026-01-01', '2026-02-02', null),
});
/** A key is made by the same event in every build. */
const createdAt = (key: string): number => Number(key.slice('note-'.length)) + 1;

const onProjected = drawing<Projected>();

export const readModels: Port<Projected> = {
  name: 'the read models',
  operation: fc.oneof(
    {
      weight: 5,
      arbitrary: onProjected(
        'save',
        fc.tuple(
          fc.uniqueArray(fc.tuple(noteKey, note, upTo(20)), { maxLength: 4, selector: ([key]) => key }),
          upTo(40),
        ),
        async ({ store }: Projected, [documents, checkpoint]) => {
          const { generation } = await store.active(notes);
          const saved = documents.map(([key, change, later]) =>
            storedNote(key, createdAt(key), change, createdAt(key) + later),
          );
          await store.save([
            { projection: notes, generation, documents: saved, checkpoint: BigInt(checkpoint) },
          ]);
        },
      ),
    },
    onProjected('active', fc.constant(null), async ({ store }) => (await store.active(notes)).checkpoint),
    onProjected('load', fc.uniqueArray(noteKey, { maxLength: 4 }), async ({ store }, keys) =>
      store.load(notes, (await store.active(notes)).generation, keys),
    ),
    onProjected('get', noteKey, ({ readModels: models }, key) => models.get(notes, key)),
    onProjected(
      'page',
      fc.record({
        org: fc.constantFrom('org-1', 'org-2', null),
        where: fc.constantFrom({}, { status: 'open' }, { tag: 'a' }, { status: 'Ünique', tag: 'b' }),
        before: upTo(10).map(BigInt),
        limit: fc.integer({ min: 1, max: 5 }),
      }),
      ({ readModels: models }, query) => models.page(notes, query),
    ),
    onProjected(
      'page',
      fc.record({
        org: fc.constant(everyOrganization),
        where: fc.constantFrom({ status: 'open' }, { status: 'done', tag: 'a' }),
        limit: fc.integer({ min: 1, max: 5 }),
      }),
      ({ readModels: models }, query) => models.page(notes, query),
    ),
    onProjected(
      'count',
      fc.constantFrom({ org: 'org-1', where: {} }, { org: null, where: { tag: 'a' } }),
      ({ readModels: models }, query) => models.count(notes, query),
    ),
    onProjected(
      'agenda',
      fc.record({ upTo: fc.constantFrom('2026-01-01', '2026-12-31'), limit: fc.integer({ min: 1, max: 5 }) }),
      ({ readModels: models }, query) => models.agenda(notes, query),
    ),
  ),
};
