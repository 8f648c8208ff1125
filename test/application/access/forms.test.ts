import { expect } from 'chai';
import { claimForm, completeForm, isSpent, releaseForm } from '../../../application/access/forms.js';
import { makeWorld } from '../../support/fixtures/world.js';
import { MemorySignInRecords } from '../../support/memory/records.js';

describe('the claim of a form', () => {
  it('is given back by the try that holds it, and left where another has taken over', async () => {
    const { clock, entropy } = await makeWorld({ atomic: true });
    const deps = { signInRecords: new MemorySignInRecords(clock), clock, entropy, claimTimeout: 0 };
    const claim = async () => {
      const claimed = await claimForm(deps, 'a form', 'ann', 'do=it', 0);
      if (claimed.kind !== 'claimed') throw new Error(`the form is ${claimed.kind}`);
      return claimed;
    };
    const isOver = () => isSpent(deps, 'a form', 'ann');
    const slow = await claim();
    expect(await isOver()).to.equal(false);
    const second = await claim();
    expect(second.tookOver).to.equal(true);
    await releaseForm(deps, slow.held);
    expect(await deps.signInRecords.find('form', slow.held.id)).to.not.equal(null);
    await releaseForm(deps, second.held);
    const last = await claim();
    expect(last.tookOver).to.equal(false);
    await completeForm(deps, last.held, '/done');
    expect(await isOver()).to.equal(true);
  });

  it('is refused after it has waited for so long that an earlier try may be forgotten', async () => {
    const { clock, entropy } = await makeWorld({ atomic: true });
    const deps = { signInRecords: new MemorySignInRecords(clock), clock, entropy, claimTimeout: 0 };
    const sent = (waited: number) => claimForm(deps, 'a form', 'ann', 'do=it', waited);
    const first = await sent(3_600_000);
    if (first.kind !== 'claimed') throw new Error(`the form is ${first.kind}`);
    await completeForm(deps, first.held, '/done');
    clock.skip(86_400_000);
    const [late] = await Promise.allSettled([sent(86_400_000)]);
    expect(late).to.have.nested.property('reason.code', 'invalid_transition');
  });
});
