import { expect } from 'chai';
import { addCredits } from '../../../application/money/credits.js';
import { closeOpenWork, openWorkNow } from '../../../application/money/reconciler.js';
import { reconcileCredits } from '../../../application/money/reconcile-credits.js';
import { purchaseIdOf } from '../../../domain/purchase.js';
import { MemoryCheckpoints } from '../../support/memory/checkpoints.js';
import { drive } from '../../support/simulation/drive.js';
import { bought, operator, worldWithDeadPurchase } from '../../support/fixtures/purchases.js';
import { makeWorld, org } from '../../support/fixtures/world.js';

const reconcileAfter = 60_000;

describe('the books of an organization', () => {
  it('show an order whose credits have not come, find it once it is overdue, and show it as of then when they have come', async () => {
    const world = await worldWithDeadPurchase();
    const checkpoints = new MemoryCheckpoints();
    const deps = { ...world.restarted(), checkpoints, reconcileAfter };
    const books = async (to: Parameters<typeof reconcileCredits>[3] = null) => {
      const { open, findings, closing } = await reconcileCredits(deps, org, null, to);
      return {
        closing,
        open: open.map(({ kind, subject, amount }) => [kind, subject, amount]),
        findings: findings.map(({ code, subject }) => [code, subject]),
      };
    };
    const { position } = await world.store.head();
    const then = { position, at: world.clock.instant() };
    const order = purchaseIdOf(org, bought.reference);
    const underWay = { closing: 0, open: [['purchase', order, 5]], findings: [] };
    const overdue = { ...underWay, findings: [['overdue', order]] };

    expect(await books()).to.deep.equal(underWay);
    await checkpoints.save('reconciler', { position, state: (await openWorkNow(deps)).save() });
    expect(await books()).to.deep.equal(underWay);
    await world.clock.advance(reconcileAfter + 15_001);
    expect(await books()).to.deep.equal(overdue);

    await drive(world.clock, closeOpenWork(deps, await openWorkNow(deps)));
    expect(await books()).to.deep.equal({ closing: 5, open: [], findings: [] });
    expect(await books(then)).to.deep.equal(underWay);
  });

  it('read no log where an order and its credits are one commit', async () => {
    const world = await makeWorld({ atomic: true });
    await addCredits(world, operator, org, bought);
    world.store.readLog = () => Promise.reject(new Error('the log is read'));
    const deps = { ...world, checkpoints: new MemoryCheckpoints(), reconcileAfter };
    const { closing, findings } = await reconcileCredits(deps, org, null, null);
    expect({ closing, findings }).to.deep.equal({ closing: 5, findings: [] });
  });
});
