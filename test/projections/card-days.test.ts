import { expect } from 'chai';
import { readCardDays } from '../../application/cards/card-days.js';
import type { PageQuery, ReadModels } from '../../application/ports/read-models.js';
import { ReadModelsUnavailable } from '../../application/ports/read-models.js';
import type { DomainEvent, LoggedEvent } from '../../domain/events.js';
import type { Instant, OrganizationId, StreamName, Uuid } from '../../domain/ids.js';
import { cardDays, type CardDayDocument } from '../../projections/card-days.js';

const org = '6c0f6a3e-0000-4000-8000-000000000001' as OrganizationId;

let position = 0n;
const logged = (at: string, type: string, data: object = {}): LoggedEvent => {
  position += 1n;
  return {
    id: `e-${position}` as Uuid,
    stream: `card-HC-${position}` as StreamName,
    revision: 0,
    position,
    type,
    data,
    metadata: {
      org,
      actor: { kind: 'operator', id: null },
      requestId: null,
      correlationId: 'c',
      causationId: 'c',
      schemaVersion: 1,
      occurredAt: at as Instant,
      subject: null,
      keyId: null,
      chain: 2,
      personal: null,
      hash: '',
    },
  };
};

const step = (name: string) => ({ step: name, machine: null });

/** What the events of several days amount to, by the keys of the documents. */
const fold = (events: readonly LoggedEvent[]): ReadonlyMap<string, CardDayDocument> => {
  const documents = new Map<string, CardDayDocument>();
  for (const event of events) {
    const key = cardDays.key(event);
    const after = cardDays.evolve(documents.get(key) ?? null, event);
    if (after !== null) documents.set(key, after);
  }
  return documents;
};

const hours = (counts: Readonly<Record<number, number>>) =>
  Array.from({ length: 24 }, (_, hour) => counts[hour] ?? 0);

describe('the days of cards', () => {
  it('count what was accepted, mailed and cancelled, by the hour in UTC', () => {
    const documents = fold([
      logged('2026-03-02T00:00:00.000Z', 'CardScheduled', { order: { org } }),
      logged('2026-03-02T00:59:59.999Z', 'CardScheduled', { order: { org } }),
      logged('2026-03-02T15:24:00.000Z', 'StepCompleted', step('stamped')),
      logged('2026-03-02T15:25:00.000Z', 'StepCompleted', step('posted')),
      logged('2026-03-02T16:00:00.000Z', 'CardQueued'),
      logged('2026-03-02T23:59:59.999Z', 'CardCancelled', { owes: 1 }),
      logged('2026-03-03T00:00:00.000Z', 'CardCancelled', { owes: 1 }),
      logged('2026-03-04T10:00:00.000Z', 'CardHeld', { reason: 'no', owes: 1, order: null, personal: null }),
    ]);
    expect(Object.fromEntries(documents)).to.deep.equal({
      [`${org}/2026-03-02`]: {
        org,
        day: '2026-03-02',
        accepted: hours({ 0: 2 }),
        mailed: hours({ 15: 1 }),
        cancelled: hours({ 23: 1 }),
      },
      [`${org}/2026-03-03`]: {
        org,
        day: '2026-03-03',
        accepted: hours({}),
        mailed: hours({}),
        cancelled: hours({ 0: 1 }),
      },
    });
  });

  it('are the same when they are built anew at once, and when they were built event by event from stored ones', () => {
    const events = Array.from({ length: 200 }, (_, at) => {
      const hour = String(at % 24).padStart(2, '0');
      const time = `2026-03-0${1 + (at % 3)}T${hour}:30:00.000Z`;
      return at % 5 === 0
        ? logged(time, 'CardCancelled', { owes: 1 })
        : at % 3 === 0
          ? logged(time, 'StepCompleted', step('posted'))
          : logged(time, 'CardScheduled', { order: { org } });
    });
    const stored = new Map<string, string>();
    for (const event of events) {
      const key = cardDays.key(event);
      const before = stored.get(key);
      const after = cardDays.evolve(
        before === undefined ? null : (JSON.parse(before) as CardDayDocument),
        event,
      );
      if (after !== null) stored.set(key, JSON.stringify(after));
    }
    const anew = new Map([...fold(events)].map(([key, document]) => [key, JSON.stringify(document)]));
    expect(anew).to.deep.equal(stored);
    const counted = [...fold(events).values()].flatMap((day) => [
      ...day.accepted,
      ...day.mailed,
      ...day.cancelled,
    ]);
    expect(counted.reduce((sum, count) => sum + count, 0)).to.equal(events.length);
  });

  it('refuse an event that only a later version knows', () => {
    expect(() => fold([logged('2026-03-02T10:00:00.000Z', 'CardFramed')])).to.throw('CardFramed');
  });
});

describe('the last days of cards in the time zone of the service', () => {
  const over = (events: readonly (LoggedEvent & DomainEvent)[]) => {
    const asked: PageQuery[] = [];
    const page = async (_: unknown, query: PageQuery) => {
      asked.push(query);
      return [...fold(events)].map(([key, document]) => ({ key, created: 1n, position: 1n, document }));
    };
    return { deps: { readModels: { page } as unknown as ReadModels }, asked };
  };
  const sent = (at: string) => logged(at, 'CardScheduled', { order: { org } });
  const wanted = (timeZone: string, days = 3) => ({
    now: '2026-03-09T12:00:00.000Z' as Instant,
    timeZone,
    days,
  });

  it('begin and end at midnight there, also on the day on which the clocks change', async () => {
    const { deps, asked } = over([
      sent('2026-03-07T04:00:00.000Z'), // before the first day
      sent('2026-03-07T05:00:00.000Z'),
      sent('2026-03-08T04:00:00.000Z'), // 23:00 on March 7
      sent('2026-03-08T05:00:00.000Z'),
      sent('2026-03-09T03:00:00.000Z'), // 23:00 on March 8, an hour ahead since 02:00
      sent('2026-03-09T04:00:00.000Z'),
    ]);
    const found = await readCardDays(deps, org, wanted('America/New_York'));
    expect(found?.map(({ day, accepted }) => [day, accepted])).to.deep.equal([
      ['2026-03-07', 2],
      ['2026-03-08', 2],
      ['2026-03-09', 1],
    ]);
    expect(asked).to.deep.equal([{ org, limit: 4 }]);
  });

  it('have a day without cards, too', async () => {
    expect(await readCardDays(over([]).deps, org, wanted('UTC', 2))).to.deep.equal([
      { day: '2026-03-08', accepted: 0, mailed: 0, cancelled: 0 },
      { day: '2026-03-09', accepted: 0, mailed: 0, cancelled: 0 },
    ]);
  });

  it('give an hour that midnight cuts to the day on which it begins', async () => {
    const { deps } = over([sent('2026-03-08T18:59:00.000Z')]); // 00:29 on March 9 in Kolkata
    const found = await readCardDays(deps, org, wanted('Asia/Kolkata', 2));
    expect(found?.map(({ accepted }) => accepted)).to.deep.equal([1, 0]);
  });

  it('are unknown while they are counted for the first time', async () => {
    const page = () => Promise.reject(new ReadModelsUnavailable('being built'));
    const deps = { readModels: { page } as unknown as ReadModels };
    expect(await readCardDays(deps, org, wanted('UTC'))).to.equal(null);
  });
});
