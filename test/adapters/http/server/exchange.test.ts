import { expect } from 'chai';
import { Abortable, type Exchange } from '../../../../adapters/http/server/exchange.js';

/** An exchange that does nothing but hold its place. */
const exchange = (): Exchange => {
  const held: Partial<Exchange> = { aborting: null };
  return held as Exchange;
};

describe('the places of long requests', () => {
  it('leave some to every other organization, and to operators, however many take all that they can get', () => {
    const places = new Abortable();
    /** How many an owner gets. */
    const taken = (owner: string, isOurs = false): number => {
      for (let count = 0; ; count += 1)
        try {
          const what = `stream ${Math.floor(count / 100)}`;
          places.takePlace(exchange(), { what, owner, isOurs }, 100);
        } catch {
          return count;
        }
    };
    const counts = Array.from({ length: 12 }, (_, at) => taken(`organization ${at}`));
    expect(counts[0]).to.equal(180);
    expect(Math.min(...counts)).to.be.at.least(15);
    expect(taken('an operator', true)).to.be.at.least(100);
  });

  it('are free again once the request is over', () => {
    const places = new Abortable();
    const first = exchange();
    const take = (by: Exchange) => () =>
      places.takePlace(by, { what: 'a stream', owner: 'an organization', isOurs: false }, 1);
    take(first)();
    expect(take(exchange())).to.throw('At most 1 of these');
    places.concluded(first);
    expect(take(exchange())).not.to.throw();
  });
});
