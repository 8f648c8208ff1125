import { expect } from 'chai';
import fc from 'fast-check';
import {
  cancel,
  card,
  fail,
  hold,
  queue,
  release,
  reportedStatuses,
  reportStep,
  schedule,
  steps,
  acceptHeld,
  type Card,
  type CardEvent,
  type Order,
} from '../../domain/card.js';
import { DomainError } from '../../domain/errors.js';
import { derivedUuid, Instant, LocalDate, OrganizationId, Uuid } from '../../domain/ids.js';
import {
  deliveryIdOf,
  publicEventId,
  publicEventOf,
  typesOfPublicEvents,
  type PublicEventType,
} from '../../domain/public-events.js';
import { letter } from '../support/fixtures/world.js';

const order: Order = {
  org: OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001'),
  request: 'a-request',
  source: { kind: 'api', id: 'a-key' },
  design: { id: Uuid.parse('6c0f6a3e-0000-4000-8000-00000000000d'), slug: null, copied: false, front: null },
  handwriting: 'Everyday',
  window: { earliest: LocalDate.parse('2026-03-06'), latest: LocalDate.parse('2026-03-10') },
  due: LocalDate.parse('2026-03-03'),
  reference: null,
  contact: null,
};

const decisions: readonly ((state: Card) => readonly CardEvent[])[] = [
  cancel,
  fail('torn'),
  hold('a smudge'),
  queue,
  release,
  ...steps.flatMap((step) => reportedStatuses.map((status) => reportStep(step, status, null))),
];

/** The events of those decisions that are possible when their turn comes. */
const lifeOf = (first: CardEvent, choices: readonly number[]): readonly CardEvent[] => {
  const life = [first];
  let state = card.evolve(card.initial, first);
  for (const choice of choices) {
    try {
      const events = decisions[choice % decisions.length]?.(state) ?? [];
      state = events.reduce(card.evolve, state);
      life.push(...events);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
  return life;
};

const statusOf = (events: readonly CardEvent[]) => events.reduce(card.evolve, card.initial).status;
const anyActor = { kind: 'operator', id: null } as const;
const firsts = [schedule(order, letter), acceptHeld(order, letter, 'the message has 🎉')];
/** Enough choices in production order that many lives come to their end. */
const production = [3, ...steps.flatMap((_, index) => [5 + 3 * index, 6 + 3 * index])];
const lives = fc
  .tuple(fc.constantFrom(...firsts), fc.array(fc.nat({ max: 200 }), { maxLength: 12 }), fc.nat({ max: 13 }))
  .map(([first, choices, after]) =>
    lifeOf(first, [...production.slice(0, after), ...choices, ...production.slice(after), ...choices]),
  );

describe('a public event', () => {
  it('says that a card is written or mailed exactly when its status becomes so', () => {
    const seen = new Set<PublicEventType>();
    fc.assert(
      fc.property(lives, (life) => {
        life.forEach((event, index) => {
          const type = publicEventOf(event, anyActor)?.type ?? null;
          if (type !== null) seen.add(type);
          const [before, after] = [statusOf(life.slice(0, index)), statusOf(life.slice(0, index + 1))];
          expect(type === 'card.mailed').to.equal(after === 'posted' && before !== 'posted');
          expect(type === 'card.written').to.equal(after === 'written' && before !== 'written');
          expect(type === null || typesOfPublicEvents.has(event.type)).to.equal(true);
        });
      }),
      { numRuns: 300 },
    );
    expect([...seen].toSorted()).to.deep.equal(['card.created', 'card.held', 'card.mailed', 'card.written']);
  });

  it('has an id of its own that sorts by its time, and so has each of its deliveries', () => {
    const timeOf = (at: number): Instant => Instant.parse(new Date(at * 1e10).toISOString());
    const events = Array.from({ length: 200 }, (_, at) => ({
      id: derivedUuid('event', at),
      metadata: { occurredAt: timeOf(at) },
    }));
    const ids = events.map(publicEventId);
    expect(ids).to.deep.equal([...new Set(ids)].toSorted());
    for (const id of ids) expect(id).to.match(/^evt_[0-9a-f]{32}$/);
    expect(publicEventId({ id: derivedUuid('another'), metadata: { occurredAt: timeOf(0) } })).not.to.equal(
      ids[0],
    );
    const deliveries = ids.map((id) => deliveryIdOf(id, derivedUuid('endpoint')));
    expect(deliveries).to.deep.equal([...new Set(deliveries)].toSorted());
    expect(deliveryIdOf(ids[0] ?? '', derivedUuid('another'))).not.to.equal(deliveries[0]);
  });

  it('says that a card is cancelled only if an API key cancelled it', () => {
    const [cancelled] = cancel(card.evolve(card.initial, schedule(order, letter)));
    if (cancelled === undefined) throw new Error('nothing was cancelled');
    expect(publicEventOf(cancelled, { kind: 'key', id: 'a-key' })).to.deep.equal({
      type: 'card.cancelled',
      heldReason: null,
    });
    expect(publicEventOf(cancelled, anyActor)).to.equal(null);
  });
});
