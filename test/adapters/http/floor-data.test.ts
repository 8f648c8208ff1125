import { expect } from 'chai';
import { floorList } from '../../../adapters/http/console/floor-data.js';
import type { KnownContext } from '../../../adapters/http/console/page.js';
import type { AgendaQuery } from '../../../application/ports/read-models.js';
import { Instant } from '../../../domain/ids.js';

/** A floor with cards that are due on these days. */
const floorOf = (days: readonly string[]) => {
  const deps = {
    clock: { instant: () => Instant.parse('2026-03-03T01:00:00.000Z') },
    readModels: {
      agenda: async (_: unknown, { after, limit }: Required<AgendaQuery>) =>
        days
          .map((due, at) => ({ created: BigInt(at + 1), document: { code: `HC-${at}`, due, org: 'one' } }))
          .slice(Number(after.created), Number(after.created) + limit),
      page: async () => [],
      get: async () => ({ document: { id: 'one', designs: [] } }),
    },
    readYourWrites: { rowsMayBeLate: () => false },
  };
  return floorList({ deps, timeZone: 'America/New_York' } as unknown as KnownContext);
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

  it('counts what is due behind cards due later, and lists it before them', async () => {
    const later = Array.from({ length: 120 }, () => '2026-03-05');
    const { due, first } = await floorOf([...later, '2026-03-01', '2026-03-02']);
    expect([due, first.length, first.slice(0, 3).map(({ code }) => code)]).to.deep.equal([
      '2', 25, ['HC-120', 'HC-121', 'HC-0'],
    ]); // prettier-ignore
  });

  it('looks at 1,000 cards, and says that there may be more', async () => {
    const later = Array.from({ length: 1_000 }, () => '2026-03-05');
    expect((await floorOf(['2026-03-02', ...later, '2026-03-02'])).due).to.equal('1+');
  });
});
