import { expect } from 'chai';
import {
  acceptFor,
  accountOf,
  changeRole,
  findInvitation,
  inviteMember,
  listMembers,
  removeMember,
  setFirstPassword,
  setPassword,
} from '../../../application/access/people.js';
import { roleIn } from '../../../application/access/roles.js';
import { hashOf } from '../../../application/access/sessions.js';
import { accountWith, wrongPasswordsPerMinute } from '../../../application/access/sign-in.js';
import { accountIdOf } from '../../../domain/account.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId, type Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { addMember, byOperator, makePeople } from '../../support/fixtures/people.js';
import { org } from '../../support/fixtures/world.js';

const ada = { email: 'Ada@example.com', name: 'Ada Byron', role: 'owner' } as const;
const bo = { email: 'bo@example.com', name: 'Bo', role: 'viewer' } as const;
const week = 7 * 24 * 60 * 60 * 1000;

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof DomainError ? error.code : 'failed'),
  );

describe('people', () => {
  it('are invited, join, and act under their account from then on', async () => {
    const people = await makePeople();
    const { token, expires } = await inviteMember(people, byOperator, org, ada);
    expect(Date.parse(expires) - people.clock.now()).to.equal(week);
    const found = await findInvitation(people, org, token);
    expect([found?.member.role, found?.hasPassword]).to.deep.equal(['owner', false]);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const id = await acceptFor(people, { requestId: 'req_7', traceparent }, org, token, 'Ada B.');
    expect([id, await roleIn(people, org, id)]).to.deep.equal([accountIdOf('ada@example.com'), 'owner']);
    expect(await accountOf(people, id)).to.deep.equal({
      status: 'open',
      person: { name: 'Ada B.', email: 'ada@example.com' },
      organizations: [org],
    });
    const recorded = (await people.store.readLog(0n, 100)).filter(({ stream }) =>
      /^(account|members)-/.test(stream),
    );
    expect(recorded.map(({ type, metadata: { actor } }) => [type, actor.kind, actor.id])).to.deep.equal([
      ['MemberInvited', 'operator', 'root'],
      ['AccountOpened', 'member', id],
      ['OrganizationJoined', 'member', id],
      ['InvitationAccepted', 'member', id],
    ]);
    expect(recorded.map(({ metadata }) => metadata.traceparent)).to.deep.equal([
      undefined,
      traceparent,
      traceparent,
      traceparent,
    ]);
    expect(JSON.stringify(recorded.map(({ data }) => data))).not.to.include(token);
    expect(await findInvitation(people, org, token)).to.equal(null);
    expect(await refusalOf(acceptFor(people, { requestId: null }, org, token, 'Ada'))).to.equal('not_found');
  });

  it('keep their account and password where they join a second organization', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'correct horse battery');
    const { token } = await inviteMember(people, byOperator, house, { ...ada, role: 'floor' });
    expect((await findInvitation(people, house, token))?.hasPassword).to.equal(true);
    await acceptFor(people, { requestId: null }, house, token, 'Somebody else');
    expect(await roleIn(people, house, id)).to.equal('floor');
    expect((await accountOf(people, id))?.person?.name).to.equal(ada.name);
    expect(await accountWith(people, ada.email, 'correct horse battery')).to.equal(id);
  });

  it('whose password was lost get none by an invitation, which would open all that they belong to', async () => {
    const people = await makePeople();
    const id = await addMember(people, house, { ...ada, role: 'operator' }, 'a long password');
    await people.signInRecords.remove('password', id);
    const { token } = await inviteMember(people, byOperator, org, ada);
    expect((await findInvitation(people, org, token))?.hasPassword).to.equal(false);
    expect(await refusalOf(setFirstPassword(people, { requestId: null }, id, 'a better password'))).to.equal(
      'invalid_transition',
    );
    expect(await accountWith(people, ada.email, 'a better password')).to.equal(null);
    const bos = accountIdOf(bo.email);
    await setFirstPassword(people, { requestId: null }, bos, 'a better password');
    expect(await accountWith(people, bo.email, 'a better password')).to.equal(bos);
  });

  it('can be given other roles and be removed, and an organization that is none has no members', async () => {
    const people = await makePeople();
    await addMember(people, org, ada, 'a long password');
    const id = await addMember(people, org, bo, 'another password');
    const memberId =
      (await listMembers(people, org)).find(({ account }) => account === id)?.id ?? ('' as Uuid);
    await changeRole(people, byOperator, org, memberId, 'developer');
    expect(await roleIn(people, org, id)).to.equal('developer');
    await removeMember(people, byOperator, org, memberId);
    expect(await roleIn(people, org, id)).to.equal(null);
    const nobody = OrganizationId.parse('6c0f6a3e-0000-4000-8000-00000000dead');
    expect(await refusalOf(listMembers(people, nobody))).to.equal('not_found');
    expect(await refusalOf(inviteMember(people, byOperator, nobody, ada))).to.equal('not_found');
  });

  it('sign in with their address in any spelling and their password alone', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'a long password');
    expect(await accountWith(people, ' ADA@example.com', 'a long password')).to.equal(id);
    expect(await accountWith(people, ada.email, 'a long Password')).to.equal(null);
    expect(await accountWith(people, 'nobody@example.com', 'a long password')).to.equal(null);
  });

  it('have ten tries in a minute, whatever comes with the eleventh', async () => {
    const people = await makePeople();
    await addMember(people, org, ada, 'a long password');
    for (let tries = 0; tries < wrongPasswordsPerMinute; tries += 1)
      expect(await accountWith(people, ada.email, 'wrong')).to.equal(null);
    expect(await refusalOf(accountWith(people, ada.email, 'a long password'))).to.equal('rate_limited');
    expect(await accountWith(people, 'bo@example.com', 'wrong')).to.equal(null);
    await people.clock.advance(60_000);
    expect(await accountWith(people, ada.email, 'a long password')).not.to.equal(null);
  });

  it('who change their password end their other sessions', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'a long password');
    const [mine, other] = [await people.sessions.open(id, 'a'), await people.sessions.open(id, 'b')];
    await setPassword(people, { requestId: 'req_8' }, id, 'a better password', hashOf(mine));
    expect([await people.sessions.use(mine), await people.sessions.use(other)].map(Boolean)).to.deep.equal([
      true,
      false,
    ]);
    expect(await accountWith(people, ada.email, 'a long password')).to.equal(null);
    expect(await accountWith(people, ada.email, 'a better password')).to.equal(id);
  });
});
