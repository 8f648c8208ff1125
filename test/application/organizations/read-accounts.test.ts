import { expect } from 'chai';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { readAccount, readBalance, readDesigns } from '../../../application/organizations/read-accounts.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId } from '../../../domain/ids.js';
import { designId, makeWorld, org } from '../../support/fixtures/world.js';

const elsewhere = OrganizationId.parse('6c0f6a3e-0000-4000-8000-0000000000ff');

describe('reading an account whose rows are missing', () => {
  it('reads the streams, even if the projections do not seem late', async () => {
    const world = await makeWorld({ atomic: true, credits: 7 });
    const reading = {
      ...world,
      readModels: new MemoryReadModels(),
      readYourWrites: { ...world.readYourWrites, rowsMayBeLate: () => false },
    };
    expect(await readBalance(reading, org)).to.equal(7);
    const { name, houseHand } = await readAccount(reading, org);
    expect([name, houseHand]).to.deep.equal(['Acme', 'Everyday']);
    expect((await readDesigns(reading, org)).map(({ id }) => id)).to.deep.equal([designId]);
  });

  it('finds no account that was not created', async () => {
    const world = await makeWorld({ atomic: true });
    const reading = { ...world, readModels: new MemoryReadModels() };
    expect(await readBalance(reading, elsewhere)).to.equal(0);
    const refusal = await readAccount(reading, elsewhere).catch((error: unknown) => error);
    expect(refusal instanceof DomainError && refusal.code).to.equal('not_found');
  });
});
