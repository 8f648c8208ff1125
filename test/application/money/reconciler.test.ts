import { expect } from 'chai';
import { appendTo, execute } from '../../../application/writing/execute.js';
import type { StreamWrite } from '../../../application/ports/event-store.js';
import { addCredits } from '../../../application/money/credits.js';
import { purchaseBy, spendFor, ledgerStream } from '../../../domain/credits.js';
import { OpenWork, closeOpenWork, runReconciler } from '../../../application/money/reconciler.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { card, cardStream, cancel } from '../../../domain/card.js';
import { collectionCard, putCollectionCard } from '../../../domain/catalogue.js';
import { copyOf, created, organization, organizationStream } from '../../../domain/organization.js';
import { front } from '../../support/fixtures/front.js';
import { cardCode } from '../../../domain/card-code.js';
import { idOf } from '../../../domain/ids.js';
import { MemoryCheckpoints } from '../../support/memory/checkpoints.js';
import { drive } from '../../support/simulation/drive.js';
import { openWorkIn } from '../../support/simulation/processes.js';
import { bought, operator, worldWithDeadPurchase } from '../../support/fixtures/purchases.js';
import { balanceOf, makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';
import { changeCard } from '../../../application/cards/change-card.js';

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

describe('a copy of a collection card whose send died', () => {
  it('has the front with which the card was sent, although the collection has another since', async () => {
    const never = new Promise<never>(() => undefined);
    let isDying = false;
    const world = await makeWorld({
      atomic: false,
      credits: 1,
      onWrite: async ([write]) => (isDying && write?.stream === organizationStream(org) ? never : 'store'),
    });
    const publish = (digit: string) =>
      execute(world, collectionCard, 'wave', world.command(), putCollectionCard('Wave', true, front(digit)));
    await publish('a');
    isDying = true;
    const sending = sendCard(world, sendRequest(world, { designId: { value: 'card:wave' } }));
    expect(await drive(world.clock, sending)).to.equal('dead');
    isDying = false;
    await world.clock.advance(reconcileAfter);
    await publish('b');
    const started = world.restarted();
    const open = await openWorkIn(started);
    const closing = closeOpenWork(depsOf(started), open);
    expect(await drive(world.clock, closing)).to.have.deep.property('errors', []);
    const { state } = await started.streams.load(organization, org);
    expect(copyOf(created(state), 'wave')?.artwork).to.deep.equal(front('a'));
  });
});

describe('the memory of a reconciler', () => {
  it('holds the revisions of the 10,000 ledgers that moved last', () => {
    const revisions = Array.from({ length: 10_002 }, (_, revision) => [`org-${revision}`, revision]);
    const nothing = { spends: [], debts: [], copies: [], early: [], orders: [] };
    const kept = OpenWork.restore({ ...nothing, revisions }).save();
    expect(kept.revisions).to.deep.equal(revisions.slice(2));
    expect(OpenWork.restore(kept).save()).to.deep.equal(kept);
  });
});

describe('a purchase whose process died after its order', () => {
  it('is brought by the reconciler, once, and the buyer who comes again is told the balance it left', async () => {
    const world = await worldWithDeadPurchase();
    const seen = await openWorkIn(world);
    const before = (await world.store.readLog(0n, 100)).length;
    const openWork = OpenWork.restore(JSON.parse(JSON.stringify(seen.save())));
    const deps = depsOf(world.restarted());
    expect(await drive(world.clock, closeOpenWork(deps, openWork))).to.deep.equal({ closed: 0, errors: [] });
    await world.clock.advance(reconcileAfter);
    expect(await drive(world.clock, closeOpenWork(deps, openWork))).to.deep.equal({ closed: 1, errors: [] });
    const { orders, early } = (await openWorkIn(world)).save();
    expect([orders, early]).to.deep.equal([[], []]);
    for (const event of (await world.store.readLog(0n, 100)).slice(before)) openWork.observe(event);
    const now = openWork.save();
    expect([now.orders, now.early], 'what is kept of it once its credits came').to.deep.equal([[], []]);
    expect(await addCredits(world.restarted(), operator, org, bought)).to.equal(5);
    expect(await balanceOf(world)).to.equal(5);
  });

  it('can’t happen on a store that commits several streams at once', async () => {
    const world = await makeWorld({ atomic: true });
    await addCredits(world, operator, org, bought);
    const log = await world.store.readLog(0n, 100);
    const own = log.filter(({ metadata }) => metadata.requestId === null).slice(-2);
    expect(own.map(({ type }) => type)).to.deep.equal(['CreditsPurchased', 'PurchaseOrdered']);
    expect(new Set(own.map(({ metadata }) => metadata.causationId)).size).to.equal(1);
  });
});

describe('half-done work', () => {
  const bound = reconcileAfter + 15_000;

  /** An organization whose process died right after it had spent credits for these cards. */
  const cutOff = async (
    count: number,
    onWrite: (write: StreamWrite, clock: World['clock']) => Promise<void>,
  ) => {
    let isSlow = false;
    const world: World = await makeWorld({
      atomic: false,
      credits: 1_000,
      onWrite: async ([write]) => {
        if (isSlow && write !== undefined) await onWrite(write, world.clock);
        return 'store';
      },
    });
    const codes = Array.from({ length: count }, (_, index) => cardCode([7, 7, 7, 7, index >> 5, index & 31]));
    for (const code of codes) {
      const command = world.command();
      const slot = { card: code, revision: 0, command: command.id };
      await world.ledgers.move({ org, command, movements: [spendFor(slot, org)] });
    }
    expect(await balanceOf(world)).to.equal(1_000 - count);
    isSlow = true;
    return { world: world.restarted(), codes };
  };

  /** Checkpoints tell the age of open work as it was up to so long ago. */
  const toldLate = 6_000;

  /** Runs a reconciler for so long. Returns the greatest age that is told of open work, and what it left. */
  const oldestDuring = async (world: World, time: number) => {
    const stop = new AbortController();
    const deps = depsOf(world);
    const running = runReconciler(deps, stop.signal, () => undefined);
    let oldest = 0;
    const look = async (): Promise<number> => {
      const [begun] = (await deps.checkpoints.all()).flatMap(({ openSince }) => openSince ?? []);
      return begun === undefined ? 0 : world.clock.now() - begun;
    };
    for (let passed = 0; passed < time; passed += 500) {
      await world.clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
      oldest = Math.max(oldest, await look());
    }
    const left = await look();
    stop.abort();
    await Promise.race([running, world.clock.advance(60_000)]);
    return { oldest, left };
  };

  it('is closed within 15 s of its time however much there is, with a store that takes half a second a write', async () => {
    const { world } = await cutOff(150, (_, clock) => clock.sleep(500));
    const { oldest, left } = await oldestDuring(world, 120_000);
    expect(left).to.equal(0);
    expect(oldest).to.be.within(reconcileAfter, bound + toldLate);
    expect(await balanceOf(world)).to.equal(1_000);
  });

  it('is not closed at the moment at which the clock jumps, because a request may be at work on it', async () => {
    const { world } = await cutOff(1, () => Promise.resolve());
    const stop = new AbortController();
    const running = runReconciler(depsOf(world), stop.signal, () => undefined);
    const pass = async (time: number): Promise<void> => {
      for (let passed = 0; passed < time; passed += 500) {
        await world.clock.advance(500);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await pass(2_000);
    world.clock.set(world.clock.now() + reconcileAfter);
    await pass(5_000);
    expect(await balanceOf(world)).to.equal(1_000 - 1);
    await pass(3_000);
    expect(await balanceOf(world)).to.equal(1_000);
    stop.abort();
    await Promise.race([running, world.clock.advance(60_000)]);
  });

  it('does not wait for a piece of it that can’t be closed', async () => {
    const never = new Promise<never>(() => undefined);
    const { world, codes } = await cutOff(3, (write) =>
      write.stream === cardStream(codes[0] ?? cardCode([0, 0, 0, 0, 0, 0])) ? never : Promise.resolve(),
    );
    await oldestDuring(world, 80_000);
    expect(await balanceOf(world)).to.equal(1_000 - 1);
  });

  it('is left by no send whose code the reconciler took while a retry was paying for it again', async () => {
    let taken = false;
    const world: World = await makeWorld({
      atomic: false,
      credits: 10,
      // Once, right before a card is written: the reconciler takes its slot.
      onWrite: async ([write]) => {
        if (write?.stream.startsWith('card-') !== true || taken) return 'store';
        taken = true;
        const at = await world.streams.load(card, idOf(write.stream));
        const command = world.command();
        await appendTo(world, card, at, command, [{ type: 'CardAbandoned', data: { command: command.id } }]);
        return 'store';
      },
    });
    const request = sendRequest(world, {}, 'a-key');
    const { code } = await sendCard(world, request);
    expect(taken).to.equal(true);
    expect((await openWorkIn(world)).spends).to.deep.equal([]);
    expect(await balanceOf(world)).to.equal(9);
    expect((await world.streams.load(card, code)).revision).to.equal(0);
  });
});
