import { unsealed } from '../../support/fixtures/seal-events.js';
import { expect } from 'chai';
import {
  addCredits,
  readBalanceAt,
  readStatement,
  withdrawCredits,
  type CreditDeps,
} from '../../../application/money/credits.js';
import { execute, type Initiator } from '../../../application/writing/execute.js';
import { Streams } from '../../../application/writing/streams.js';
import { DomainError } from '../../../domain/errors.js';
import { orderPurchase, purchase, purchaseIdOf } from '../../../domain/purchase.js';
import { balanceOf, makeWorld, org, type World } from '../../support/fixtures/world.js';

const operator: Initiator = { actor: { kind: 'operator', id: null }, requestId: null };

const buy = (deps: CreditDeps, reference: string | null, amount = 10): Promise<number> =>
  addCredits(deps, operator, org, { amount, reason: null, reference });

const codeOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.catch((error: unknown) => (error instanceof DomainError ? [error.code, error.param] : error));

/** The same world, with a count of the events that its store hands out. */
const counted = (world: World): { readonly deps: CreditDeps; readonly read: () => number } => {
  let read = 0;
  const store = Object.create(world.store) as World['store'];
  store.readStream = async (...of) => {
    const events = await world.store.readStream(...of);
    read += events.length;
    return events;
  };
  store.readLast = (stream) => world.store.readLast(stream);
  return {
    deps: { ...world, store, streams: new Streams(store, unsealed) },
    read: () => read,
  };
};

for (const atomic of [true, false])
  describe(`credits on a store that writes ${atomic ? 'several streams' : 'one stream'} at a time`, () => {
    it('are bought many times at once, and each purchase is told the balance that it leaves', async () => {
      const world = await makeWorld({ atomic });
      const left = await Promise.all(Array.from({ length: 50 }, () => buy(world, null, 2)));
      expect(left.toSorted((a, b) => a - b)).to.deep.equal(
        Array.from({ length: 50 }, (_, index) => 2 * (index + 1)),
      );
    });

    it('are bought once under a reference, and a repeat is told the same, however much came after', async () => {
      const world = await makeWorld({ atomic, credits: 5 });
      expect(await buy(world, 'invoice 1')).to.equal(15);
      for (let at = 0; at < 30; at++) await buy(world, null, 1);
      expect([await buy(world, 'invoice 1'), await buy(world.restarted(), 'invoice 1')]).to.deep.equal([
        15, 15,
      ]);
      expect(await balanceOf(world)).to.equal(45);
      expect(await codeOf(buy(world, 'invoice 1', 11))).to.deep.equal(['invalid_transition', null]);
      expect(await buy(world, 'invoice 2')).to.equal(55);
    });

    it('are bought once by processes that bring one reference at the same time', async () => {
      const world = await makeWorld({ atomic });
      const processes = [world, world.restarted(), world.restarted()];
      const left = await Promise.all(
        [...processes, ...processes].map((each) => buy(each, 'invoice 1').catch(() => 10)),
      );
      expect(new Set(left)).to.deep.equal(new Set([10]));
      expect(await balanceOf(world)).to.equal(10);
    });

    it('are bought by the repeat if a crash came between the order and its movement', async () => {
      const world = await makeWorld({ atomic, credits: 3 });
      const order = { org, reference: 'invoice 1', amount: 10, reason: 'first', ledgerRevision: 0 };
      await execute(world, purchase, purchaseIdOf(org, 'invoice 1'), world.command(), orderPurchase(order));
      await buy(world, null, 1);
      expect([await buy(world, 'invoice 1'), await buy(world.restarted(), 'invoice 1')]).to.deep.equal([
        14, 14,
      ]);
      const [line] = await readStatement(world, org, { startingAfter: null, limit: 1 });
      expect(line).to.deep.include({ reference: 'invoice 1', change: 10, revision: 2 });
      expect(line?.event.data).to.deep.include({ reason: 'first', balance: 14 });
    });

    it('leave the reference free if the purchase is refused', async () => {
      const world = await makeWorld({ atomic, credits: 3 });
      const tooMany = Number.MAX_SAFE_INTEGER;
      expect(await codeOf(buy(world, 'invoice 1', tooMany))).to.deep.equal(['invalid_parameter', null]);
      expect(await buy(world, 'invoice 1', 4)).to.equal(7);
    });
  });

