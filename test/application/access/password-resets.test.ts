import { expect } from 'chai';
import { execute, type Initiator } from '../../../application/writing/execute.js';
import { findReset, issueReset, takeReset } from '../../../application/access/password-resets.js';
import {
  changeRole,
  hashOfNew,
  inviteMember,
  listMembers,
  removeMember,
  setPassword,
} from '../../../application/access/people.js';
import { accountWith } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { DomainError } from '../../../domain/errors.js';
import { apiKey, issueOperatorKey, revokeKey } from '../../../domain/api-key.js';
import { derivedUuid, OrganizationId, type Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { createOrganization, organization } from '../../../domain/organization.js';
import type { Role } from '../../../domain/permissions.js';
import {
  addMember,
  byOperator,
  chosen,
  makePeople,
  stranger,
  type PeopleWorld,
} from '../../support/fixtures/people.js';
import { org } from '../../support/fixtures/world.js';

const other = OrganizationId.parse('6c0f6a3e-0000-4000-8000-00000000000b');
const officeKey = derivedUuid('a key of the office');
const byOffice: Initiator = { actor: { kind: 'operator', id: officeKey }, requestId: 'req_1' };
const officeOf = async (people: PeopleWorld): Promise<void> => {
  const key = { label: 'office', scopes: ['operator:office' as const], expiresAt: null };
  await execute(people, apiKey, officeKey, people.command(), issueOperatorKey(key));
};
const memberBy = (id: Uuid): Initiator => ({ actor: { kind: 'member', id }, requestId: 'req_1' });

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof DomainError ? error.code : 'failed'),
  );

const add = (people: PeopleWorld, where: OrganizationId, name: string, role: Role): Promise<Uuid> =>
  addMember(people, where, { email: `${name}@example.com`, name, role }, 'a long password');

const idIn = async (people: PeopleWorld, where: OrganizationId, account: Uuid): Promise<Uuid> => {
  const found = (await listMembers(people, where)).find((member) => member.account === account);
  if (found === undefined) throw new Error('no such member');
  return found.id;
};

