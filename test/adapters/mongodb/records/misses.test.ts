import { expect } from 'chai';
import { mongoArtwork } from '../../../../adapters/mongodb/records/artwork.js';
import { builds } from '../../../../adapters/mongodb/read/builds.js';
import { mongoProjectionStore } from '../../../../adapters/mongodb/read/projection-store.js';
import { mongoHookCalls } from '../../../../adapters/mongodb/records/hook-calls.js';
import { mongoSignInRecords } from '../../../../adapters/mongodb/records/records.js';
import type { HookCall } from '../../../../application/ports/hook-calls.js';
import { notes } from '../../../support/fixtures/notes.js';
import { mongoIdempotencyStore } from '../../../../adapters/mongodb/records/idempotency-store.js';
import { answerTtl, type KeyClaim } from '../../../../application/ports/idempotency-store.js';
import { ArtworkDigest } from '../../../../domain/artwork.js';
import type { CommandId, Instant, OrganizationId, Uuid } from '../../../../domain/ids.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { standingClock } from '../../../support/time/standing-clock.js';
import { delaying, freshDatabase } from '../support.js';

const claim = (owner: string, at: number): KeyClaim => ({
  org: 'org-1' as OrganizationId,
  key: 'a key',
  body: 'a'.repeat(64),
  code: `HC-${owner}`,
  owner: owner as CommandId,
  ledgerRevision: 1,
  claimedAt: new Date(at).toISOString() as Instant,
});

