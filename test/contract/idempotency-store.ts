import { expect } from 'chai';
import {
  answerTtl,
  type KeyClaim,
  type IdempotencyStore,
} from '../../application/ports/idempotency-store.js';
import type { CommandId, Instant, Milliseconds, OrganizationId } from '../../domain/ids.js';

export interface MadeIdempotencyStore {
  readonly store: IdempotencyStore;
  /** Sets the store's clock, which starts at `startOfContract`. */
  readonly setClock: (now: Milliseconds) => void;
  readonly close: () => Promise<void>;
}

export const startOfContract: Milliseconds = Date.parse('2026-03-01T12:00:00.000Z');

const instantOf = (at: Milliseconds) => new Date(at).toISOString() as Instant;

let made = 0;
/** A claim on a key that no other test uses. */
const newClaim = (changed: Partial<KeyClaim> = {}): KeyClaim => ({
  org: `org-${(made += 1)}` as OrganizationId,
  key: 'The Key, case-sensitive',
  body: 'a'.repeat(64),
  code: 'HC-AAAAAAA',
  owner: 'command-1' as CommandId,
  ledgerRevision: 4,
  claimedAt: instantOf(startOfContract),
  ...changed,
});
const anotherOwner = (claim: KeyClaim, after: Milliseconds = 0): KeyClaim => ({
  ...claim,
  owner: 'command-2' as CommandId,
  code: 'HC-BBBBBBB',
  ledgerRevision: 9,
  claimedAt: instantOf(startOfContract + after),
});
const anotherBody = (claim: KeyClaim): KeyClaim => ({ ...anotherOwner(claim), body: 'c'.repeat(64) });