describe('links for a new password', () => {
  let people: PeopleWorld;
  let owner: Uuid;
  let person: Uuid;

  beforeEach(async () => {
    people = await makePeople();
    const opened = createOrganization('Other', 'Everyday');
    await execute(people, organization, other, { ...people.command(), org: other }, opened);
    await officeOf(people);
    owner = await add(people, org, 'owner', 'owner');
    person = await add(people, org, 'person', 'developer');
  });

  const reset = async (by: Initiator, where = org, account = person) =>
    issueReset(people, by, where, await idIn(people, where, account));

  it('are made by an owner only for whoever belongs to that organization alone', async () => {
    const { token } = await reset(memberBy(owner));
    expect((await findReset(people, token))?.person.email).to.equal('person@example.com');
    await add(people, other, 'person', 'viewer');
    expect(await refusalOf(reset(memberBy(owner)))).to.equal('missing_scope');
    expect(await refusalOf(reset(byOffice))).to.equal('none');
    await removeMember(people, byOperator, other, await idIn(people, other, person));
    expect(await refusalOf(reset(memberBy(owner)))).to.equal('none');
    for (const by of [memberBy(person), { actor: { kind: 'key', id: 'a-key' }, requestId: null } as const])
      expect(await refusalOf(reset(by)), by.actor.kind).to.equal('missing_scope');
  });

  it('are made for the staff by the holder of the operator token alone, in any organization', async () => {
    await add(people, other, 'person', 'owner');
    await add(people, house, 'person', 'floor');
    const operator = await add(people, house, 'boss', 'operator');
    for (const where of [org, other, house]) {
      for (const by of [byOffice, memberBy(owner), memberBy(operator)])
        expect(await refusalOf(reset(by, where))).to.equal('missing_scope');
      const { token } = await reset(byOperator, where);
      expect(await takeReset(people, token)).to.equal(person);
    }
    expect(await refusalOf(reset(memberBy(operator), org, owner))).to.equal('none');
  });

  it('set no password where another was set since they were opened, however late they are used', async () => {
    const { token } = await reset(memberBy(owner));
    const opened = await findReset(people, token);
    if (opened === null) throw new Error('the link is over');
    const mailbox = mailboxIdOf(opened.person.email);
    const set = async (password: string, since: string | null) => {
      const hash = await hashOfNew(people, mailbox, opened.id, chosen(password));
      return setPassword(people, { requestId: null }, { id: opened.id, mailbox, hash, since }, null);
    };
    expect(await takeReset(people, token)).to.equal(opened.id);
    const newer = await findReset(people, (await reset(memberBy(owner))).token);
    await set('the newest password', newer?.since ?? null);
    for (const since of [opened.since, null])
      expect(await refusalOf(set('an older password', since))).to.equal('invalid_transition');
    const found = await accountWith(people, opened.person.email, 'the newest password', stranger);
    expect(found?.account).to.equal(opened.id);
  });

  it('are over for an account that opens more than when they were made', async () => {
    const links = [await reset(memberBy(owner)), await reset(byOffice), await reset(byOperator)];
    const good = () => Promise.all(links.map(async ({ token }) => (await findReset(people, token)) !== null));
    expect(await good()).to.deep.equal([true, true, true]);
    await add(people, other, 'person', 'viewer');
    expect(await good()).to.deep.equal([false, true, true]);
    await add(people, house, 'person', 'floor');
    expect(await good()).to.deep.equal([false, false, true]);
    const taken = await Promise.all(links.map(({ token }) => takeReset(people, token)));
    expect(taken).to.deep.equal([null, null, person]);
  });

  it('are over once their maker is removed, manages no more, or has a key that is over', async () => {
    const staff = await add(people, house, 'boss', 'operator');
    await add(people, house, 'chief', 'operator');
    const second = await add(people, org, 'second', 'owner');
    const links = [
      await reset(memberBy(owner)),
      await reset(memberBy(second)),
      await reset(memberBy(staff)),
      await reset(byOffice),
    ];
    const good = () => Promise.all(links.map(async ({ token }) => (await findReset(people, token)) !== null));
    expect(await good()).to.deep.equal([true, true, true, true]);
    await removeMember(people, memberBy(second), org, await idIn(people, org, owner));
    expect(await good()).to.deep.equal([false, true, true, true]);
    await add(people, org, 'third', 'owner');
    await changeRole(people, byOperator, org, await idIn(people, org, second), 'viewer');
    expect(await good()).to.deep.equal([false, false, true, true]);
    await removeMember(people, byOperator, house, await idIn(people, house, staff));
    expect(await good()).to.deep.equal([false, false, false, true]);
    await execute(people, apiKey, officeKey, people.command(), revokeKey(house));
    expect(await good()).to.deep.equal([false, false, false, false]);
    expect(await takeReset(people, links[0]?.token ?? '')).to.equal(null);
  });
});

describe('the staff', () => {
  it('are invited, changed and removed by the holder of the operator token alone', async () => {
    const people = await makePeople();
    await officeOf(people);
    const operator = await add(people, house, 'boss', 'operator');
    const floor = await idIn(people, house, await add(people, house, 'hand', 'floor'));
    const owner = await add(people, org, 'owner', 'owner');
    const invited = { email: 'me@example.com', name: 'Me', role: 'operator' } as const;
    const before = await people.store.readLog(0n, 100);
    for (const by of [byOffice, memberBy(operator), memberBy(owner)]) {
      expect(await refusalOf(inviteMember(people, by, house, invited))).to.equal('missing_scope');
      expect(await refusalOf(changeRole(people, by, house, floor, 'operator'))).to.equal('missing_scope');
      expect(await refusalOf(removeMember(people, by, house, floor))).to.equal('missing_scope');
    }
    expect(await people.store.readLog(0n, 100)).to.have.length(before.length);
    await changeRole(people, byOperator, house, floor, 'auditor');
    await removeMember(people, byOperator, house, floor);
  });
});
