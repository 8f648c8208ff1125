import { expect } from 'chai';
import {
  cancel,
  erase,
  card,
  cardEvents,
  requireCard,
  fail,
  floorStatus,
  hold,
  owedBy,
  queue,
  release,
  reportStep,
  schedule,
  steps,
  acceptHeld,
  type Card,
  type CardEvent,
  type StepName,
} from '../../domain/card.js';
import { DomainError } from '../../domain/errors.js';
import { CommandId, OrganizationId } from '../../domain/ids.js';
import { given } from '../support/fixtures/scenario.js';
import { anOrder, letter, org } from '../support/fixtures/world.js';

const order = anOrder({ reference: 'order 1' });
const scheduled = schedule(order, letter);
const heldAtFirst = acceptHeld(order, letter, 'the message has 🎉');
const heldLater: CardEvent = {
  type: 'CardHeld',
  data: { reason: 'a smudge', owes: 1, order: null, personal: null },
};
const released: CardEvent = { type: 'CardReleased', data: {} };
const queued: CardEvent = { type: 'CardQueued', data: {} };
const started = (step: StepName): CardEvent => ({ type: 'StepStarted', data: { step, machine: 'pen-1' } });
const completed = (step: StepName): CardEvent => ({
  type: 'StepCompleted',
  data: { step, machine: 'pen-1' },
});
const failedStep = (step: StepName): CardEvent => ({ type: 'StepFailed', data: { step, machine: 'pen-1' } });
const cancelled: CardEvent = { type: 'CardCancelled', data: { owes: 1 } };
const failed: CardEvent = { type: 'CardFailed', data: { reason: 'no stock', owes: 1 } };
const erased: CardEvent = { type: 'CardErased', data: { reason: 'a request' } };
const abandoned: CardEvent = { type: 'CardAbandoned', data: { command: CommandId.parse('a-command') } };
const releaseAbandoned: CardEvent = {
  type: 'ReleaseAbandoned',
  data: { command: CommandId.parse('a-command') },
};

/** The events that bring a queued card through its first `count` steps. */
const through = (count: number): CardEvent[] =>
  steps.slice(0, count).flatMap((step) => [started(step), completed(step)]);

/** A card in each status. */
const pasts: Readonly<Record<Card['status'], readonly CardEvent[]>> = {
  none: [],
  abandoned: [abandoned],
  pending: [scheduled],
  blocked: [heldAtFirst],
  queued: [scheduled, queued],
  in_production: [scheduled, queued, started('card_stock_prepared')],
  written: [scheduled, queued, ...through(3)],
  packed: [scheduled, queued, ...through(5)],
  posted: [scheduled, queued, ...through(6)],
  cancelled: [scheduled, cancelled],
  failed: [scheduled, queued, started('card_stock_prepared'), failed],
};
const statuses = Object.keys(pasts) as Card['status'][];

const startFirst = reportStep('card_stock_prepared', 'in_progress', 'pen-1');

/** What each decision does to a card in each status: the events, or the refusal. (decisions 30–32) */
type Verdict = readonly CardEvent[] | 'card_not_found' | 'too_late_to_cancel' | 'invalid_transition';
const verdicts: Readonly<
  Record<
    string,
    {
      readonly decide: (state: Card) => readonly CardEvent[];
      readonly on: Partial<Record<Card['status'], Verdict>>;
      readonly otherwise: Verdict;
    }
  >
> = {
  cancel: {
    decide: cancel,
    on: {
      pending: [cancelled],
      queued: [cancelled],
      blocked: [{ type: 'CardCancelled', data: { owes: 0 } }],
      cancelled: [],
    },
    otherwise: 'too_late_to_cancel',
  },
  hold: {
    decide: hold('a smudge'),
    on: { pending: [heldLater], queued: [heldLater] },
    otherwise: 'invalid_transition',
  },
  release: { decide: release, on: { blocked: [released] }, otherwise: 'invalid_transition' },
  queue: { decide: queue, on: { pending: [queued] }, otherwise: 'invalid_transition' },
  fail: {
    decide: fail('no stock'),
    on: { in_production: [failed], written: [failed], packed: [failed] },
    otherwise: 'invalid_transition',
  },
  erase: {
    decide: erase('a request'),
    on: { posted: [erased], cancelled: [erased], failed: [erased] },
    otherwise: 'invalid_transition',
  },
  'start the first step': {
    decide: startFirst,
    on: { queued: [started('card_stock_prepared')] },
    otherwise: 'invalid_transition',
  },
};

