import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import type { DeliveryFilter } from '../../../application/ports/delivery-log.js';
import type { Database } from '../../../adapters/sqlite/database.js';
import { logQueries } from '../../../adapters/sqlite/log/log-queries.js';
import { sqliteDeliveries } from '../../../adapters/sqlite/records/deliveries.js';
import { pageQuery } from '../../../adapters/sqlite/records/delivery-pages.js';
import { sqliteHookCalls } from '../../../adapters/sqlite/records/hook-calls.js';
import {
  sqliteCheckpoints,
  sqliteKeyUses,
  sqliteSignInRecords,
} from '../../../adapters/sqlite/records/records.js';
import { openOperations, type SqlWrite } from '../../../adapters/sqlite/writer/operations.js';
import type { SqliteWriter } from '../../../adapters/sqlite/writer/writer.js';
import { Instant, OrganizationId, Uuid } from '../../../domain/ids.js';
import { VirtualClock } from '../../support/memory/clock.js';

/** Tables that grow with the cards: a query that reads one of them from end to end holds up everybody. */
const largeTables = [
  'events',
  'deliveries',
  'hook_calls',
  'idempotency_keys',
  'key_uses',
  'hook_uses',
  'sign_in_records',
];

/** A database whose every statement is kept. */
const recording = () => {
  const plain = new DatabaseSync(':memory:');
  const statements = new Set<string>();
  const prepare = (sql: string) => {
    statements.add(sql);
    return plain.prepare(sql);
  };
  const database = new Proxy(plain, {
    get: (target, name) => {
      if (name === 'prepare') return prepare;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { database, plain, statements };
};

/** Every write in SQL that the stores ask for, by their own calls. */
const writesOf = async (database: Database): Promise<ReadonlySet<string>> => {
  const written = new Set<string>();
  const write = async (...statements: readonly SqlWrite[]): Promise<number> => {
    for (const [sql] of statements) written.add(sql);
    return 0;
  };
  const run = async (name: string, input: unknown): Promise<unknown> =>
    name === 'write' ? write(...(input as readonly SqlWrite[])) : { removed: 0, last: null };
  const writer = { write, run } as unknown as SqliteWriter;
  const id = Uuid.parse('6c0f6a3e-0000-4000-8000-000000000002');
  const at = Instant.parse('2026-03-02T12:00:00.000Z');
  const record = { kind: 'password', id: 'a', owner: 'b', data: {}, ends: null } as const;
  const records = sqliteSignInRecords({ writer, database, clock: new VirtualClock() });
  await records.add(record);
  await records.change({ ...record, version: 0 }, record);
  await records.remove('password', 'a');
  await records.removeAllOf('password', 'b', null);
  await records.removeEnded();
  await sqliteKeyUses({ writer, database }).save([[id, at]]);
  await sqliteCheckpoints({ writer, database }).save('relay', { position: 0n, state: null });
  const call = { id, hook: id, org, at, status: 201, code: null, card: 'HC-1', requestId: 'req_1' };
  await sqliteHookCalls({ writer, database }).record(call);
  const { log, gates, claims, relayMemory } = sqliteDeliveries({ writer, database });
  await log.removeEnded(0);
  await gates.resetFailures(id);
  await claims.hasten({ now: () => 0 }, 0);
  await relayMemory.rememberEndpoints(org, 1n, { endpoints: [], deleted: [] });
  return written;
};

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');

const filters = (): readonly DeliveryFilter[] => {
  const choices = [0, 1];
  return choices.flatMap((endpoint) =>
    choices.flatMap((status) =>
      choices.flatMap((type) =>
        choices.map((card) => ({
          endpoint: endpoint === 1 ? 'an-endpoint' : null,
          status: status === 1 ? ('pending' as const) : null,
          type: type === 1 ? 'card.created' : null,
          card: card === 1 ? 'HC-1' : null,
        })),
      ),
    ),
  );
};

describe('the queries of events.db', () => {
  it('end by an index, whatever they ask of a table that grows', async () => {
    const { database, plain, statements } = recording();
    openOperations(database, () => undefined);
    const head = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
    logQueries({ database, head, onDamage: () => undefined });
    for (const sql of await writesOf(database)) statements.add(sql);
    for (const filter of filters()) statements.add(pageQuery(org, filter, 1_000, 50).sql);
    const scans = [...statements].flatMap((sql) => {
      const plan: readonly { readonly detail: string }[] = plain.prepare(`explain query plan ${sql}`).all();
      return plan
        .filter(({ detail }) => largeTables.some((table) => new RegExp(`^SCAN ${table}\\b`).test(detail)))
        .map(({ detail }) => `${detail}: ${sql}`);
    });
    expect(statements.size).to.be.greaterThan(40);
    expect(scans).to.deep.equal([]);
    plain.close();
  });
});
