import { expect } from 'chai';
import {
  Schedule,
  type Route,
  type Started,
  type AttemptVerdict,
} from '../../../application/webhooks/schedule.js';
import { OrganizationId, Uuid } from '../../../domain/ids.js';

const plenty = 1_000;
const route = (endpoint: string, org = 'an-org', host = `${endpoint}.test`): Route => ({
  endpoint: Uuid.parse(endpoint),
  org: OrganizationId.parse(org),
  host,
});
const [a, b, c] = [route('a'), route('b'), route('c')];

const opened = (slots = {}, shortestWait?: number): Schedule =>
  new Schedule({ inFlight: 1_000, perHost: 1_000, perEndpoint: 4, ...slots }, shortestWait);

/** Starts as many attempts as the schedule says, and returns how many for each endpoint. */
const start = (
  schedule: Schedule,
  fresh: number,
  now: number,
  attempts: Started[] = [],
): Readonly<Record<string, number>> => {
  const turns = schedule.nextTurns(fresh, now);
  for (const [endpoint, count] of turns)
    for (let left = count; left > 0; left--) attempts.push(schedule.started(route(endpoint), now));
  return Object.fromEntries(turns);
};

const lookAt = (schedule: Schedule, routes: readonly Route[], now = 0): void => {
  for (const each of routes) schedule.lookAt(each, now, now);
};

