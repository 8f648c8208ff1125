import { expect } from 'chai';
import { statementCsv } from '../../../adapters/http/console/statement.js';
import type { EventStore } from '../../../application/ports/event-store.js';
import { buy, makeWorld, org } from '../../support/fixtures/world.js';

const movements = 1_200;

/** A store that says how many events each read of a ledger returned. */
const counting = (store: EventStore, read: number[]): EventStore =>
  new Proxy(store, {
    get: (target, name) => {
      if (name !== 'readStream') return Reflect.get(target, name).bind(target);
      return async (...asked: Parameters<EventStore['readStream']>) => {
        const events = await target.readStream(...asked);
        if (asked[0].startsWith('credits-')) read.push(events.length);
        return events;
      };
    },
  });

const whole = {
  from: '',
  to: '',
  dayOf: (at: string) => at.slice(0, 10),
  signal: new AbortController().signal,
};

describe('the statement as CSV', () => {
  let world: Awaited<ReturnType<typeof makeWorld>>;
  before(async () => {
    world = await makeWorld({ atomic: true });
    for (let bought = 0; bought < movements; bought += 1) await buy(world, 1);
  });

  it('reads a ledger of any length page by page, and none before it is wanted', async () => {
    const read: number[] = [];
    const deps = { ...world, store: counting(world.store, read) };
    const pieces = statementCsv(deps, org, whole);
    const head = await pieces.next();
    const first = await pieces.next();
    expect([head.value, read]).to.deep.equal(['at,what,change,balance,card,reason,reference\r\n', [200]]);
    let rows = String(first.value).split('\r\n').length - 1;
    for await (const piece of pieces) rows += piece.split('\r\n').length - 1;
    expect([rows, read]).to.deep.equal([movements, [200, 200, 200, 200, 200, 200]]);
  });

  it('reads nothing before its first day, and nothing more for a client that has gone', async () => {
    for (const [from, to, isGone] of [
      ['9999-01-01', '', false],
      ['', '2000-01-01', true],
    ] as const) {
      const read: number[] = [];
      const signal = isGone ? AbortSignal.abort() : whole.signal;
      const deps = { ...world, store: counting(world.store, read) };
      const pieces = statementCsv(deps, org, { ...whole, from, to, signal });
      let count = 0;
      for await (const piece of pieces) count += piece.length > 0 ? 1 : 0;
      expect([count, read]).to.deep.equal([1, [200]]);
    }
  });
});
