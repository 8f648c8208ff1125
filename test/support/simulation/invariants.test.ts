import { expect } from 'chai';
import { seal } from '../../../application/log/hash-chain.js';
import { inTheClear, sign } from '../fixtures/seal-events.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { logViolations, violations, type Answer, type Call } from './invariants.js';
import { drive } from './drive.js';
import { Life } from './life.js';
import { changeAs, sendAs, startProcess } from './processes.js';
import { makeWorld, org } from '../fixtures/world.js';

/** A short life of three cards: one cancelled, one on the floor, one held. */
const life = async () => {
  const world = await makeWorld({ atomic: false, credits: 5 });
  const process = startProcess(world, new Life(() => 'arrive'));
  const history: Call[] = [];
  const done = async (call: Promise<Call>): Promise<Call> => {
    const ended = await drive(world.clock, call);
    if (ended === 'dead') throw new Error('nothing moves any more');
    history.push(ended);
    return ended;
  };
  const code = (call: Call) => call.answer?.card as Parameters<typeof changeAs>[2];
  const cancelled = code(await done(sendAs(process, { key: 'a' })));
  await done(sendAs(process, { key: 'a' }));
  await done(changeAs(process, 'cancel', cancelled));
  await done(changeAs(process, 'cancel', cancelled));
  const made = code(await done(sendAs(process, { key: null })));
  for (const wish of ['queue', 'start', 'complete', 'cancel'] as const)
    await done(changeAs(process, wish, made));
  await done(sendAs(process, { key: 'b', message: 'Great work 🎉' }));
  return { log: await world.store.readLog(0n, 1_000), history };
};

/**
 * The log with one event changed and every hash recomputed: a faulty service, not a file that was tampered
 * with.
 */
const forged = (
  log: readonly LoggedEvent[],
  change: (events: LoggedEvent[]) => LoggedEvent[],
): readonly LoggedEvent[] => {
  const heads = new Map<string, { readonly revision: number; readonly hash: string }>();
  return change([...log]).map((event, index) => {
    const head = heads.get(event.stream) ?? { revision: -1, hash: null };
    const { hash: _, personal: __, chain: ___, mac: ____, ...metadata } = event.metadata;
    const sealed = seal(
      { stream: event.stream, revision: head.revision + 1, previous: head.hash },
      { ...event, metadata },
      inTheClear,
      sign,
    );
    heads.set(event.stream, { revision: head.revision + 1, hash: sealed.metadata.hash });
    return { ...event, ...sealed, revision: head.revision + 1, position: BigInt(index + 1) };
  });
};

const withData = (type: string, nth: number, change: (data: never) => object) => (events: LoggedEvent[]) => {
  const index = events.flatMap((event, place) => (event.type === type ? [place] : []))[nth];
  return events.map((event, place) =>
    place === index ? { ...event, data: { ...event.data, ...change(event.data as never) } } : event,
  );
};

const without = (type: string, nth: number) => (events: LoggedEvent[]) => {
  const index = events.flatMap((event, place) => (event.type === type ? [place] : []))[nth];
  return events.filter((_, place) => place !== index);
};

const twice =
  (type: string, changes: Partial<LoggedEvent> = {}) =>
  (events: LoggedEvent[]) =>
    events.flatMap((event) => (event.type === type ? [event, { ...event, ...changes }] : [event]));

const rules = (found: readonly string[]): readonly string[] =>
  [...new Set(found.map((line) => line.slice(0, line.indexOf(':'))))].sort();
const settled = { settled: true };

