import { expect } from 'chai';
import { findSubjects, maxSubjects } from '../../../application/personal/erase.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { makeWorld, org } from '../../support/fixtures/world.js';

describe('a search for a person', () => {
  for (const [count, shown, more] of [
    [maxSubjects, maxSubjects, false],
    [maxSubjects + 1, maxSubjects, true],
    [1_000_000, maxSubjects, true],
  ] as const)
    it(`shows ${shown} of ${count} cards, and ${more ? '' : 'not '}that there are more`, async () => {
      const world = await makeWorld({ atomic: true });
      const page: ReadModels['page'] = (projection, { limit, before = BigInt(count) }) => {
        const rows = projection.name === 'cards' ? Math.min(limit, Number(before)) : 0;
        const row = (index: number) => {
          const created = before - BigInt(index) - 1n;
          return { key: String(created), created, position: created, document: {} as never };
        };
        return Promise.resolve(Array.from({ length: rows }, (_, index) => row(index)));
      };
      const deps = { ...world, readModels: Object.assign(new MemoryReadModels(), { page }) };
      const found = await findSubjects(deps, org, { name: null, zip: null, email: null });
      expect([found.cards.length, found.contacts.length, found.more]).to.deep.equal([shown, 0, more]);
    });
});
