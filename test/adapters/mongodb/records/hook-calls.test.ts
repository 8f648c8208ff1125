import { expect } from 'chai';
import { mongoHookCalls, type UseRow } from '../../../../adapters/mongodb/records/hook-calls.js';
import { newestKept, type HookCall } from '../../../../application/ports/hook-calls.js';
import type { Instant, OrganizationId, Uuid } from '../../../../domain/ids.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { freshDatabase } from '../support.js';

const hook = 'a-hook' as Uuid;
const day = 86_400_000;
const at = '2026-03-01T12:00:00.000Z' as Instant;

const call = (number: number): HookCall => ({
  id: `call-${number}` as Uuid,
  hook,
  org: 'org-1' as OrganizationId,
  at,
  status: number % 2 === 0 ? 201 : 402,
  code: number % 2 === 0 ? null : 'no_credits',
  card: number % 2 === 0 ? `HC-${number}` : null,
  requestId: `req_${number}`,
});

describeWithEngines(['MONGODB_URL'], 'hook calls in MongoDB', (url) => {
  it('have an end once 1,000 later ones of their hook are recorded, and the server removes them then', async () => {
    const { database, end } = freshDatabase(url);
    try {
      // As if the processes that recorded them had died before they gave any of them its end.
      const earlier = Array.from({ length: newestKept + 300 }, (_, index) => {
        const { id, ...fields } = call(index);
        return { _id: id, number: index + 1, ...fields };
      });
      const rows = database.collection<(typeof earlier)[number] & { readonly endsAt?: Date }>('hook_calls');
      await rows.insertMany(earlier);
      await database
        .collection<{ readonly _id: string; readonly last: number }>('sequences')
        .insertOne({ _id: 'hook_calls', last: earlier.length });
      await database.collection<UseRow>('hook_uses').insertOne({
        _id: hook,
        calls: earlier.length,
        fires: earlier.length / 2,
        lastFiredAt: at,
        counted: [],
      });
      const calls = mongoHookCalls({ database, keep: 30 * day });
      expect((await calls.use([hook])).get(hook)).to.deep.equal({
        fireCount: earlier.length / 2,
        lastFiredAt: at,
      });
      await Promise.all(Array.from({ length: 99 }, (_, index) => calls.record(call(earlier.length + index))));
      await calls.record(call(earlier.length + 99));
      const all = await rows.find().sort({ number: 1 }).toArray();
      const ended = all.filter(({ endsAt }) => endsAt !== undefined);
      expect(ended.map(({ number }) => number)).to.deep.equal(
        all.slice(0, -newestKept).map(({ number }) => number),
      );
      expect(new Set(ended.map(({ endsAt }) => endsAt?.getTime()))).to.deep.equal(
        new Set([Date.parse(at) + 30 * day]),
      );
      const indexes = await rows.listIndexes().toArray();
      const [ttl] = indexes.filter(({ name }) => name === 'ended');
      expect([ttl?.['key'], Number(ttl?.['expireAfterSeconds'])]).to.deep.equal([{ endsAt: 1 }, 0]);
      await rows.deleteMany({ endsAt: { $gt: new Date(0) } });
      expect((await calls.use([hook])).get(hook)?.fireCount).to.equal((earlier.length + 100) / 2);
    } finally {
      await end();
    }
  });
});
