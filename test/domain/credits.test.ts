import { expect } from 'chai';
import { assert, array, constantFrom, integer, property, record } from 'fast-check';
import {
  giveBack,
  maxBalance,
  ledger,
  ledgerStream,
  movementId,
  purchase,
  spend,
  type LedgerEvent,
  type Return,
  changeBy,
  withdraw,
} from '../../domain/credits.js';
import { CommandId, OrganizationId } from '../../domain/ids.js';
import { given } from '../support/fixtures/scenario.js';

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const command = CommandId.parse('6c0f6a3e-0000-4000-8000-000000000002');
const slot = (card: string, revision = 0) => ({ card, revision, command });
const owed = (card: string, revision: number): Return => ({ owed: { card, revision } });

const purchased = (amount: number, balance: number): LedgerEvent => ({
  type: 'CreditsPurchased',
  data: { cause: command, amount, reason: 'topping up', balance },
});
const spent = (card: string, balance: number): LedgerEvent => ({
  type: 'CreditSpent',
  data: { cause: slot(card), amount: 1, balance },
});
const returned = (card: string, balance: number): LedgerEvent => ({
  type: 'CreditReturned',
  data: { cause: owed(card, 1), amount: 1, balance },
});

describe('a ledger', () => {
  it('is in its last event whatever came before, so that nothing else has to be read', () => {
    const balance = integer({ min: 0, max: maxBalance });
    const event = balance.chain((left) =>
      constantFrom(purchased(1, left), spent('HC-7K3M9QX', left), returned('HC-7K3M9QX', left)),
    );
    assert(
      property(array(event, { minLength: 1 }), event, (before, last) => {
        const folded = [...before, last].reduce(ledger.evolve, ledger.initial);
        expect(folded).to.deep.equal(ledger.evolve(ledger.initial, last));
      }),
    );
    expect(ledger.lastEventIsState).to.equal(true);
  });

  it('adds purchased credits to the balance', () =>
    given(ledger, purchased(3, 3))
      .when(purchase(command, 2, 'topping up'))
      .records(purchased(2, 5)));

  it('takes back what is withdrawn, but never more than there is', () => {
    const withdrawn: LedgerEvent = {
      type: 'CreditsWithdrawn',
      data: { cause: command, amount: 3, reason: 'refund', balance: 0 },
    };
    given(ledger, purchased(3, 3))
      .when(withdraw(command, 3, 'refund'))
      .records(withdrawn);
    given(ledger, purchased(3, 3))
      .when(withdraw(command, 4, 'refund'))
      .refuses('no_credits');
    expect(() => withdraw(command, 4, 'refund')({ balance: 3 })).to.throw(
      /Nothing was: send an `amount` up to/,
    );
    given(ledger)
      .when(withdraw(command, 1, 'refund'))
      .refuses('no_credits');
    expect(given(ledger, purchased(3, 3), withdrawn).state).to.deep.equal({ balance: 0 });
    expect(
      [purchased(2, 5), withdrawn, spent('HC-7K3M9QX', 4), returned('HC-7K3M9QX', 5)].map(changeBy),
    ).to.deep.equal([2, -3, -1, 1]);
  });

  it('refuses a purchase that would exceed the largest exact integer in JSON', () => {
    given(ledger, purchased(maxBalance, maxBalance))
      .when(purchase(command, 1, null))
      .refuses('invalid_parameter');
    given(ledger, purchased(1, maxBalance - 1))
      .when(purchase(command, 1, 'topping up'))
      .records(purchased(1, maxBalance));
  });

  it('spends one credit for a slot', () =>
    given(ledger, purchased(1, 1))
      .when(spend(slot('HC-7K3M9QX')))
      .records(spent('HC-7K3M9QX', 0)));

  it('refuses to spend without a credit', () => {
    given(ledger)
      .when(spend(slot('HC-7K3M9QX')))
      .refuses('no_credits');
    given(ledger, purchased(1, 1), spent('HC-7K3M9QX', 0))
      .when(spend(slot('HC-2B8W4RT')))
      .refuses('no_credits');
  });

  it('returns the credits that a card owes, and the credit of a void spend', () => {
    given(ledger, purchased(1, 1), spent('HC-7K3M9QX', 0))
      .when(giveBack(owed('HC-7K3M9QX', 1), 1))
      .records(returned('HC-7K3M9QX', 1));
    const cause: Return = { void: slot('HC-7K3M9QX') };
    given(ledger, purchased(1, 1), spent('HC-7K3M9QX', 0))
      .when(giveBack(cause, 1))
      .records({ type: 'CreditReturned', data: { cause, amount: 1, balance: 1 } });
  });

  it('takes its balance from its last event alone', () => {
    expect(given(ledger, purchased(5, 5), spent('HC-7K3M9QX', 4)).state).to.deep.equal({ balance: 4 });
    expect(given(ledger, returned('HC-7K3M9QX', 9)).state).to.deep.equal({ balance: 9 });
  });

  it('never goes below zero, and adds up, whatever it is asked to do', () => {
    const wish = record({
      kind: constantFrom('buy', 'spend', 'return'),
      amount: integer({ min: 1, max: 5 }),
    });
    assert(
      property(array(wish), (wishes) => {
        const events: LedgerEvent[] = [];
        let balance = 0;
        for (const { kind, amount } of wishes) {
          const state = { balance };
          if (kind === 'spend' && balance === 0) continue;
          const event =
            kind === 'buy'
              ? purchase(command, amount, null)(state)
              : kind === 'spend'
                ? spend(slot('HC-7K3M9QX'))(state)
                : giveBack(owed('HC-7K3M9QX', 1), 1)(state);
          events.push(event);
          balance = event.data.balance;
          expect(balance).to.be.at.least(0);
        }
        const sum = events.reduce(
          (total, { type, data }) => total + (type === 'CreditSpent' ? -data.amount : data.amount),
          0,
        );
        expect(events.reduce(ledger.evolve, ledger.initial)).to.deep.equal({ balance: sum });
      }),
      { numRuns: 200 },
    );
  });
});

describe('the id of a credit movement', () => {
  it('depends on its cause alone, whoever makes the movement', () => {
    expect(movementId(org, 'CreditReturned', owed('HC-7K3M9QX', 1))).to.equal(
      movementId(org, 'CreditReturned', { ...owed('HC-7K3M9QX', 1) }),
    );
    expect(movementId(org, 'CreditSpent', slot('HC-7K3M9QX'))).to.match(
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it('differs for every other cause, kind and organization', () => {
    const another = CommandId.parse('6c0f6a3e-0000-4000-8000-000000000003');
    const ids = [
      movementId(org, 'CreditSpent', slot('HC-7K3M9QX')),
      movementId(org, 'CreditSpent', slot('HC-7K3M9QX', 1)),
      movementId(org, 'CreditSpent', { ...slot('HC-7K3M9QX'), command: another }),
      movementId(org, 'CreditSpent', slot('HC-2B8W4RT')),
      movementId(org, 'CreditReturned', { void: slot('HC-7K3M9QX') }),
      movementId(org, 'CreditReturned', owed('HC-7K3M9QX', 0)),
      movementId(org, 'CreditReturned', owed('HC-7K3M9QX', 1)),
      movementId(org, 'CreditsPurchased', command),
      movementId(OrganizationId.parse('another'), 'CreditSpent', slot('HC-7K3M9QX')),
    ];
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('belongs to the ledger of the organization', () =>
    expect(ledgerStream(org)).to.equal('credits-6c0f6a3e-0000-4000-8000-000000000001'));
});
