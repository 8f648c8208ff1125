import { expect } from 'chai';
import { Registry } from 'prom-client';
import { countTotals, type Totals } from '../../../application/organizations/read-organizations.js';
import { registerTotals } from '../../../bin/metrics/totals.js';
import { VirtualClock } from '../../support/memory/clock.js';

describe('the numbers of cards and credits', () => {
  const numbers = (blocked: number, credits: number): Totals => ({
    cards: new Map([
      ['pending', 2],
      ['blocked', blocked],
    ]),
    credits,
  });

  it('are counted for a scrape, and again only after a minute', async () => {
    const [registry, clock] = [new Registry(), new VirtualClock()];
    let counted = 0;
    registerTotals(
      registry,
      clock,
      () => Promise.resolve(numbers(++counted, 100 * counted)),
      () => undefined,
    );
    const first = await registry.metrics();
    expect(first).to.include('cards_by_status{status="pending"} 2');
    expect(first).to.include('cards_by_status{status="blocked"} 1').and.include('credits_outstanding 100');
    await clock.advance(59_000);
    expect(await registry.metrics()).to.include('credits_outstanding 100');
    await clock.advance(1_000);
    expect(await registry.metrics()).to.include('credits_outstanding 200');
    expect(counted).to.equal(2);
  });

  it('stay as they were while they can’t be counted, and are left out before the first count', async () => {
    const [registry, clock] = [new Registry(), new VirtualClock()];
    let count = (): Promise<Totals> => Promise.reject(new Error('the read models are away'));
    const warned: unknown[] = [];
    registerTotals(
      registry,
      clock,
      () => count(),
      (error) => warned.push(error),
    );
    expect(await registry.metrics()).not.to.match(/^(credits_outstanding|cards_by_status\{)/m);
    await clock.advance(60_000);
    count = () => Promise.resolve(numbers(1, 7));
    expect(await registry.metrics()).to.include('credits_outstanding 7');
    await clock.advance(60_000);
    count = () => Promise.reject(new Error('the read models are away'));
    await registry.metrics();
    await clock.advance(60_000);
    expect(await registry.metrics()).to.include('credits_outstanding 7');
    // Two runs of failures: one before the count that succeeded, and one after it.
    expect(warned.map(String)).to.deep.equal(Array(2).fill('Error: the read models are away'));
  });

  it('are shown as far as they can be counted', async () => {
    const failed: unknown[] = [];
    const found = await countTotals(
      {
        get: () => Promise.resolve(null),
        page: () => Promise.reject(new Error('no page')),
        count: (_, { where: { status } }) =>
          status === 'written' ? Promise.reject(new Error('no index')) : Promise.resolve(3),
      },
      (error) => failed.push(error),
    );
    expect(failed.map(String)).to.deep.equal(['Error: no index', 'Error: no page']);
    expect([found.cards.get('posted'), found.cards.has('written'), found.credits]).to.deep.equal([
      3,
      false,
      null,
    ]);
  });

  it('are counted less often if that takes long, and no scrape waits for it', async () => {
    const [registry, clock] = [new Registry(), new VirtualClock()];
    let finish: (totals: Totals) => void = () => undefined;
    let begun = 0;
    registerTotals(
      registry,
      clock,
      () => {
        begun++;
        return new Promise<Totals>((resolve) => (finish = resolve));
      },
      () => undefined,
    );
    const early = registry.metrics();
    await clock.advance(10_000);
    expect(await early).not.to.include('credits_outstanding 7');
    finish(numbers(1, 7));
    expect(await registry.metrics()).to.include('credits_outstanding 7');
    await clock.advance(999_000);
    await registry.metrics();
    expect(begun).to.equal(1);
    await clock.advance(1_000);
    const late = registry.metrics();
    await clock.advance(10_000);
    expect([begun, (await late).includes('credits_outstanding 7')]).to.deep.equal([2, true]);
  });
});
