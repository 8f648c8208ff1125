import { expect } from 'chai';
import { ArtworkDigest, type Front } from '../../domain/artwork.js';
import { DomainError } from '../../domain/errors.js';
import { OrganizationId, Uuid } from '../../domain/ids.js';
import {
  anyDesign,
  archiveDesign,
  chooseHouseHand,
  copyOf,
  created,
  createOrganization,
  defaultDesign,
  eraseDesign,
  nextCopyId,
  offered,
  organization,
  organizationStream,
  renameOrganization,
  savedDesign,
  saveDesign,
  slugOf,
  suspendOrganization,
  withdrawDesign,
  type OrganizationEvent,
} from '../../domain/organization.js';
import { given } from '../support/fixtures/scenario.js';

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const acme: OrganizationEvent = {
  type: 'OrganizationCreated',
  data: { name: 'Acme', houseHand: 'Everyday' },
};
const id = (last: string): Uuid => Uuid.parse(`6c0f6a3e-0000-4000-8000-00000000000${last}`);
const design = (last: string, slug: string | null = null) => ({
  id: id(last),
  name: `Design ${last}`,
  slug,
  artwork: null,
});
const saved = (last: string, slug: string | null = null): OrganizationEvent => ({
  type: 'DesignSaved',
  data: { design: design(last, slug) },
});
const archived = (last: string): OrganizationEvent => ({ type: 'DesignArchived', data: { id: id(last) } });
const owner = (...past: readonly OrganizationEvent[]) => created(given(organization, acme, ...past).state);

const codeOf = (attempt: () => unknown): readonly (string | null)[] => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof DomainError) return [error.code, error.param];
  }
  return ['no refusal'];
};

describe('an organization', () => {
  it('is created once', () => {
    given(organization).when(createOrganization('Acme', 'Everyday')).records(acme);
    given(organization, acme).when(createOrganization('Acme', 'Everyday')).recordsNothing();
    expect(organizationStream(org)).to.equal('organization-6c0f6a3e-0000-4000-8000-000000000001');
  });

  it('is not found before it is created', () => {
    given(organization)
      .when(saveDesign(design('a')))
      .refuses('not_found');
    given(organization)
      .when(archiveDesign(id('a')))
      .refuses('not_found');
    given(organization).when(chooseHouseHand('Elegant')).refuses('not_found');
  });

  it('accepts every recorded event in any order: facts are not refused', () => {
    expect(given(organization, saved('a'), archived('b')).state).to.deep.equal({ status: 'none' });
    expect(owner(archived('b')).designs).to.deep.equal([]);
  });

  it('is renamed; a repeat records nothing', () => {
    const renamed: OrganizationEvent = { type: 'OrganizationRenamed', data: { name: 'Initech' } };
    given(organization, acme).when(renameOrganization('Initech')).records(renamed);
    given(organization, acme, renamed).when(renameOrganization('Initech')).recordsNothing();
    given(organization).when(renameOrganization('Initech')).refuses('not_found');
    expect(owner(renamed).name).to.equal('Initech');
  });

  it('is suspended and reinstated; a repeat records nothing', () => {
    const suspended: OrganizationEvent = { type: 'OrganizationSuspended', data: {} };
    const reinstated: OrganizationEvent = { type: 'OrganizationReinstated', data: {} };
    given(organization, acme).when(suspendOrganization(false)).recordsNothing();
    given(organization, acme).when(suspendOrganization(true)).records(suspended);
    given(organization, acme, suspended).when(suspendOrganization(true)).recordsNothing();
    given(organization, acme, suspended).when(suspendOrganization(false)).records(reinstated);
    given(organization).when(suspendOrganization(true)).refuses('not_found');
    expect([owner(suspended).isSuspended, owner(suspended, reinstated).isSuspended]).to.deep.equal([
      true,
      false,
    ]);
  });

  it('chooses its house hand; a repeat records nothing', () => {
    const chosen: OrganizationEvent = { type: 'HouseHandChosen', data: { houseHand: 'Elegant' } };
    given(organization, acme).when(chooseHouseHand('Elegant')).records(chosen);
    given(organization, acme, chosen).when(chooseHouseHand('Elegant')).recordsNothing();
    given(organization, acme).when(chooseHouseHand('Everyday')).recordsNothing();
  });

  it('has the house hand that was chosen last', () => {
    expect(owner({ type: 'HouseHandChosen', data: { houseHand: 'Elegant' } })).to.deep.equal({
      status: 'created',
      name: 'Acme',
      houseHand: 'Elegant',
      isSuspended: false,
      designs: [],
    });
  });

  it('keeps its designs in the order in which they were saved', () => {
    given(organization, acme)
      .when(saveDesign(design('a')))
      .records(saved('a'));
    expect(owner(saved('a'), saved('b', 'thanks')).designs).to.deep.equal([
      { ...design('a'), archived: false, isErased: false, withdrawn: null },
      { ...design('b', 'thanks'), archived: false, isErased: false, withdrawn: null },
    ]);
  });

  it('archives a design once', () => {
    given(organization, acme, saved('a'))
      .when(archiveDesign(id('a')))
      .records(archived('a'));
    given(organization, acme, saved('a'), archived('a'))
      .when(archiveDesign(id('a')))
      .recordsNothing();
    given(organization, acme, saved('a'))
      .when(archiveDesign(id('b')))
      .refuses('not_found');
  });
});