describeWithEngines(['MONGODB_URL'], 'a write in MongoDB that another process is ahead of', (url) => {
  it('of a key that has ended: leaves the key to who claimed it anew', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const began = Date.parse('2026-03-01T12:00:00.000Z');
      const later = began + answerTtl;
      const [clock, first] = [standingClock(later), claim('first', began)];
      await mongoIdempotencyStore({ database, clock }).claim(first);
      const quick = claim('quick', later);
      const outcomes: unknown[] = [];
      const late = delaying(database, (call) =>
        call === 'deleteOne idempotency_keys' && outcomes.length === 0
          ? mongoIdempotencyStore({ database, clock })
              .claim(quick)
              .then((outcome) => outcomes.push(outcome))
          : null,
      );
      outcomes.push(await mongoIdempotencyStore({ database: late, clock }).claim(claim('late', later)));
      expect(outcomes).to.deep.equal([{ kind: 'claimed' }, { kind: 'running', claim: quick }]);
    } finally {
      await end();
    }
  });

  it('of a key, after a machine was suspended: waits until its clock goes by the server’s again', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const clock = standingClock(Date.parse('2026-03-01T12:00:00.000Z'));
      const wanted = claim('first', clock.now());
      let looks = 0;
      const agreedAfter = (count: number) => ({ ...clock, isAgreed: () => (looks += 1) > count });
      const claimAfter = (count: number) =>
        mongoIdempotencyStore({ database, clock: agreedAfter(count) }).claim(wanted);
      const [never] = await Promise.allSettled([claimAfter(Infinity)]);
      expect(never).to.have.nested.property('reason.name', 'IdempotencyUnavailable');
      looks = 0;
      expect(await claimAfter(3)).to.deep.equal({ kind: 'claimed' });
      expect(looks).to.equal(4);
    } finally {
      await end();
    }
  });

  it('of an old picture: leaves it, and every byte of it, to who has put it again', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const digest = ArtworkDigest.parse('ab'.repeat(32));
      const master = Buffer.alloc(600_000, 'dots of a front');
      const pictures = { master, preview: Buffer.from('preview'), thumbnail: Buffer.from('thumbnail') };
      const putAt = (now: number) => mongoArtwork(database, standingClock(now));
      await putAt(500).put(digest, pictures);
      const late = delaying(database, (call) =>
        call === 'updateOne artwork.files' ? putAt(2_000).put(digest, pictures) : null,
      );
      const removing = mongoArtwork(late, standingClock(2_000));
      await removing.remove(digest, 1_000);
      expect((await putAt(2_000).get(digest, 'master'))?.equals(master)).to.equal(true);
    } finally {
      await end();
    }
  });

  it('of what is left of a put: leaves it to a put that has ended meanwhile', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const digest = ArtworkDigest.parse('ab'.repeat(32));
      const master = Buffer.alloc(600_000, 'dots of a front');
      const pictures = { master, preview: Buffer.from('preview'), thumbnail: Buffer.from('thumbnail') };
      let [put, sweep] = [Promise.resolve(), Promise.resolve()];
      let isFound = (): void => undefined;
      const found = new Promise<void>((resolve) => (isFound = resolve));
      const late = delaying(database, (call) => {
        if (call !== 'updateOne artwork.files') return null;
        isFound();
        return put;
      });
      const removing = mongoArtwork(late, standingClock(2_000));
      const slow = delaying(database, (call) => {
        if (call === 'insertOne artwork.chunks') sweep = removing.removeUnfinished(1_000);
        return call === 'insertOne artwork.chunks' ? found : null;
      });
      put = mongoArtwork(slow, standingClock(500)).put(digest, pictures);
      await put;
      await sweep;
      expect((await removing.get(digest, 'master'))?.equals(master)).to.equal(true);
    } finally {
      await end();
    }
  });

  for (const call of ['deleteOne', 'insertOne'])
    it(`of a record in the place of one that has ended: leaves it to who added it before the ${call}`, async () => {
      const { database, end } = freshDatabase(url);
      try {
        const at = (now: number, on = database) =>
          mongoSignInRecords({ database: on, clock: standingClock(now) });
        const record = { kind: 'link', id: 'one', owner: 'org-1', data: { of: 'old' }, ends: 1_000 } as const;
        await at(0).add(record);
        const quick = { ...record, data: { of: 'quick' }, ends: 9_000 };
        const late = delaying(database, (made) =>
          made === `${call} sign_in_records` ? at(2_000).add(quick) : null,
        );
        expect(await at(2_000, late).add({ ...record, data: { of: 'late' }, ends: 9_000 })).to.equal(false);
        expect((await at(2_000).find('link', 'one'))?.data).to.deep.equal({ of: 'quick' });
      } finally {
        await end();
      }
    });

  it('of a build that two retire: leaves it the time at which the first did', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const at = (now: number, on = database) =>
        mongoProjectionStore({ database: on, clock: standingClock(now) });
      const { generation: old } = await at(0).active(notes);
      const { generation } = await at(0).startBuild(notes);
      const late = delaying(database, (call) =>
        call === 'updateMany builds' ? at(1_000).activate(notes, generation) : null,
      );
      await at(5_000, late).activate(notes, generation);
      const retired = await (await builds(database)).findOne({ state: 'retired' });
      expect([retired?.generation, retired?.retiredAt]).to.deep.equal([old, 1_000]);
    } finally {
      await end();
    }
  });

  it("of a hook's use that is counted twice at once: counts it once", async () => {
    const { database, end } = freshDatabase(url);
    try {
      const [id, hook] = ['call-1' as Uuid, 'a-hook' as Uuid];
      const of = { org: 'org-1' as OrganizationId, at: '2026-03-01T12:00:00.000Z' as Instant };
      const call: HookCall = { ...of, id, hook, status: 201, code: null, card: 'HC-1', requestId: 'req_1' };
      const calls = mongoHookCalls({ database, keep: 1_000 });
      const late = delaying(database, (made) =>
        made === 'findOneAndUpdate hook_uses' ? calls.record(call) : null,
      );
      await mongoHookCalls({ database: late, keep: 1_000 }).record(call);
      expect((await calls.use([hook])).get(hook)?.fireCount).to.equal(1);
      expect(await calls.page(hook, { startingAfter: null, limit: 9 })).to.deep.equal([call]);
    } finally {
      await end();
    }
  });
});
