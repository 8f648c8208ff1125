import { expect } from 'chai';
import { changeCard } from '../../application/change-card.js';
import { purchaseBy } from '../../application/ledgers.js';
import { OpenWork, closeOpenWork } from '../../application/reconcile.js';
import { sendCard } from '../../application/send-card.js';
import { cancel } from '../../domain/card.js';
import { ledgerStream } from '../../domain/credits.js';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { drive } from '../support/simulation/processes.js';
import { balanceOf, makeWorld, org, sendRequest, type World } from '../support/fixtures/world.js';

const reconcileAfter = 60_000;
const depsOf = (world: World) => ({ ...world, checkpoints: new MemoryCheckpoints(), reconcileAfter });

describe('a reconciler that starts again', () => {
  it('looks for a return behind the movements that it had seen, not from the first one on', async () => {
    const never = new Promise<never>(() => undefined);
    let isDying = false;
    const world = await makeWorld({
      atomic: false,
      onWrite: async ([write]) => (isDying && write?.stream === ledgerStream(org) ? never : 'store'),
    });
    const purchases = Array.from({ length: 1_000 }, () => purchaseBy(world.command(), org, 1, null));
    await world.ledgers.move({ org, command: world.command(), movements: purchases });
    const { code } = await sendCard(world, sendRequest(world));
    const before = new OpenWork();
    const seen = await world.store.readLog(0n, 10_000);
    for (const event of seen) before.observe(event);

    isDying = true;
    const cancelling = changeCard(world, { code, org }, world.command(), cancel);
    expect(await drive(world.clock, cancelling)).to.equal('dead');
    isDying = false;

    const started = world.restarted();
    const after = OpenWork.restore(JSON.parse(JSON.stringify(before.save())));
    const missed = await started.store.readLog(BigInt(seen.length), 10);
    for (const event of missed) after.observe(event);
    await world.clock.advance(reconcileAfter);
    world.store.reads.clear();
    const closing = closeOpenWork(depsOf(started), after);
    expect(await drive(world.clock, closing)).to.deep.equal({ closed: 1, errors: [] });
    expect(await balanceOf(started)).to.equal(1_000);
    expect(world.store.reads.get(ledgerStream(org))?.events).to.be.at.most(5);
  });
});
