import { expect } from 'chai';
import { mutated } from './mutants.js';
import { mutations } from './mutations.js';

describe('a mutation', () => {
  for (const [name, mutation] of Object.entries(mutations))
    it(`can be made still: ${name}`, () => {
      expect(mutated(mutation)).to.include(mutation.instead);
    });
});