/** What every IdempotencyStore promises. `make` is called for each test. */
export const idempotencyStoreContract = (name: string, make: () => Promise<MadeIdempotencyStore>): void => {
  describe(`the idempotency store contract: ${name}`, () => {
    let store: IdempotencyStore;
    let setClock: (now: Milliseconds) => void;
    let close: () => Promise<void>;

    beforeEach(async () => ({ store, setClock, close } = await make()));
    afterEach(() => close());

    describe('claiming', () => {
      it('gives the claim to the first request, and shows it to the others', async () => {
        const claim = newClaim();
        expect(await store.claim(claim)).to.deep.equal({ kind: 'claimed' });
        expect(await store.claim(anotherOwner(claim))).to.deep.equal({ kind: 'running', claim });
      });

      it('gives the claim to one of 50 requests that come at once', async () => {
        const claim = newClaim();
        const outcomes = await Promise.all(
          Array.from({ length: 50 }, (_, n) => store.claim({ ...claim, owner: `command-${n}` as CommandId })),
        );
        expect(outcomes.filter(({ kind }) => kind === 'claimed')).to.have.length(1);
        expect(outcomes.filter(({ kind }) => kind === 'running')).to.have.length(49);
      });

      it('refuses another body while the claim is running', async () => {
        const claim = newClaim();
        await store.claim(claim);
        expect(await store.claim(anotherBody(claim))).to.deep.equal({ kind: 'reused' });
      });

      it('keeps claims of other organizations, and of keys that differ in any character, apart', async () => {
        const claim = newClaim();
        await store.claim(claim);
        expect(await store.claim({ ...claim, org: `${claim.org}-other` as OrganizationId })).to.deep.equal({
          kind: 'claimed',
        });
        expect(await store.claim({ ...claim, key: claim.key.toUpperCase() })).to.deep.equal({
          kind: 'claimed',
        });
        expect(await store.claim({ ...claim, key: `${claim.key} ` })).to.deep.equal({ kind: 'claimed' });
      });

      it('does not mistake a part of the key for a part of the organization', async () => {
        const claim = newClaim();
        await store.claim({ ...claim, org: `${claim.org}-a` as OrganizationId, key: 'b' });
        expect(await store.claim({ ...claim, org: claim.org, key: 'a-b' })).to.deep.equal({
          kind: 'claimed',
        });
        expect(await store.claim({ ...claim, org: claim.org, key: '-a\nb' })).to.deep.equal({
          kind: 'claimed',
        });
      });
    });

    describe('completing', () => {
      it('returns the card of a completed claim', async () => {
        const claim = newClaim();
        await store.claim(claim);
        expect(await store.complete(claim)).to.equal(true);
        expect(await store.claim(anotherOwner(claim))).to.deep.equal({ kind: 'completed', code: claim.code });
        expect(await store.claim(anotherBody(claim))).to.deep.equal({ kind: 'reused' });
      });

      it('completes a claim only once', async () => {
        const claim = newClaim();
        await store.claim(claim);
        expect([await store.complete(claim), await store.complete(claim)]).to.deep.equal([true, false]);
      });

      it('refuses to complete a claim for another owner or code', async () => {
        const claim = newClaim();
        expect(await store.complete(claim)).to.equal(false);
        await store.claim(claim);
        expect(await store.complete({ ...claim, owner: 'command-2' as CommandId })).to.equal(false);
        expect(await store.complete({ ...claim, code: 'HC-BBBBBBB' })).to.equal(false);
        expect(await store.claim(anotherOwner(claim))).to.deep.equal({ kind: 'running', claim });
      });

      it('keeps a completed claim despite a release or a replacement', async () => {
        const claim = newClaim();
        await store.claim(claim);
        await store.complete(claim);
        await store.release(claim);
        expect(await store.replace(claim, anotherOwner(claim))).to.equal(false);
        expect(await store.claim(anotherOwner(claim))).to.deep.equal({ kind: 'completed', code: claim.code });
      });
    });

    describe('releasing', () => {
      it('frees the key, for another body too', async () => {
        const claim = newClaim();
        await store.claim(claim);
        await store.release(claim);
        expect(await store.claim(anotherBody(claim))).to.deep.equal({ kind: 'claimed' });
      });

      it('does not release a claim for another owner or code', async () => {
        const claim = newClaim();
        await store.claim(claim);
        await store.release(anotherOwner(claim));
        await store.release({ ...claim, code: 'HC-BBBBBBB' });
        expect(await store.claim(anotherOwner(claim))).to.deep.equal({ kind: 'running', claim });
      });
    });

    describe('replacing', () => {
      it('gives the claim to the next owner', async () => {
        const claim = newClaim();
        const next = anotherOwner(claim, 61_000);
        await store.claim(claim);
        expect(await store.replace(claim, next)).to.equal(true);
        const third = { ...anotherOwner(claim), owner: 'command-3' as CommandId };
        expect(await store.claim(third)).to.deep.equal({ kind: 'running', claim: next });
        expect([await store.complete(claim), await store.complete(next)]).to.deep.equal([false, true]);
        expect(await store.claim(claim)).to.deep.equal({ kind: 'completed', code: next.code });
      });

      it('lets one of two replacements succeed', async () => {
        const claim = newClaim();
        await store.claim(claim);
        const outcomes = await Promise.all(
          ['command-2', 'command-3'].map((owner) =>
            store.replace(claim, { ...anotherOwner(claim), owner: owner as CommandId }),
          ),
        );
        expect(outcomes.filter(Boolean)).to.have.length(1);
      });

      it('gives a claim another code of the same owner', async () => {
        const claim = newClaim();
        const redrawn = { ...claim, code: 'HC-CCCCCCC' };
        await store.claim(claim);
        expect(await store.replace(claim, redrawn)).to.equal(true);
        expect([await store.complete(claim), await store.complete(redrawn)]).to.deep.equal([false, true]);
      });
    });

    describe('expiry', () => {
      const complete = async (claim: KeyClaim) => {
        await store.claim(claim);
        expect(await store.complete(claim)).to.equal(true);
      };
      /** A claim that is made at a later time, to which the clock is set. */
      const later = (claim: KeyClaim, after: Milliseconds): KeyClaim => {
        setClock(startOfContract + after);
        return anotherOwner(claim, after);
      };

      it('remembers a key for 24 hours', async () => {
        const claim = newClaim();
        await complete(claim);
        expect(await store.claim(later(claim, answerTtl - 1))).to.deep.equal({
          kind: 'completed',
          code: claim.code,
        });
        expect(await store.claim(later(claim, answerTtl))).to.deep.equal({ kind: 'claimed' });
      });

      it('remembers the next card under a key for another 24 hours', async () => {
        const claim = newClaim();
        await complete(claim);
        const second = later(claim, answerTtl + 5);
        await complete(second);
        expect(await store.claim(later(claim, 2 * answerTtl + 4))).to.deep.equal({
          kind: 'completed',
          code: second.code,
        });
        expect(await store.claim(later(claim, 2 * answerTtl + 5))).to.deep.equal({ kind: 'claimed' });
      });

      it('does not extend the 24 hours if a claim changes hands', async () => {
        const claim = newClaim();
        await store.claim(claim);
        const next = later(claim, 100_000);
        expect(await store.replace(claim, next)).to.equal(true);
        expect(await store.complete(next)).to.equal(true);
        expect(await store.claim(later(claim, answerTtl - 1))).to.deep.equal({
          kind: 'completed',
          code: next.code,
        });
        expect(await store.claim(later(claim, answerTtl))).to.deep.equal({ kind: 'claimed' });
      });
    });
  });
};