describe('the copy of a collection card', () => {
  it('is made once, however often it is asked for', () => {
    given(organization, acme, saved('a', 'thanks'))
      .when(saveDesign(design('b', 'thanks')))
      .recordsNothing();
    given(organization, acme, saved('a', 'thanks'))
      .when(saveDesign(design('b', 'welcome')))
      .records(saved('b', 'welcome'));
  });

  it('is made again under another id if the previous one is archived', () => {
    given(organization, acme, saved('a', 'thanks'), archived('a'))
      .when(saveDesign(design('b', 'thanks')))
      .records(saved('b', 'thanks'));
    const ids = [owner(), owner(saved('a', 'thanks')), owner(saved('a', 'thanks'), archived('a'))].map(
      (state) => nextCopyId(state, org, 'thanks'),
    );
    expect([ids[0] === ids[1], ids[1] === ids[2]]).to.deep.equal([false, true]);
    expect(nextCopyId(owner(), org, 'thanks')).to.not.equal(
      nextCopyId(owner(), OrganizationId.parse('another'), 'thanks'),
    );
  });

  it('is not made for an organization that has saved 2,000 designs, archived ones included', () => {
    const many = (count: number) =>
      owner(...Array.from({ length: count }, () => saved('a', 'thanks')), archived('a'));
    expect(nextCopyId(many(1_999), org, 'thanks')).to.be.a('string');
    const full = () => nextCopyId(many(2_000), org, 'thanks');
    expect(codeOf(full)).to.deep.equal(['too_many_designs', null]);
    expect(full).to.throw(/has saved 2,000 designs, archived ones included.*Use one of them\./);
  });

  it('does not restore an archived copy: a late repeat changes nothing', () => {
    given(organization, acme, saved('a', 'thanks'), archived('a'))
      .when(saveDesign(design('a', 'thanks')))
      .recordsNothing();
  });

  it('is found while it is not archived', () => {
    expect(copyOf(owner(saved('a', 'thanks')), 'thanks')).to.deep.equal({
      ...design('a', 'thanks'),
      archived: false,
      isErased: false,
      withdrawn: null,
    });
    expect(copyOf(owner(saved('a', 'thanks'), archived('a')), 'thanks')).to.equal(null);
    expect(copyOf(owner(saved('a', 'thanks'), archived('a'), saved('b', 'thanks')), 'thanks')?.id).to.equal(
      id('b'),
    );
    expect(copyOf(owner(saved('a', 'thanks')), 'Thanks')).to.equal(null);
  });
});

