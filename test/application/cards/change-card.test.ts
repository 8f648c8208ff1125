import { expect } from 'chai';
import { changeCard } from '../../../application/cards/change-card.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { EventStoreUnavailable, storeWith } from '../../../application/ports/event-store.js';
import { Streams } from '../../../application/writing/streams.js';
import type { CardCode } from '../../../domain/card-code.js';
import { cardStream, hold, release, type Card, type CardEvent, cancel } from '../../../domain/card.js';
import { ledgerStream } from '../../../domain/credits.js';
import { DomainError } from '../../../domain/errors.js';
import {
  balanceOf,
  makeWorld,
  nothingProjected,
  org,
  sendRequest,
  type World,
} from '../../support/fixtures/world.js';
import { unsealed } from '../../support/fixtures/seal-events.js';
import { drive } from '../../support/simulation/drive.js';
import { openWorkIn } from '../../support/simulation/processes.js';

/** Two events, each of which owes a credit. */
const holdAndCancel = (state: Card): CardEvent[] => [
  ...hold('the operator wants to see it')(state),
  { type: 'CardCancelled', data: { owes: 1 } },
];

for (const atomic of [true, false]) {
  const store = `a store that ${atomic ? 'commits several streams at once' : 'writes one stream at a time'}`;

  describe(`releasing a held card, on ${store}`, () => {
    it('charges one credit however many release it at once, and none to releases that are refused', async () => {
      const world = await makeWorld({ atomic, credits: 20 });
      const { code } = await sendCard(world, sendRequest(world, { message: { value: 'Great work 🎉' } }));
      const released = Promise.all(
        Array.from({ length: 10 }, () =>
          changeCard(world, { code, org }, world.command(), release).then(
            ({ card }) => card.status,
            (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
          ),
        ),
      );
      const outcomes = await drive(world.clock, released);
      expect(outcomes === 'dead' ? outcomes : outcomes.toSorted()).to.deep.equal([
        ...Array.from({ length: 9 }, () => 'invalid_transition'),
        'pending',
      ]);
      expect(await balanceOf(world)).to.equal(19);
    });
  });

  describe(`a decision of two events for a card, on ${store}`, () => {
    it('records both events, and returns the credits that each of them owes', async () => {
      const world = await makeWorld({ atomic, credits: 5 });
      const { code } = await sendCard(world, sendRequest(world));
      const command = world.command();
      const changed = await changeCard(world, { code, org }, command, holdAndCancel);
      expect([changed.card.status, changed.creditsReturned]).to.deep.equal(['cancelled', 2]);
      const recorded = await world.store.readStream(cardStream(code), 1);
      expect(recorded.map(({ type, metadata }) => [type, metadata.causationId])).to.deep.equal([
        ['CardHeld', command.id],
        ['CardCancelled', command.id],
      ]);
      const movements = await world.store.readStream(ledgerStream(org), 2);
      expect(movements.map(({ type, data }) => ({ type, ...data }))).to.deep.equal([
        { type: 'CreditReturned', cause: { owed: { card: code, revision: 1 } }, amount: 1, balance: 5 },
        { type: 'CreditReturned', cause: { owed: { card: code, revision: 2 } }, amount: 1, balance: 6 },
      ]);
      expect((await openWorkIn(world)).debts).to.deep.equal([]);
    });
  });
}

describe('a card of an organization that is cancelled, on a store that writes one stream at a time,', () => {
  it('is decided on after one look at the ledger and one at the card', async () => {
    const world = await makeWorld({ atomic: false, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    world.store.reads.clear();
    const { creditsReturned } = await changeCard(world, { code, org }, world.command(), cancel);
    expect(creditsReturned).to.equal(1);
    expect([...world.store.reads].map(([stream, { times }]) => [stream, times])).to.deep.equal([
      [ledgerStream(org), 1],
      [cardStream(code), 1],
    ]);
  });
});

describe('an answer from a state that another request wrote', () => {
  for (const [does, answer] of [
    [
      'changes nothing',
      (world: World, code: CardCode) => changeCard(world, { code, org }, world.command(), cancel),
    ],
    [
      'is a refusal',
      async (world: World, code: CardCode) =>
        changeCard(world, { code, org }, world.command(), hold('it is late')).catch((error: unknown) => {
          expect(error).to.have.property('code', 'invalid_transition');
        }),
    ],
  ] as const)
    it(`waits until reads show that state, when it ${does}`, async () => {
      const world = await makeWorld({ atomic: false, credits: 5 });
      const { code } = await sendCard(world, sendRequest(world));
      await changeCard(world, { code, org }, world.command(), cancel);
      const [last] = (await world.store.readStream(cardStream(code), 0)).slice(-1);
      const waited: bigint[] = [];
      const afterWrite = (position: bigint) => {
        waited.push(position);
        return Promise.resolve();
      };
      await answer({ ...world, readYourWrites: { ...nothingProjected, afterWrite } }, code);
      expect(waited).to.have.length(1);
      expect(waited[0] !== undefined && waited[0] >= (last?.position ?? 0n)).to.equal(true);
    });

  it('is the refusal, even if the head of the log can’t be read; what changes nothing is not answered then', async () => {
    const world = await makeWorld({ atomic: false, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    await changeCard(world, { code, org }, world.command(), cancel);
    const away = storeWith(world.store, {
      readStream: async (...read) =>
        (await world.store.readStream(...read)).map((event) => ({ ...event, position: null })),
      head: () => Promise.reject(new EventStoreUnavailable('the head is away')),
    });
    const without = { ...world, store: away, streams: new Streams(away, unsealed) };
    const late = changeCard(without, { code, org }, world.command(), hold('it is late'));
    const again = changeCard(without, { code, org }, world.command(), cancel);
    const errors = await Promise.all(
      [late, again].map((answer) => answer.catch((error: unknown) => (error as Error).name)),
    );
    expect(errors).to.deep.equal(['DomainError', 'EventStoreUnavailable']);
  });
});
