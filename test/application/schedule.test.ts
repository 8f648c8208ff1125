import { expect } from 'chai';
import { Schedule } from '../../application/schedule.js';
import { Uuid } from '../../domain/ids.js';

const [a, b, c] = ['a', 'b', 'c'].map((id) => Uuid.parse(id)) as [Uuid, Uuid, Uuid];

const opened = (): Schedule => new Schedule({ perEndpoint: 4 });

/** Starts as many attempts as the schedule says, and returns how many for each endpoint. */
const start = (schedule: Schedule, free: number): Readonly<Record<string, number>> => {
  const limits = schedule.nextTurns(free);
  for (const [endpoint, limit] of limits)
    for (let count = 0; count < limit; count++) schedule.started(endpoint);
  return Object.fromEntries(limits);
};

describe('the schedule of attempts', () => {
  it('gives an endpoint its turn when its time has come', () => {
    const schedule = opened();
    schedule.lookAt(a, 2_000, 1_000);
    schedule.lookAt(b, 1_500, 1_000);
    schedule.lookAt(a, 3_000, 1_000);
    expect([schedule.hasTurns, schedule.nextDue]).to.deep.equal([false, 1_500]);
    schedule.takeDue(1_499);
    expect(schedule.hasTurns).to.equal(false);
    schedule.takeDue(1_500);
    expect([Object.keys(start(schedule, 10)), schedule.nextDue]).to.deep.equal([['b'], 2_000]);
    schedule.takeDue(9_000);
    expect([Object.keys(start(schedule, 10)), schedule.nextDue]).to.deep.equal([['a'], Infinity]);
  });

  it('shares what is free among the endpoints whose turn it is, each up to its cap', () => {
    const schedule = opened();
    for (const endpoint of [a, b, c]) schedule.lookAt(endpoint, 0, 0);
    expect(start(schedule, 5)).to.deep.equal({ a: 2, b: 2, c: 1 });
    for (const endpoint of [a, b, c]) schedule.lookAt(endpoint, 0, 0);
    expect(start(schedule, 100)).to.deep.equal({ a: 2, b: 2, c: 3 });
    expect(schedule.running).to.equal(12);
  });

  it('gives an endpoint at its cap its next turn when one of its attempts has ended', () => {
    const schedule = opened();
    schedule.lookAt(a, 0, 0);
    start(schedule, 100);
    schedule.lookAt(a, 0, 0);
    expect(start(schedule, 100)).to.deep.equal({});
    schedule.ended(a, 'succeeded', 0, 0);
    expect(start(schedule, 100)).to.deep.equal({ a: 1 });
  });

  it('halves what an endpoint may hold with each failure in a row, down to one', () => {
    const schedule = opened();
    const next = (verdict: 'succeeded' | 'failed' | 'neither') => {
      schedule.started(a);
      schedule.ended(a, verdict, 0, 0);
      return schedule.nextTurns(100).get(a);
    };
    expect([next('failed'), next('neither'), next('failed'), next('failed')]).to.deep.equal([2, 2, 1, 1]);
    expect(next('succeeded')).to.equal(4);
  });
});
