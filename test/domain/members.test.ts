import { expect } from 'chai';
import { DomainError } from '../../domain/errors.js';
import { Instant, OrganizationId, type Uuid } from '../../domain/ids.js';
import {
  acceptInvitation,
  changeRole,
  house,
  invitationIdOf,
  invite,
  maxMembers,
  members,
  newAccountIdOf,
  openInvitation,
  removeMember,
  roleOf,
  type Members,
  type MembersEvent,
} from '../../domain/members.js';
import type { Role } from '../../domain/permissions.js';

const acme = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const now = Instant.parse('2026-03-02T15:00:00.000Z');
const later = Instant.parse('2026-03-09T15:00:00.000Z');

const invitation = (name: string, role: Role, token: string = name) => ({
  org: acme,
  role,
  invitation: invitationIdOf(token),
  expires: later,
  email: `${name}@Example.com`,
  name,
});

const apply = (state: Members, decide: (state: Members) => readonly MembersEvent[]): Members =>
  decide(state).reduce(members.evolve, state);

const account = (name: string): Uuid => newAccountIdOf(invitationIdOf('any'), name);

/** The members after these people were invited and have accepted. */
const membersOf = (...people: readonly (readonly [string, Role])[]): Members =>
  people.reduce<Members>((state, [name, role]) => {
    const invited = apply(state, invite(invitation(name, role)));
    return apply(invited, acceptInvitation(invitationIdOf(name), account(name), now));
  }, members.initial);

const idOf = (state: Members, name: string): Uuid =>
  state.find(({ person }) => person?.name === name)?.id ?? account('nobody');

const refusal = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
  return 'none';
};

describe('the members of an organization', () => {
  it('are so many at most, with open invitations, of which each can be renewed', () => {
    const all = Array.from({ length: maxMembers }, (_, at) => invite(invitation(`ada-${at}`, 'viewer')));
    const full = all.reduce(apply, members.initial);
    expect(refusal(() => apply(full, invite(invitation('bo', 'viewer'))))).to.equal('invalid_transition');
    expect(apply(full, invite(invitation('ada-7', 'owner'))).length).to.equal(maxMembers);
  });

  it('are invited, and belong to it once they have accepted', () => {
    const invited = apply(members.initial, invite(invitation('ada', 'owner')));
    expect(roleOf(invited, account('ada'))).to.equal(null);
    const joined = apply(invited, acceptInvitation(invitationIdOf('ada'), account('ada'), now));
    expect(roleOf(joined, account('ada'))).to.equal('owner');
    expect(joined[0]?.person).to.deep.equal({ email: 'ada@example.com', name: 'ada' });
    expect(roleOf(joined, account('bo'))).to.equal(null);
  });

  it('record nothing that would open an invitation', () => {
    const recorded = JSON.stringify(invite(invitation('ada', 'owner', 'the secret token'))(members.initial));
    expect(recorded).not.to.include('secret');
  });

  it('accept an invitation once, in time, and only the one that was made last', () => {
    const first = apply(members.initial, invite(invitation('ada', 'viewer', 'first')));
    const second = apply(first, invite(invitation('ada', 'developer', 'second')));
    expect(second).to.have.length(1);
    const accept = (token: string, who = 'ada', at = now) =>
      acceptInvitation(invitationIdOf(token), account(who), at);
    expect(refusal(() => accept('first')(second))).to.equal('not_found');
    expect(refusal(() => accept('second', 'ada', later)(second))).to.equal('not_found');
    const joined = apply(second, accept('second'));
    expect(roleOf(joined, account('ada'))).to.equal('developer');
    expect(accept('second', 'ada', later)(joined)).to.deep.equal([]);
    expect(refusal(() => accept('second', 'bo')(joined))).to.equal('not_found');
    expect(openInvitation(joined, invitationIdOf('second'), now)).to.equal(null);
    const of = (who: string) =>
      openInvitation(joined, invitationIdOf('second'), later, (by) => by === account(who));
    expect([of('ada')?.account, of('bo')]).to.deep.equal([account('ada'), null]);
    expect(refusal(() => invite(invitation('ada', 'viewer'))(joined))).to.equal('invalid_transition');
  });

  it('have the roles of customers, and the staff of the house its own', () => {
    expect(refusal(() => invite(invitation('ada', 'operator'))(members.initial))).to.equal(
      'invalid_parameter',
    );
    const staff = { ...invitation('ada', 'operator'), org: house };
    expect(invite(staff)(members.initial)).to.have.length(1);
    expect(refusal(() => invite({ ...staff, role: 'viewer' })(members.initial))).to.equal(
      'invalid_parameter',
    );
  });

  it('get other roles and leave, but the last owner who has accepted stays one', () => {
    const two = apply(membersOf(['ada', 'owner'], ['bo', 'developer']), invite(invitation('cy', 'owner')));
    const [ada, bo, cy] = ['ada', 'bo', 'cy'].map((name) => idOf(two, name));
    if (ada === undefined || bo === undefined || cy === undefined) throw new Error('three members');
    expect(refusal(() => removeMember(acme, ada)(two))).to.equal('invalid_transition');
    expect(refusal(() => changeRole(acme, ada, 'viewer')(two))).to.equal('invalid_transition');
    expect(changeRole(acme, ada, 'owner')(two)).to.deep.equal([]);
    expect(apply(two, removeMember(acme, cy))).to.have.length(2);
    const led = apply(two, changeRole(acme, bo, 'owner'));
    const left = apply(led, removeMember(acme, ada));
    expect([roleOf(left, account('ada')), roleOf(left, account('bo'))]).to.deep.equal([null, 'owner']);
    expect(refusal(() => changeRole(acme, ada, 'viewer')(left))).to.equal('not_found');
    expect(refusal(() => removeMember(acme, ada)(left))).to.equal('not_found');
    expect(refusal(() => changeRole(acme, bo, 'floor')(left))).to.equal('invalid_parameter');
  });

  it('can be invited again after they left', () => {
    const two = membersOf(['ada', 'owner'], ['bo', 'viewer']);
    const left = apply(two, removeMember(acme, idOf(two, 'bo')));
    const again = apply(left, invite(invitation('bo', 'developer', 'again')));
    const back = apply(again, acceptInvitation(invitationIdOf('again'), account('bo'), now));
    expect(roleOf(back, account('bo'))).to.equal('developer');
  });
});