describe('the schedule of attempts', () => {
  it('gives an endpoint its turn when its time has come', () => {
    const schedule = opened();
    schedule.lookAt(a, 2_000, 1_000);
    schedule.lookAt(b, 1_500, 1_000);
    schedule.lookAt(a, 3_000, 1_000);
    expect([start(schedule, plenty, 1_000), schedule.nextDue]).to.deep.equal([{}, 1_500]);
    schedule.takeDue(1_499);
    expect(start(schedule, plenty, 1_499)).to.deep.equal({});
    schedule.takeDue(1_500);
    expect([start(schedule, plenty, 1_500), schedule.nextDue]).to.deep.equal([{ b: 4 }, 2_000]);
    schedule.takeDue(9_000);
    expect([start(schedule, plenty, 9_000), schedule.nextDue]).to.deep.equal([{ a: 4 }, Infinity]);
  });

  it('shares the slots of an organization among its endpoints, each up to its cap', () => {
    const schedule = opened();
    lookAt(schedule, [a, b, c]);
    expect(start(schedule, 10, 0)).to.deep.equal({ a: 2, b: 2, c: 1 });
    expect(schedule.inFlight).to.equal(5);
  });

  it('opens few connections at a time, and counts none of an endpoint that has just answered', () => {
    const schedule = opened({ opening: 2 });
    const attempts: Started[] = [];
    lookAt(schedule, [a, b, c]);
    expect(start(schedule, plenty, 0, attempts)).to.deep.equal({ a: 1, b: 1 });
    // It comes as soon as those before it are done with, or have begun a while ago.
    expect(schedule.nextDue).to.equal(100);
    schedule.ended(attempts[0] as Started, 'quick', 0, 50);
    expect(start(schedule, plenty, 50, attempts)).to.deep.equal({ a: 4, c: 1 });
    lookAt(schedule, [b, c], 60);
    expect(start(schedule, plenty, 60)).to.deep.equal({});
    expect(start(schedule, plenty, 100)).to.deep.equal({ b: 1 });
    for (const attempt of attempts.slice(2, 6)) schedule.ended(attempt, 'neither', 5_000, 200);
    schedule.takeDue(5_000);
    expect(start(schedule, plenty, 5_000)).to.deep.equal({ c: 1, a: 1 });
  });

  it('gives an endpoint at its cap its next turn when one of its attempts has ended', () => {
    const schedule = opened();
    const attempts: Started[] = [];
    lookAt(schedule, [a]);
    start(schedule, plenty, 0, attempts);
    lookAt(schedule, [a]);
    expect(start(schedule, plenty, 0)).to.deep.equal({});
    schedule.ended(attempts[0] as Started, 'quick', 0, 0);
    expect(start(schedule, plenty, 0)).to.deep.equal({ a: 1 });
  });

  it('halves what an endpoint may hold with each failure or slow response in a row, down to one', () => {
    const schedule = opened();
    const next = (verdict: AttemptVerdict) => {
      lookAt(schedule, [a]);
      schedule.nextTurns(plenty, 0);
      schedule.ended(schedule.started(a, 0), verdict, 0, 0);
      return schedule.nextTurns(plenty, 0).get(a.endpoint);
    };
    expect([next('failed'), next('neither'), next('failed'), next('slow')]).to.deep.equal([2, 2, 1, 1]);
    expect(next('quick')).to.equal(4);
  });

  it('lets an endpoint rest that keeps failing, longer each time', () => {
    const schedule = opened();
    let now = 1_000;
    const rests = Array.from({ length: 14 }, () => {
      lookAt(schedule, [a], now);
      schedule.nextTurns(plenty, now);
      schedule.ended(schedule.started(a, now), 'failed', now, now);
      let rest = 0;
      for (
        schedule.takeDue(now);
        schedule.nextTurns(plenty, now + rest).size === 0;
        schedule.takeDue(now + rest)
      )
        rest++;
      now += rest;
      return rest;
    });
    expect(rests.slice(0, 5)).to.deep.equal([0, 0, 25, 50, 100]);
    expect(rests.at(-1)).to.equal(5_000);
  });

  it('lets an endpoint rest for a minute whose name does not resolve, whatever becomes due meanwhile', () => {
    const schedule = opened();
    lookAt(schedule, [a]);
    schedule.nextTurns(plenty, 0);
    schedule.ended(schedule.started(a, 0), 'unresolved', 10, 10);
    schedule.lookAt(a, 20, 20);
    expect([start(schedule, plenty, 20), schedule.nextDue]).to.deep.equal([{}, 60_010]);
    schedule.takeDue(60_010);
    expect(start(schedule, plenty, 60_010)).to.deep.equal({ a: 2 });
  });

  it('lets such an endpoint rest no longer than the shortest wait, and not at all once somebody asks', () => {
    const schedule = opened({}, 2_000);
    lookAt(schedule, [a]);
    schedule.nextTurns(plenty, 0);
    schedule.ended(schedule.started(a, 0), 'unresolved', 10, 10);
    schedule.lookAt(a, 20, 20);
    expect([start(schedule, plenty, 20), schedule.nextDue]).to.deep.equal([{}, 2_010]);
    schedule.wake(a);
    schedule.lookAt(a, 30, 30);
    expect(start(schedule, plenty, 30)).to.deep.equal({ a: 2 });
  });

  it('never gives all slots away: there is one for an organization that comes later', () => {
    const schedule = opened({ inFlight: 1_000 });
    const hostile = Array.from({ length: 10 }, (_, org) =>
      Array.from({ length: 50 }, (_, number) => route(`${org}-${number}`, `hostile-${org}`)),
    ).flat();
    lookAt(schedule, hostile);
    start(schedule, plenty, 0);
    expect(schedule.inFlight).to.be.within(600, 800);
    lookAt(schedule, [...hostile, a], 5_000);
    expect(start(schedule, plenty, 5_000)).to.deep.equal({ a: 4 });
  });

  it('leaves slots even if each of ten took all it could before the next one came', () => {
    const schedule = opened({ perEndpoint: 10 });
    for (let org = 0; org < 10; org++) {
      lookAt(
        schedule,
        Array.from({ length: 100 }, (_, number) => route(`${org}-${number}`, `hostile-${org}`)),
        org * 100,
      );
      start(schedule, plenty, org * 100);
    }
    expect(1_000 - schedule.inFlight).to.be.above(100);
  });

  it('gives slots in small rounds, so that who comes meanwhile is in the next', () => {
    const schedule = opened();
    lookAt(
      schedule,
      Array.from({ length: 100 }, (_, number) => route(`e${number}`, 'many')),
    );
    const round = () => {
      const turns = schedule.nextTurns(plenty, 0, 16);
      for (const endpoint of turns.keys()) schedule.started(route(endpoint), 0);
      return Object.fromEntries(turns);
    };
    expect(Object.keys(round())).to.have.length(16);
    lookAt(schedule, [a]);
    expect(round()).to.have.property('a');
  });

  it('gives one organization alone a fifth of the slots', () => {
    const schedule = opened({ inFlight: 100 });
    lookAt(
      schedule,
      Array.from({ length: 50 }, (_, number) => route(`e${number}`)),
    );
    start(schedule, plenty, 0);
    expect(schedule.inFlight).to.equal(20);
  });

  it('serves organizations in turn, however many endpoints each has', () => {
    const schedule = opened();
    const many = Array.from({ length: 20 }, (_, number) => route(`m${number}`, 'many'));
    lookAt(schedule, [...many, route('one', 'few')]);
    const byOrg = (turns: Readonly<Record<string, number>>) => [
      Object.entries(turns).reduce((sum, [id, count]) => (id === 'one' ? sum : sum + count), 0),
      turns['one'],
    ];
    expect(byOrg(start(schedule, 12, 0))).to.deep.equal([4, 4]);
  });

  it('bounds the attempts to one host, and shares them between organizations', () => {
    const schedule = opened({ perHost: 12 });
    const attempts: Started[] = [];
    const [first, second] = ['first', 'second'].map((org) =>
      Array.from({ length: 10 }, (_, number) => route(`${org}-${number}`, org, 'shared.test')),
    ) as [Route[], Route[]];
    lookAt(schedule, first);
    start(schedule, plenty, 0, attempts);
    expect(schedule.inFlight).to.equal(6);
    lookAt(schedule, second);
    start(schedule, plenty, 0);
    expect(schedule.inFlight).to.equal(9);
    expect(start(schedule, plenty, 0), 'while the host is full').to.deep.equal({});
    for (const attempt of attempts.slice(0, 3)) schedule.ended(attempt, 'quick', 0, 0);
    start(schedule, plenty, 0);
    expect(schedule.inFlight).to.be.within(8, 9);
  });

  it('counts an attempt as work only for its first moments', () => {
    const schedule = opened();
    lookAt(schedule, [a, b, c]);
    start(schedule, 8, 1_000);
    expect(schedule.inFlight).to.equal(4);
    lookAt(schedule, [a, b, c], 1_000);
    expect([start(schedule, 8, 1_099), schedule.nextDue]).to.deep.equal([{}, 1_100]);
    schedule.takeDue(1_100);
    start(schedule, 8, 1_100);
    expect(schedule.inFlight).to.equal(8);
  });

  it('serves a quick organization at once beside ten that hold all they may', () => {
    const schedule = opened({ perEndpoint: 10 });
    const hostile = Array.from({ length: 10 }, (_, org) =>
      Array.from({ length: 100 }, (_, number) => route(`${org}-${number}`, `hostile-${org}`)),
    ).flat();
    const silent: Started[] = [];
    const waits: number[] = [];
    for (let now = 0; now < 20_000; now += 10) {
      if (now % 100 === 0) lookAt(schedule, hostile, now);
      for (const attempt of silent.filter(({ at }) => at + 9_000 <= now)) {
        silent.splice(silent.indexOf(attempt), 1);
        schedule.ended(attempt, 'slow', now, now);
      }
      lookAt(schedule, [a], now);
      const mine: Started[] = [];
      for (const [endpoint, count] of schedule.nextTurns(200, now))
        for (let left = count; left > 0; left--)
          (endpoint === a.endpoint ? mine : silent).push(schedule.started(route(endpoint), now));
      waits.push(mine.length);
      for (const attempt of mine) schedule.ended(attempt, 'quick', now, now);
    }
    expect(Math.min(...waits), 'slots at every look').to.be.at.least(1);
    expect(silent.length).to.be.above(500);
  });

  it('starts an attempt whose claim took so long that its endpoint was forgotten', () => {
    const schedule = opened();
    lookAt(schedule, [a]);
    schedule.nextTurns(plenty, 0);
    schedule.forget(600_000);
    schedule.ended(schedule.started(a, 600_000), 'quick', 600_000, 600_000);
    expect(schedule.inFlight).to.equal(0);
  });

  it('forgets endpoints that were not attempted for a while', () => {
    const schedule = opened();
    lookAt(schedule, [a, b]);
    schedule.nextTurns(plenty, 0);
    schedule.ended(schedule.started(a, 0), 'failed', 0, 0);
    schedule.nextTurns(plenty, 0);
    schedule.lookAt(b, 900_000, 0);
    schedule.forget(600_000);
    lookAt(schedule, [a], 600_000);
    expect(start(schedule, plenty, 600_000), 'without the failure').to.deep.equal({ a: 4 });
    schedule.takeDue(900_000);
    expect(start(schedule, plenty, 900_000), 'what is due is kept').to.deep.equal({ b: 4 });
  });
});
