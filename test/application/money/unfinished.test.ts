import { expect } from 'chai';
import { OutcomeUnknown } from '../../../application/writing/execute.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { ledgerStream } from '../../../domain/credits.js';
import type { Fate } from '../../support/memory/event-store.js';
import { drive } from '../../support/simulation/drive.js';
import { moneyOver } from '../../support/fixtures/money.js';
import { balanceOf, makeWorld, org, sendRequest } from '../../support/fixtures/world.js';
import { changeCard } from '../../../application/cards/change-card.js';
import { cancel } from '../../../domain/card.js';

/** What the design of this service promises: credits are right so soon after the store answers again. */
const soon = 10_000;

/**
 * A process whose store goes away with the first event of a type: `fate` says what becomes of that event, and
 * everything after it finds the store away.
 */
const failing = async (type: string, fate: Fate, credits = 3) => {
  let isArmed = false;
  const world = await makeWorld({
    atomic: false,
    credits,
    onWrite: async ([write]) => {
      if (!isArmed || write?.events.every((event) => event.type !== type) === true) return 'store';
      isArmed = false;
      // The store goes away once this event is stored or lost.
      queueMicrotask(() => (world.store.away = true));
      return fate;
    },
  });
  const reported: unknown[] = [];
  const money = moneyOver(world, { atomic: false, report: (error) => reported.push(error) });
  const { unfinished } = money;
  const stop = new AbortController();
  const running = unfinished.run(stop.signal);
  return {
    world: { ...world, ...money },
    unfinished,
    reported,
    arm: () => void (isArmed = true),
    end: async () => {
      stop.abort();
      await running;
    },
  };
};

const isUnknown = async (request: Promise<unknown>): Promise<void> => {
  const error: unknown = await request.then(
    () => expect.fail('the request has an outcome'),
    (rejection: unknown) => rejection,
  );
  expect(error).to.be.instanceOf(OutcomeUnknown);
};

const types = async (store: Awaited<ReturnType<typeof makeWorld>>['store']): Promise<string[]> =>
  (await store.readLog(0n, 1_000)).map(({ type }) => type);

describe('what a process began and left with an unknown outcome', () => {
  for (const [title, type, fate, expected] of [
    ['a credit whose card was never written comes back', 'CardScheduled', 'lose', 'CardAbandoned'],
    ['a credit whose card was written stays spent', 'CardScheduled', 'store-lose-answer', 'CardScheduled'],
    [
      'a credit that was spent without an answer comes back',
      'CreditSpent',
      'store-lose-answer',
      'CardAbandoned',
    ],
    ['a credit that was never spent does not come back', 'CreditSpent', 'lose', null],
  ] as const)
    it(`is finished within 10 s of the store's return: ${title}`, async () => {
      const { world, unfinished, reported, arm, end } = await failing(type, fate);
      arm();
      await isUnknown(drive(world.clock, sendCard(world, sendRequest(world))));
      expect(unfinished.size).to.equal(1);
      // However long it was away.
      await world.clock.advance(300_000);
      world.store.away = false;
      await world.clock.advance(soon);
      const after = await types(world.store);
      expect(await balanceOf(world)).to.equal(expected === 'CardScheduled' ? 2 : 3);
      expect(after.filter((found) => found.startsWith('Card'))).to.deep.equal(
        expected === null ? [] : [expected],
      );
      expect(after.filter((found) => found === 'CreditReturned').length).to.equal(
        expected === 'CardAbandoned' ? 1 : 0,
      );
      await world.clock.advance(20_000);
      expect([unfinished.size, reported, await types(world.store)]).to.deep.equal([0, [], after]);
      await end();
    });

  it('finds a spend that arrives after the store has answered', async () => {
    let arrive = (): void => undefined;
    const late = new Promise<void>((resolve) => (arrive = resolve));
    const { world, arm, end } = await failing('CreditSpent', { late });
    arm();
    await isUnknown(drive(world.clock, sendCard(world, sendRequest(world))));
    world.store.away = false;
    await world.clock.advance(5_000);
    expect(await balanceOf(world)).to.equal(3);
    arrive();
    await world.clock.advance(soon);
    expect(await balanceOf(world)).to.equal(3);
    expect((await types(world.store)).filter((type) => type.startsWith('Credit'))).to.deep.equal([
      'CreditsPurchased',
      'CreditSpent',
      'CreditReturned',
    ]);
    await end();
  });

  for (const [title, type, fate, returned] of [
    ['whose return was lost', 'CreditReturned', 'lose', 1],
    ['whose return was stored without an answer', 'CreditReturned', 'store-lose-answer', 1],
    ['that was stored without an answer', 'CardCancelled', 'store-lose-answer', 1],
    ['that was never stored', 'CardCancelled', 'lose', 0],
  ] as const)
    it(`brings the credit of a cancel ${title}: ${returned} in all`, async () => {
      const { world, arm, end } = await failing(type, fate);
      const { code } = await drive(world.clock, sendCard(world, sendRequest(world))).then((sent) =>
        sent === 'dead' ? expect.fail('the send never ended') : sent,
      );
      arm();
      await isUnknown(drive(world.clock, changeCard(world, { code, org }, world.command(), cancel)));
      world.store.away = false;
      await world.clock.advance(soon);
      expect(await balanceOf(world)).to.equal(2 + returned);
      const movements = await world.store.readStream(ledgerStream(org), 0);
      expect(movements.filter((event) => event.type === 'CreditReturned').length).to.equal(returned);
      await end();
    });
});