describe('the checker of invariants', () => {
  it('finds nothing wrong in a log without faults', async () => {
    const { log, history } = await life();
    expect(violations(log, history, settled)).to.deep.equal([]);
  });

  it('finds nothing wrong in a log that was rebuilt without a change', async () => {
    const { log } = await life();
    expect(
      logViolations(
        forged(log, (events) => events),
        settled,
      ),
    ).to.deep.equal([]);
  });

  const forgeries: Readonly<Record<string, readonly [string, (events: LoggedEvent[]) => LoggedEvent[]]>> = {
    'a balance that does not add up': ['1', withData('CreditSpent', 0, () => ({ balance: 7 }))],
    'a balance below zero': ['1', withData('CreditsPurchased', 0, () => ({ amount: 1, balance: 1 }))],
    'a credit returned without a reason': [
      '2',
      withData('CreditReturned', 0, () => ({ cause: { owed: { card: 'HC-0000000', revision: 3 } } })),
    ],
    'a spend that another organization paid': [
      '2',
      (events) =>
        events.map((event) =>
          event.type === 'CreditSpent'
            ? { ...event, stream: 'credits-other' as LoggedEvent['stream'] }
            : event,
        ),
    ],
    'a card that nobody paid for': ['2', without('CreditSpent', 1)],
    'a refund that never came': ['2', without('CreditReturned', 0)],
    'a cause that moves money twice': ['2', twice('CreditReturned')],
    'a spend without a card': ['2', without('CardScheduled', 1)],
    'a cancel of a card on the floor': [
      '10',
      (events) =>
        events.flatMap((event) =>
          event.type === 'StepCompleted'
            ? [event, { ...event, type: 'CardCancelled', data: { owes: 0 } }]
            : [event],
        ),
    ],
    'a step before its time': ['10', withData('StepStarted', 0, () => ({ step: 'stamped' }))],
    'a card that was ordered twice': ['11', twice('CardScheduled')],
    'two cards for one request': [
      '5',
      (events) =>
        events.flatMap((event) =>
          event.type === 'CardScheduled'
            ? [event, { ...event, stream: 'card-HC-0000000' as LoggedEvent['stream'] }]
            : [event],
        ),
    ],
    'a code with a wrong check character': [
      '11',
      (events) =>
        events.map((event) =>
          event.type === 'CardHeld'
            ? { ...event, stream: 'card-HC-0000001' as LoggedEvent['stream'] }
            : event,
        ),
    ],
    'a window of three days': [
      '11',
      withData('CardHeld', 0, ({ order }: { order: { window: { latest: string } } }) => ({
        order: { ...order, window: { earliest: '2026-03-08', latest: '2026-03-11' } },
      })),
    ],
    'an event id that occurs twice': [
      '10',
      (events) =>
        events.map((event, place) => (place === 3 ? { ...event, id: events[2]?.id ?? event.id } : event)),
    ],
  };
  for (const [name, [rule, forge]] of Object.entries(forgeries)) {
    it(`sees ${name}`, async () => {
      const { log } = await life();
      expect(rules(logViolations(forged(log, forge), settled))).to.include(rule);
    });
  }

  it('sees a changed event, a gap and a wrong order of positions', async () => {
    const { log } = await life();
    const changed = log.map((event) =>
      event.type === 'CardHeld' ? { ...event, data: { ...event.data, reason: 'none' } } : event,
    );
    expect(rules(logViolations(changed, settled))).to.deep.equal(['10']);
    expect(
      rules(
        logViolations(
          log.filter(({ type }) => type !== 'CardQueued'),
          settled,
        ),
      ),
    ).to.include('10');
    expect(rules(logViolations([...log].reverse(), settled))).to.include('10');
  });

  it('requires owed refunds only once everything is settled', async () => {
    const { log } = await life();
    const open = log.slice(0, log.findIndex(({ type }) => type === 'CardCancelled') + 1);
    expect([
      rules(logViolations(open, settled)),
      rules(logViolations(open, { settled: false })),
    ]).to.deep.equal([['2'], []]);
  });

  const answered = (changes: Partial<Answer>): Answer => ({
    status: 201,
    error: null,
    card: null,
    refunded: null,
    replay: false,
    body: '',
    ...changes,
  });
  const untrue: Readonly<Record<string, readonly [string, (history: readonly Call[]) => readonly Call[]]>> = {
    'a refund that was reported twice': [
      '3',
      (history) => [...history, ...history.filter(({ answer }) => answer?.refunded === 1)],
    ],
    'a refund that no response reported': [
      '3',
      (history) =>
        history.map((call) =>
          call.answer?.refunded === 1 ? { ...call, answer: { ...call.answer, refunded: 0 } } : call,
        ),
    ],
    'two different responses to one key': [
      '6',
      (history) =>
        history.map((call) =>
          call.answer?.replay === true ? { ...call, answer: { ...call.answer, body: 'another' } } : call,
        ),
    ],
    'a replay that is not marked as one': [
      '6',
      (history) =>
        history.map((call) =>
          call.answer?.replay === true ? { ...call, answer: { ...call.answer, replay: false } } : call,
        ),
    ],
    'a card for another payload': [
      '6',
      (history) =>
        history.map((call) =>
          call.answer?.replay === true
            ? { ...call, does: { kind: 'send', key: 'a', payload: 'other' } }
            : call,
        ),
    ],
    'an acknowledged card that is not in the log': [
      '8',
      (history) => [
        ...history,
        {
          org,
          does: { kind: 'send', key: 'c', payload: '' },
          requestId: 'req_0',
          answer: answered({ card: 'HC-0000000' }),
        },
      ],
    ],
    'one card that was acknowledged to two keys': [
      '8',
      (history) =>
        history.map((call) =>
          call.does.kind === 'send' && call.answer?.replay === true
            ? { ...call, does: { ...call.does, key: 'z' } }
            : call,
        ),
    ],
    'a refusal that left events': [
      '9',
      (history) =>
        history.map((call, place) =>
          place === 0 && call.answer
            ? { ...call, answer: answered({ status: 402, error: 'no_credits' }) }
            : call,
        ),
    ],
    'a card that nobody requested': [
      '9',
      (history) => history.filter(({ does }) => does.kind !== 'send' || does.key !== null),
    ],
    'one card for two calls': [
      '9',
      (history) =>
        history.flatMap((call) =>
          call.does.kind === 'send' && call.does.key === null ? [call, call] : [call],
        ),
    ],
  };
  for (const [name, [rule, tell]] of Object.entries(untrue)) {
    it(`sees ${name}`, async () => {
      const { log, history } = await life();
      expect(rules(violations(log, tell(history), settled))).to.include(rule);
    });
  }
});
