import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import type { DeliveryFilter } from '../../../application/ports/delivery-log.js';
import { LogQueries } from '../../../adapters/sqlite/log/log-queries.js';
import { ClaimBook } from '../../../adapters/sqlite/records/claim-book.js';
import { pageQuery } from '../../../adapters/sqlite/records/delivery-pages.js';
import { SqliteHookCalls } from '../../../adapters/sqlite/records/hook-calls.js';
import { sqliteSignInRecords } from '../../../adapters/sqlite/records/records.js';
import { openOperationSets } from '../../../adapters/sqlite/writer/operations.js';
import { OrganizationId } from '../../../domain/ids.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { openNew } from './setup.js';

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
    const { writer, close } = await openNew();
    openOperationSets(database, () => undefined);
    const head = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
    void new LogQueries({ database, head, onDamage: () => undefined });
    void new ClaimBook(database);
    void new SqliteHookCalls({ writer, database });
    void sqliteSignInRecords({ writer, database, clock: new VirtualClock() });
    await close();
    const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
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
