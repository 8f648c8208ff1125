import { expect } from 'chai';
import { VirtualClock } from '../../support/memory/clock.js';
import { MemoryIdempotencyStore } from '../../support/memory/idempotency-store.js';
import { answerTtl, type KeyClaim } from '../../../application/ports/idempotency-store.js';
import type { CommandId, OrganizationId } from '../../../domain/ids.js';

describe('the idempotency keys in memory', () => {
  const setUp = () => {
    const clock = new VirtualClock();
    const claim = (changes: Partial<KeyClaim> = {}): KeyClaim => ({
      org: 'o' as OrganizationId,
      key: 'k',
      body: 'b',
      code: 'HC-1',
      owner: 'first' as CommandId,
      ledgerRevision: 0,
      claimedAt: clock.instant(),
      ...changes,
    });
    return { clock, claim, keys: new MemoryIdempotencyStore(clock) };
  };

  it('gives a claim to the first request, and shows it to the others', async () => {
    const { keys, claim } = setUp();
    const held = claim();
    expect(await keys.claim(held)).to.deep.equal({ kind: 'claimed' });
    expect(await keys.claim(claim({ owner: 'second' as CommandId }))).to.deep.equal({
      kind: 'running',
      claim: held,
    });
    expect(await keys.claim(claim({ body: 'other' }))).to.deep.equal({ kind: 'reused' });
    expect(await keys.claim(claim({ org: 'p' as OrganizationId }))).to.deep.equal({ kind: 'claimed' });
    expect(await keys.complete(held)).to.equal(true);
    expect(await keys.claim(claim())).to.deep.equal({ kind: 'completed', code: 'HC-1' });
  });

  it("replaces a claim once, and its old owner can't complete or release it", async () => {
    const { keys, claim } = setUp();
    const held = claim();
    const next = claim({ owner: 'second' as CommandId, code: 'HC-2' });
    await keys.claim(held);
    expect(await keys.replace(held, next)).to.equal(true);
    expect(await keys.replace(held, next)).to.equal(false);
    expect(await keys.complete(held)).to.equal(false);
    await keys.release(held);
    expect(await keys.claim(claim())).to.deep.equal({ kind: 'running', claim: next });
    expect(await keys.complete(next)).to.equal(true);
    expect(await keys.replace(next, held)).to.equal(false);
    await keys.release(next);
    expect(await keys.claim(claim())).to.deep.equal({ kind: 'completed', code: 'HC-2' });
  });

  it('frees a key when its claim is released', async () => {
    const { keys, claim } = setUp();
    await keys.claim(claim());
    await keys.release(claim());
    expect(await keys.claim(claim({ body: 'other' }))).to.deep.equal({ kind: 'claimed' });
  });

  it('remembers a key for 24 hours from its first claim', async () => {
    const { keys, claim, clock } = setUp();
    const held = claim();
    await keys.claim(held);
    await clock.advance(answerTtl - 1);
    const next = claim({ owner: 'second' as CommandId });
    expect(await keys.replace(held, next)).to.equal(true);
    expect(await keys.complete(next)).to.equal(true);
    expect(await keys.claim(claim())).to.deep.equal({ kind: 'completed', code: 'HC-1' });
    await clock.advance(1);
    expect(await keys.claim(claim({ body: 'other' }))).to.deep.equal({ kind: 'claimed' });
  });
});