describe('the books of an organization', () => {
  it('tell the balance at any time', async () => {
    const world = await makeWorld({ atomic: true });
    const start = world.clock.instant();
    const times: [string, number][] = [];
    for (let at = 1; at <= 20; at++) {
      await world.clock.advance(60_000);
      times.push([world.clock.instant(), await buy(world, null, at)]);
    }
    expect((await readBalanceAt(world, org, { position: null, at: start })).balance).to.equal(0);
    for (const [time, balance] of times) {
      const at = new Date(Date.parse(time));
      const ask = async (ms: number) => {
        const later = new Date(at.getTime() + ms).toISOString() as typeof start;
        return (await readBalanceAt(world, org, { position: null, at: later })).balance;
      };
      expect([await ask(0), await ask(59_999)], time).to.deep.equal([balance, balance]);
    }
  });

  it('are read by halving and by pages, never from one end to the other', async () => {
    const world = await makeWorld({ atomic: true });
    const first = await buy(world, 'invoice 1', 1);
    for (let at = 0; at < 2_000; at++) await buy(world, null, 1);
    const middle = world.clock.instant();
    await world.clock.advance(60_000);
    for (let at = 0; at < 2_000; at++) await buy(world, null, 1);
    const halving = counted(world);
    expect((await readBalanceAt(halving.deps, org, { position: null, at: middle })).balance).to.equal(2_001);
    expect(halving.read()).to.be.below(20);
    const page = counted(world);
    const lines = await readStatement(page.deps, org, { startingAfter: '3000', limit: 2 });
    expect(lines.map(({ revision }) => revision)).to.deep.equal([2_999, 2_998]);
    expect(page.read()).to.be.at.most(4);
    const repeat = counted(world);
    expect(await buy(repeat.deps, 'invoice 1', 1)).to.equal(first);
    expect(repeat.read()).to.be.at.most(600);
  });

  it('list purchases, withdrawals, spends and returns, newest first, in pages', async () => {
    const world = await makeWorld({ atomic: true });
    await buy(world, 'invoice 1', 10);
    await withdrawCredits(world, operator, org, 4, 'refund');
    await buy(world, null, 1);
    const all = await readStatement(world, org, { startingAfter: null, limit: 50 });
    expect(
      all.map(({ revision, change, reference, event }) => [revision, change, reference, event.data.balance]),
    ).to.deep.equal([
      [2, 1, null, 7],
      [1, -4, null, 6],
      [0, 10, 'invoice 1', 10],
    ]);
    const page = async (startingAfter: string | null, limit: number) =>
      (await readStatement(world, org, { startingAfter, limit })).map(({ revision }) => revision);
    expect([await page(null, 2), await page('1', 2), await page('0', 2)]).to.deep.equal([[2, 1], [0], []]);
    for (const cursor of ['3', 'x', '-1', '1.5'])
      expect(await codeOf(page(cursor, 2)), cursor).to.deep.equal(['invalid_cursor', 'starting_after']);
  });

  it('are never below 0', async () => {
    const world = await makeWorld({ atomic: true, credits: 3 });
    const withdraw = (amount: number) => codeOf(withdrawCredits(world, operator, org, amount, 'refund'));
    expect(await withdraw(4)).to.deep.equal(['no_credits', null]);
    const both = await Promise.all([withdraw(2), withdraw(2)]);
    expect(both).to.deep.equal([1, ['no_credits', null]]);
    expect([await withdraw(1), await balanceOf(world)]).to.deep.equal([0, 0]);
  });
});
