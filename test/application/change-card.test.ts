import { expect } from 'chai';
import { releaseCard } from '../../application/change-card.js';
import { sendCard } from '../../application/send-card.js';
import { release } from '../../domain/card.js';
import { DomainError } from '../../domain/errors.js';
import { balanceOf, makeWorld, org, sendRequest } from '../support/fixtures/world.js';

for (const atomic of [true, false]) {
  describe(`releasing a held card, on a store that ${atomic ? 'commits several streams at once' : 'writes one stream at a time'}`, () => {
    it('charges one credit however many release it at once, and those who are refused nothing', async () => {
      const world = await makeWorld({ atomic, credits: 20 });
      const { code } = await sendCard(world, sendRequest(world, { message: { value: 'Great work 🎉' } }));
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, () =>
          releaseCard(world, { code, org }, world.command(), release).then(
            ({ card }) => card.status,
            (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
          ),
        ),
      );
      expect(outcomes.sort()).to.deep.equal([
        ...Array.from({ length: 9 }, () => 'invalid_transition'),
        'pending',
      ]);
      expect(await balanceOf(world)).to.equal(19);
    });
  });
}