const refusal = (attempt: () => unknown): DomainError => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof DomainError) return error;
  }
  throw new Error('it was not refused');
};

describe('a card', () => {
  for (const status of statuses) {
    it(`has the status ${status} after the events that lead to it`, () =>
      expect(given(card, ...pasts[status]).state.status).to.equal(status));
  }

  for (const [name, { decide, on, otherwise }] of Object.entries(verdicts)) {
    for (const status of statuses) {
      const verdict =
        status === 'none' || status === 'abandoned' ? 'card_not_found' : (on[status] ?? otherwise);
      it(`in status ${status}: ${name} leads to ${typeof verdict === 'string' ? verdict : verdict.map(({ type }) => type).join(', ') || 'no event'}`, () => {
        const outcome = given(card, ...pasts[status]).when(decide);
        if (typeof verdict === 'string') outcome.refuses(verdict);
        else outcome.records(...verdict);
      });
    }
  }

  it('refuses a late cancel with a message that says how far the card has come', () => {
    const where = (['in_production', 'written', 'packed', 'posted', 'failed'] as const).map(
      (status) => refusal(() => cancel(given(card, ...pasts[status]).state)).message,
    );
    expect(
      where.map((message) => /in production|written|packed|carrier|failed/.exec(message)?.[0]),
    ).to.deep.equal(['in production', 'written', 'packed', 'carrier', 'failed']);
    expect(where[3]).to.contain('handed to the carrier');
    expect(new Set(where).size).to.equal(5);
  });

  it('keeps its order, whatever happens to it', () => {
    const { state } = given(card, scheduled, queued, heldLater, released, queued, ...through(6));
    expect(state).to.deep.equal({
      ...letter,
      erased: false,
      order,
      status: 'posted',
      heldReason: null,
      steps: steps.map(() => 'completed'),
    });
  });

  it('is blocked with a reason, at first or later, and loses the reason when it is released', () => {
    expect(given(card, heldAtFirst).state).to.deep.equal({
      ...letter,
      erased: false,
      order,
      status: 'blocked',
      heldReason: 'the message has 🎉',
      steps: steps.map(() => 'pending'),
    });
    expect(given(card, scheduled, queued, heldLater).state).to.deep.include({
      status: 'blocked',
      heldReason: 'a smudge',
    });
    expect(given(card, heldAtFirst, released).state).to.deep.equal({
      ...letter,
      erased: false,
      order,
      status: 'pending',
      heldReason: null,
      steps: steps.map(() => 'pending'),
    });
  });

  it('has nothing personal once it is erased, and is erased once', () => {
    const { state } = given(card, scheduled, cancelled, erased);
    expect(state).to.deep.equal({
      recipient: null,
      message: null,
      order: { ...order, reference: null },
      status: 'cancelled',
      heldReason: null,
      steps: steps.map(() => 'pending'),
      erased: true,
    });
    expect(erase('again')(state)).to.deep.equal([]);
    expect(cancel(state)).to.deep.equal([]);
  });

  it('stays held if a release of it was abandoned, and can be released again', () => {
    expect(given(card, heldAtFirst, releaseAbandoned).state).to.deep.equal(given(card, heldAtFirst).state);
    given(card, heldAtFirst, releaseAbandoned).when(release).records(released);
  });

  it('is abandoned if its first slot was taken', () => {
    expect(given(card, abandoned).state).to.deep.equal({ status: 'abandoned' });
  });

  it('accepts every recorded event in any order: facts are not refused', () => {
    for (const event of [
      heldLater,
      released,
      queued,
      started('packed'),
      cancelled,
      failed,
      releaseAbandoned,
    ]) {
      expect(given(card, event).state).to.deep.equal({ status: 'none' });
      expect(given(card, abandoned, event).state).to.deep.equal({ status: 'abandoned' });
    }
  });

  it('is not found by another organization', () => {
    const { state } = given(card, scheduled);
    expect(requireCard(state, org)).to.equal(state);
    expect(requireCard(state)).to.equal(state);
    expect(refusal(() => requireCard(state, OrganizationId.parse('another'))).code).to.equal(
      'card_not_found',
    );
    expect(refusal(() => requireCard({ status: 'none' })).message).to.equal(
      refusal(() => requireCard(state, OrganizationId.parse('another'))).message,
    );
  });

  it('owes a credit if it was paid for and will not be made', () => {
    const owing = [scheduled, heldAtFirst, heldLater, released, queued, cancelled, failed, abandoned].map(
      (event) => owedBy(event),
    );
    expect(owing).to.deep.equal([0, 0, 1, 0, 0, 1, 1, 0]);
  });

  it('has a schema for every event, which refuses unknown values', () => {
    expect(Object.keys(cardEvents)).to.have.length(12);
    expect(cardEvents.CardCancelled.safeParse({ owes: 2 }).success).to.equal(false);
    expect(cardEvents.StepStarted.safeParse({ step: 'sealed', machine: null }).success).to.equal(false);
  });
});

