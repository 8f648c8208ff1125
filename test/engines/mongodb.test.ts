import { expect } from 'chai';
import fc from 'fast-check';
import type { Filter, IndexDescription, Sort } from 'mongodb';
import type { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { freshDatabase } from '../adapters/mongodb/support.js';
import { describeWithEngines } from '../support/runner/engines.js';

interface Row {
  readonly _id: number;
  readonly org?: string | null;
  readonly by?: { readonly status?: string };
  readonly at?: number | bigint | null;
}

/** As those of the service: fixed fields first, then an order, upwards or downwards. */
const indexes: readonly IndexDescription[] = [
  { key: { org: 1, at: -1 }, name: 'by_org' },
  { key: { org: 1, 'by.status': 1, at: 1 }, name: 'by_status' },
  { key: { at: 1, _id: 1 }, name: 'by_time', sparse: true },
];

const orgs = ['a', 'b'];
const times = fc.integer({ min: 0, max: 9 });
const row = fc.record(
  {
    org: fc.constantFrom(...orgs, null),
    by: fc.record({ status: fc.constantFrom('open', 'done') }, { requiredKeys: [] }),
    at: fc.oneof(times, times, times.map(BigInt), fc.constant(null)),
  },
  { requiredKeys: [] },
);

const bound = fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), times);
const bounds = fc.array(bound, { minLength: 1, maxLength: 2 }).map((some) => Object.fromEntries(some));
const orgIs = fc.oneof(
  fc.constantFrom(...orgs, null),
  fc.constantFrom(...orgs).map(($eq) => ({ $eq })),
  fc.array(fc.constantFrom(...orgs, null)).map(($in) => ({ $in })),
  fc.constantFrom(...orgs).map(($ne) => ({ $ne })),
  fc.constant({ $exists: false }),
);
/** What may be asked of each field, or nothing. */
const filters: fc.Arbitrary<Filter<Row>> = fc
  .tuple(
    fc.option(
      orgIs.map((org) => ({ org })),
      { freq: 2 },
    ),
    fc.option(
      fc.constantFrom('open', 'done', null).map((status) => ({ 'by.status': status })),
      { freq: 1 },
    ),
    fc.option(fc.oneof(times, bounds, bounds).map((at) => ({ at }))),
    fc.option(
      bounds.map((at) => ({ $and: [{ at }] })),
      { freq: 1 },
    ),
    fc.option(
      times.map((at) => ({ $or: [{ at }, { at: { $gt: at } }] })),
      { freq: 1 },
    ),
  )
  .map((parts) => Object.assign({}, ...parts));

const sorts: fc.Arbitrary<Sort> = fc.constantFrom<Sort[]>(
  { at: 1, _id: 1 },
  { at: -1, _id: -1 },
  { at: -1, _id: 1 },
  { org: 1, at: -1, _id: 1 },
  { org: -1, 'by.status': -1, at: -1, _id: 1 },
  { _id: -1 },
);

const changes = fc.array(
  fc.record({
    filter: fc.tuple(orgIs, times).map(([org, at]): Filter<Row> => ({ org, at })),
    set: fc.option(fc.record({ org: fc.constantFrom(...orgs), at: times }), { nil: null }),
  }),
  { maxLength: 4 },
);

/** Two collections with the same rows, of which one has indexes. */
const filled = async (
  database: MongoDatabase,
  name: string,
  rows: readonly (readonly [number, object])[],
) => {
  const both = [
    await database.indexed<Row>(`with_${name}`, indexes),
    database.collection<Row>(`without_${name}`),
  ] as const;
  for (const collection of both)
    if (rows.length > 0) await collection.insertMany(rows.map(([_id, fields]) => ({ _id, ...fields })));
  return both;
};

describeWithEngines(['MONGODB_URL'], 'the server that speaks the protocol of MongoDB', (url) => {
  it('finds the same with indexes as without, whatever was changed or removed', async () => {
    const { database, end } = freshDatabase(url);
    let run = 0;
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(row, { minLength: 20, maxLength: 40 }),
          changes,
          fc.array(fc.tuple(filters, sorts, fc.nat(6), fc.nat(3)), { minLength: 5, maxLength: 15 }),
          async (fields, changing, asked) => {
            const both = await filled(database, `${(run += 1)}`, [...fields.entries()]);
            for (const { filter, set } of changing)
              for (const collection of both)
                await (set === null
                  ? collection.deleteMany(filter)
                  : collection.updateMany(filter, { $set: set }));
            for (const [filter, sort, limit, skip] of asked) {
              const found = both.map((collection) =>
                collection.find(filter).sort(sort).skip(skip).limit(limit).toArray(),
              );
              const [withIndexes, without] = await Promise.all(found);
              expect(withIndexes).to.deep.equal(without);
              const counted = await Promise.all(both.map((collection) => collection.countDocuments(filter)));
              expect(counted[0]).to.equal(counted[1]);
            }
          },
        ),
        { numRuns: 40 },
      );
    } finally {
      await end();
    }
  }).timeout(120_000);
});
