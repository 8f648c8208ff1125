import { expect } from 'chai';
import type { Clock } from '../../../application/ports/system.js';
import { withCards } from '../../../application/projecting/project.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { noteStream } from '../../support/fixtures/notes.js';
import { logged } from '../../support/fixtures/logged-event.js';
import { RealClock } from '../../support/time/real-clock.js';
import { standingClock } from '../../support/time/standing-clock.js';

const event = (type: string): LoggedEvent => logged(noteStream('a'), { type, data: {} }, 0);
const [spent, card, other] = [event('CreditSpent'), event('CardScheduled'), event('Changed')];

const batchesOf = async (
  batches: AsyncIterable<readonly LoggedEvent[]>,
  clock: Clock,
  seen: (readonly LoggedEvent[])[] = [],
) => {
  for await (const batch of withCards(batches, clock)) seen.push(batch);
  return seen;
};

describe('events with their cards', () => {
  it('come with the spends before them, and others as they are', async () => {
    const batches = (async function* () {
      yield* [[other], [spent], [spent], [card, other], [card, spent], [other], [spent]];
    })();
    expect(await batchesOf(batches, new RealClock())).to.deep.equal([
      [other],
      [spent, spent, card, other],
      [card, spent],
      [other],
      [spent],
    ]);
  });

  it('are waited for only so long', async () => {
    const seen: (readonly LoggedEvent[])[] = [];
    const batches = (async function* () {
      yield [spent];
      while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
      yield [card];
    })();
    expect(await batchesOf(batches, standingClock(0), seen)).to.deep.equal([[spent], [card]]);
  });

  it('end with the failure of their source', async () => {
    const batches = (async function* () {
      yield [spent];
      throw new Error('it is away');
    })();
    const failure = await batchesOf(batches, new RealClock()).catch((error: unknown) => error);
    expect(failure).to.have.property('message', 'it is away');
  });
});
