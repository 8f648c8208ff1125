import { expect } from 'chai';
import { floorList } from '../../../adapters/http/console/floor-data.js';
import type { HouseContext } from '../../../adapters/http/console/page.js';
import { Instant } from '../../../domain/ids.js';

/** A floor with cards that are due on these days. */
const floorOf = (days: readonly string[]) => {
  const deps = {
    clock: { instant: () => Instant.parse('2026-03-03T01:00:00.000Z') },
    readModels: {
      agenda: async (_: unknown, { limit }: { readonly limit: number }) =>
        days.slice(0, limit).map((due, at) => ({ document: { code: `HC-${at}`, due, org: 'one' } })),
      pageAcross: async () => [],
      get: async () => ({ document: { id: 'one', designs: [] } }),
    },
    readYourWrites: { rowsMayBeLate: () => false },
  };
  return floorList({ deps, timeZone: 'America/New_York' } as unknown as HouseContext);
};

describe('the list of the floor', () => {
  it('counts what is due today, in the zone of the service, and what is late', async () => {
    const { due, today, first } = await floorOf(['2026-02-27', '2026-03-02', '2026-03-03']);
    expect([due, today, first.length]).to.deep.equal(['2', '2026-03-02', 3]);
  });

  it('counts up to 50, and lists the 25 that came first', async () => {
    const { due, first, owners } = await floorOf(Array.from({ length: 10_000 }, () => '2026-03-02'));
    expect([due, first.length, [...owners.keys()]]).to.deep.equal(['50+', 25, ['one']]);
  });
});