describe('choosing a design', () => {
  it('takes the newest design that is not archived, copies included', () => {
    expect(defaultDesign(owner(saved('a'), saved('b', 'thanks'))).id).to.equal(id('b'));
    expect(defaultDesign(owner(saved('a'), saved('b', 'thanks'), archived('b'))).id).to.equal(id('a'));
  });

  it('is refused with no_design_available if there is none', () => {
    expect(codeOf(() => defaultDesign(owner()))).to.deep.equal(['no_design_available', null]);
    expect(codeOf(() => defaultDesign(owner(saved('a'), archived('a'))))).to.deep.equal([
      'no_design_available',
      null,
    ]);
  });

  it('finds a saved design by its id, in any case', () => {
    expect(savedDesign(owner(saved('a')), id('a')).name).to.equal('Design a');
    expect(savedDesign(owner(saved('a')), id('a').toUpperCase()).name).to.equal('Design a');
  });

  it('refuses an archived, unknown or malformed id', () => {
    const known = owner(saved('a'), archived('a'), saved('b'));
    for (const wish of [id('a'), id('c'), 'no-uuid', ''])
      expect(codeOf(() => savedDesign(known, wish))).to.deep.equal(['design_not_found', null]);
  });

  it('accepts the exact slug of a collection card', () => {
    expect(['card:thanks', 'card:', 'Card:thanks', 'card: thanks', id('a')].map(slugOf)).to.deep.equal([
      'thanks',
      '',
      null,
      ' thanks',
      null,
    ]);
  });

  it('accepts a collection card until it is withdrawn', () => {
    expect(offered({ title: 'Thank you', active: true }, 'thank-you').title).to.equal('Thank you');
    for (const known of [null, { title: 'Thank you', active: false }])
      expect(codeOf(() => offered(known, 'thank-you'))).to.deep.equal(['design_not_found', null]);
  });
});

const picture: Front = {
  digest: ArtworkDigest.parse('a'.repeat(64)),
  bytes: 900,
  width: 3024,
  height: 4032,
  fit: 'fill',
};

describe('the picture of a design', () => {
  const pictured: OrganizationEvent = {
    type: 'DesignSaved',
    data: { design: { ...design('a'), artwork: picture } },
  };
  const erased: OrganizationEvent = { type: 'DesignErased', data: { id: id('a') } };
  const withdrawn = (reason: string): OrganizationEvent => ({
    type: 'DesignWithdrawn',
    data: { id: id('a'), reason },
  });
  const stateOf = (...past: readonly OrganizationEvent[]) => anyDesign(owner(...past), id('a'));

  it('is saved with it, and stays when it is renamed or archived', () => {
    given(organization, acme)
      .when(saveDesign({ ...design('a'), artwork: picture }))
      .records(pictured);
    expect(stateOf(pictured, archived('a'))).to.deep.equal({
      ...design('a'),
      artwork: picture,
      archived: true,
      isErased: false,
      withdrawn: null,
    });
  });

  it('is erased once, also of an archived design, and no card can be sent with it then', () => {
    given(organization, acme, pictured)
      .when(eraseDesign(id('a')))
      .records(erased);
    given(organization, acme, pictured, archived('a'))
      .when(eraseDesign(id('a')))
      .records(erased);
    given(organization, acme, pictured, erased)
      .when(eraseDesign(id('a')))
      .recordsNothing();
    given(organization, acme, saved('a'))
      .when(eraseDesign(id('a')))
      .recordsNothing();
    given(organization, acme)
      .when(eraseDesign(id('a')))
      .refuses('not_found');
    expect(stateOf(pictured, erased).artwork).to.equal(null);
    expect(codeOf(() => savedDesign(owner(pictured, erased), id('a')))).to.deep.equal([
      'design_not_found',
      null,
    ]);
  });

  it('is withdrawn once by the house, with a reason, and no card can be sent with it then', () => {
    given(organization, acme, pictured)
      .when(withdrawDesign(id('a'), 'Not yours.'))
      .records(withdrawn('Not yours.'));
    given(organization, acme, pictured, withdrawn('Not yours.'))
      .when(withdrawDesign(id('a'), 'Again.'))
      .recordsNothing();
    given(organization, acme)
      .when(withdrawDesign(id('a'), 'Not yours.'))
      .refuses('not_found');
    expect(stateOf(pictured, withdrawn('Not yours.'))).to.deep.include({
      artwork: picture,
      withdrawn: 'Not yours.',
    });
    expect(codeOf(() => defaultDesign(owner(pictured, withdrawn('Not yours.'))))).to.deep.equal([
      'no_design_available',
      null,
    ]);
  });
});
