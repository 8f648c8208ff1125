import { expect } from 'chai';
import { mongoArtwork } from '../../../../adapters/mongodb/records/artwork.js';
import { MongoIdempotencyStore } from '../../../../adapters/mongodb/records/idempotency-store.js';
import { answerTtl, type KeyClaim } from '../../../../application/ports/idempotency-store.js';
import { ArtworkDigest } from '../../../../domain/artwork.js';
import type { CommandId, Instant, OrganizationId } from '../../../../domain/ids.js';
import { describeWithEngines } from '../../../support/runner/engines.js';
import { standingClock } from '../../../support/time/standing-clock.js';
import { delaying, freshDatabase } from '../support.js';

describeWithEngines(['MONGODB_URL'], 'a write in MongoDB that another process is ahead of', (url) => {
  it('of a key that has ended: leaves the key to who claimed it anew', async () => {
    const { database, end } = freshDatabase(url);
    try {
      const began = Date.parse('2026-03-01T12:00:00.000Z');
      const claim = (owner: string, at: number): KeyClaim => ({
        org: 'org-1' as OrganizationId,
        key: 'a key',
        body: 'a'.repeat(64),
        code: `HC-${owner}`,
        owner: owner as CommandId,
        ledgerRevision: 1,
        claimedAt: new Date(at).toISOString() as Instant,
      });
      const later = began + answerTtl;
      const [clock, first] = [standingClock(later), claim('first', began)];
      await new MongoIdempotencyStore({ database, clock }).claim(first);
      const quick = claim('quick', later);
      const outcomes: unknown[] = [];
      const late = delaying(database, (call) =>
        call === 'deleteOne idempotency_keys' && outcomes.length === 0
          ? new MongoIdempotencyStore({ database, clock })
              .claim(quick)
              .then((outcome) => outcomes.push(outcome))
          : null,
      );
      outcomes.push(await new MongoIdempotencyStore({ database: late, clock }).claim(claim('late', later)));
      expect(outcomes).to.deep.equal([{ kind: 'claimed' }, { kind: 'running', claim: quick }]);
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
        call === 'deleteOne artwork.files' ? putAt(2_000).put(digest, pictures) : null,
      );
      const removing = mongoArtwork(late, standingClock(2_000));
      expect(await removing.remove(digest, 1_000)).to.equal(false);
      expect((await putAt(2_000).get(digest, 'master'))?.equals(master)).to.equal(true);
    } finally {
      await end();
    }
  });
});