describe('the steps of a card', () => {
  it('are listed in the order of production', () => {
    expect(steps).to.deep.equal([
      'card_stock_prepared',
      'card_written',
      'envelope_addressed',
      'packed',
      'stamped',
      'posted',
    ]);
  });

  it('move the card from status to status as they are completed', () => {
    const reached = steps.map(
      (_, index) => given(card, scheduled, queued, ...through(index + 1)).state.status,
    );
    expect(reached).to.deep.equal([
      'in_production',
      'in_production',
      'written',
      'written',
      'packed',
      'posted',
    ]);
    expect(floorStatus(['completed', 'completed', 'completed', 'completed', 'failed', 'pending'])).to.equal(
      'written',
    );
  });

  it('can start only when the steps before them are completed', () => {
    steps.forEach((step, index) => {
      given(card, scheduled, queued, ...through(index))
        .when(reportStep(step, 'in_progress', 'pen-1'))
        .records(started(step));
      if (index > 0)
        given(card, scheduled, queued, ...through(index - 1))
          .when(reportStep(step, 'in_progress', 'pen-1'))
          .refuses('invalid_transition');
    });
  });

  it('can complete or fail only while they are in progress', () => {
    const first = 'card_stock_prepared';
    for (const status of ['completed', 'failed'] as const) {
      const report = reportStep(first, status, 'pen-1');
      given(card, scheduled, queued, started(first))
        .when(report)
        .records(status === 'completed' ? completed(first) : failedStep(first));
      given(card, scheduled, queued).when(report).refuses('invalid_transition');
      given(card, scheduled, queued, started(first), completed(first))
        .when(report)
        .refuses('invalid_transition');
      given(card, scheduled, queued, started(first), failedStep(first))
        .when(report)
        .refuses('invalid_transition');
    }
  });

  it('can be started again after a failure, but not twice', () => {
    const first = 'card_stock_prepared';
    const again = reportStep(first, 'in_progress', 'pen-1');
    given(card, scheduled, queued, started(first), failedStep(first)).when(again).records(started(first));
    given(card, scheduled, queued, started(first)).when(again).refuses('invalid_transition');
    given(card, scheduled, queued, started(first), completed(first))
      .when(again)
      .refuses('invalid_transition');
    const { state } = given(card, scheduled, queued, started(first), failedStep(first), started(first));
    expect('steps' in state && state.steps).to.deep.equal([
      'in_progress',
      'pending',
      'pending',
      'pending',
      'pending',
      'pending',
    ]);
    expect('steps' in given(card, scheduled, queued, started(first), failedStep(first)).state).to.equal(true);
  });

  it('can’t start after a failed step', () => {
    given(card, scheduled, queued, started('card_stock_prepared'), failedStep('card_stock_prepared'))
      .when(reportStep('card_written', 'in_progress', null))
      .refuses('invalid_transition');
  });

  it('can’t be reported for a card that is not on the floor', () => {
    for (const status of ['pending', 'blocked', 'posted', 'cancelled', 'failed'] as const) {
      for (const report of ['in_progress', 'completed', 'failed'] as const) {
        given(card, ...pasts[status])
          .when(reportStep('card_stock_prepared', report, null))
          .refuses('invalid_transition');
      }
    }
  });
});
