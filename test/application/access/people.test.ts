import { expect } from 'chai';
import { addCredential, credentialsOf } from '../../../application/access/credentials.js';
import { findReset, issueReset } from '../../../application/access/password-resets.js';
import {
  acceptFor,
  accountOf,
  changeRole,
  findInvitation,
  hashOfNew,
  inviteMember,
  joinWithNewAccount,
  listMembers,
  maxAccounts,
  removeMember,
  setPassword,
  type NewMember,
  type NewPassword,
} from '../../../application/access/people.js';
import { membershipsOf, roleIn } from '../../../application/access/roles.js';
import { findLink, issueLink } from '../../../application/access/sign-in-links.js';
import { accountWith, triesPerMinute } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { foldEmail } from '../../../domain/email.js';
import { DomainError } from '../../../domain/errors.js';
import { streamName, OrganizationId, type Uuid } from '../../../domain/ids.js';
import { house, invitationIdOf, newAccountIdOf } from '../../../domain/members.js';
import {
  addMember,
  byOperator,
  chosen,
  makePeople,
  stranger,
  type PeopleWorld,
} from '../../support/fixtures/people.js';
import { org } from '../../support/fixtures/world.js';

const ada = { email: 'Ada@example.com', name: 'Ada Byron', role: 'owner' } as const;
const bo = { email: 'bo@example.com', name: 'Bo', role: 'viewer' } as const;
const week = 7 * 24 * 60 * 60 * 1000;

const refusalOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof DomainError ? error.code : 'failed'),
  );

const passwordFor = async (
  people: PeopleWorld,
  id: Uuid,
  password: string,
  since: string | null,
): Promise<NewPassword> => {
  const mailbox = mailboxIdOf(ada.email);
  return { id, mailbox, hash: await hashOfNew(people, mailbox, id, chosen(password)), since };
};

const invited = async (people: PeopleWorld, where: OrganizationId, member: NewMember) => {
  const { token } = await inviteMember(people, byOperator, where, member);
  const person = { name: member.name, email: foldEmail(member.email) };
  const idBy = (form: string): Uuid => newAccountIdOf(invitationIdOf(token), form);
  return {
    token,
    idBy,
    join: (form: string, password: string) =>
      joinWithNewAccount(
        people,
        { requestId: null },
        where,
        token,
        { id: idBy(form), person },
        chosen(password),
      ),
    joinWith: (id: Uuid) => acceptFor(people, { requestId: null }, where, token, { id, person }),
  };
};

describe('people', () => {
  it('are invited, join, and act under their account from then on', async () => {
    const people = await makePeople();
    const { token, expires } = await inviteMember(people, byOperator, org, ada);
    expect(Date.parse(expires) - people.clock.now()).to.equal(week);
    const found = await findInvitation(people, org, token);
    expect([found?.member.role, found?.person.email]).to.deep.equal(['owner', 'ada@example.com']);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const id = newAccountIdOf(invitationIdOf(token), 'a form');
    const person = { name: 'Ada B.', email: 'ada@example.com' };
    const request = { requestId: 'req_7', traceparent };
    const joined = await joinWithNewAccount(
      people,
      request,
      org,
      token,
      { id, person },
      chosen('a long password'),
    );
    expect([joined.account, await roleIn(people, org, id)]).to.deep.equal([id, 'owner']);
    expect(await accountOf(people, id)).to.deep.equal({ status: 'open', person, organizations: [org] });
    const recorded = (await people.store.readLog(0n, 100)).filter(({ stream }) =>
      /^(account|members)-/.test(stream),
    );
    expect(recorded.map(({ type, metadata: { actor } }) => [type, actor.kind, actor.id])).to.deep.equal([
      ['MemberInvited', 'operator', 'root'],
      ['InvitationAccepted', 'member', id],
      ['AccountOpened', 'member', id],
      ['OrganizationJoined', 'member', id],
    ]);
    expect(recorded.map(({ metadata }) => metadata.traceparent)).to.deep.equal([
      undefined,
      traceparent,
      traceparent,
      traceparent,
    ]);
    expect(JSON.stringify(recorded.map(({ data }) => data))).not.to.include(token);
    expect(await findInvitation(people, org, token)).to.equal(null);
  });

  it('who are not accepted leave no password, no account and no event', async () => {
    const people = await makePeople();
    const { join, joinWith, idBy } = await invited(people, org, ada);
    await join('a form', 'a long password');
    const before = await people.store.readLog(0n, 100);
    expect(await refusalOf(join('another form', 'a better password'))).to.equal('not_found');
    expect(await refusalOf(joinWith(idBy('a third form')))).to.equal('not_found');
    expect(await people.store.readLog(0n, 100)).to.have.length(before.length);
    expect((await credentialsOf(people, mailboxIdOf(ada.email))).map(({ account }) => account)).to.deep.equal(
      [idBy('a form')],
    );
    expect(await accountWith(people, ada.email, 'a better password', stranger)).to.equal(null);
  });

  it('whose form is sent again come in with its password alone, which it never changes', async () => {
    const people = await makePeople();
    const { join } = await invited(people, org, ada);
    const twice = await Promise.all([join('a form', 'a long password'), join('a form', 'a long password')]);
    expect(twice[0]).to.deep.equal(twice[1]);
    expect(await refusalOf(join('a form', 'a better password'))).to.equal('not_found');
    expect(await accountWith(people, ada.email, 'a better password', stranger)).to.equal(null);
    expect((await accountWith(people, ada.email, 'a long password', stranger))?.epoch).to.equal(
      twice[0].epoch,
    );
  });

  it('go on where joining broke off, by the same form or by a link for a new password', async () => {
    for (const method of ['append', 'add'] as const) {
      const people = await makePeople();
      const { join, idBy } = await invited(people, org, ada);
      const broken = method === 'append' ? people.store : people.signInRecords;
      const whole = broken[method as never] as (...given: unknown[]) => unknown;
      let calls = 0;
      Object.assign(broken, {
        [method]: (...given: unknown[]) => {
          calls += 1;
          // The invitation is accepted first.
          if (method === 'append' && calls === 1) return whole.apply(broken, given);
          throw new Error('the process died');
        },
      });
      expect(await refusalOf(join('a form', 'a long password')), method).to.equal('failed');
      Object.assign(broken, { [method]: whole.bind(broken) });
      expect(await roleIn(people, org, idBy('a form')), method).to.equal('owner');
      expect(await accountWith(people, ada.email, 'a long password', stranger), method).to.equal(null);
      expect(await refusalOf(join('another form', 'a better password')), method).to.equal('not_found');
      const [member] = await listMembers(people, org);
      const link = await issueReset(people, byOperator, org, member?.id ?? idBy('none'));
      expect((await findReset(people, link.token))?.id, method).to.equal(idBy('a form'));
      await join('a form', 'a long password');
      const signedIn = await accountWith(people, ada.email, 'a long password', stranger);
      expect(signedIn?.account, method).to.equal(idBy('a form'));
    }
  });

  it('of the staff stay out of reach of an organization’s owner where joining the house broke off', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'correct horse battery');
    const { joinWith } = await invited(people, house, { ...ada, role: 'operator' });
    const whole = people.store.append.bind(people.store);
    let calls = 0;
    people.store.append = async (...given) => {
      calls += 1;
      if (calls === 2) throw new Error('the process died');
      return whole(...given);
    };
    expect(await refusalOf(joinWith(id))).to.equal('failed');
    people.store.append = whole;
    const isStaff = async () => (await roleIn(people, house, id)) !== null;
    const isKnownToBe = async () => (await membershipsOf(people, id)).includes(house);
    expect(await isKnownToBe()).to.equal(await isStaff());
    await joinWith(id);
    expect([await isKnownToBe(), await isStaff()]).to.deep.equal([true, true]);
  });

  it('keep their account and password where they join a second organization with it', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'correct horse battery');
    const { joinWith } = await invited(people, house, { ...ada, name: 'Somebody else', role: 'floor' });
    await joinWith(id);
    expect(await roleIn(people, house, id)).to.equal('floor');
    expect((await accountOf(people, id))?.person?.name).to.equal(ada.name);
    expect((await accountWith(people, ada.email, 'correct horse battery', stranger))?.account).to.equal(id);
  });

  it('of one address are several accounts that its passwords tell apart, and none of them opens what is another’s', async () => {
    const people = await makePeople();
    const squatter = await addMember(people, org, ada, 'a long password');
    const { join, idBy } = await invited(people, house, { ...ada, role: 'operator' });
    expect(await refusalOf(join('a form', 'a long password'))).to.equal('invalid_parameter');
    await join('a form', 'a better password');
    for (const [password, id, inOrg, inHouse] of [
      ['a long password', squatter, 'owner', null],
      ['a better password', idBy('a form'), null, 'operator'],
    ] as const) {
      expect((await accountWith(people, ada.email, password, stranger))?.account).to.equal(id);
      expect([await roleIn(people, org, id), await roleIn(people, house, id)]).to.deep.equal([
        inOrg,
        inHouse,
      ]);
    }
  });

  it('of one address are so many accounts at most, not counting those that open nothing any more', async () => {
    const people = await makePeople();
    const mailbox = mailboxIdOf(ada.email);
    const first = await addMember(people, org, ada, 'a long password');
    for (let more = 1; more < maxAccounts; more += 1)
      await addCredential(
        people,
        newAccountIdOf(invitationIdOf('any'), `${more}`),
        mailbox,
        'scrypt$1$1$1$a$a',
      );
    const { join } = await invited(people, house, { ...ada, role: 'floor' });
    await join('a form', 'a better password');
    expect(await credentialsOf(people, mailbox)).to.have.length(2);
    expect((await accountWith(people, ada.email, 'a long password', stranger))?.account).to.equal(first);
  });

  it('whose password was lost get none by an invitation: it opens a new account, and no other organization', async () => {
    const people = await makePeople();
    const id = await addMember(people, house, { ...ada, role: 'operator' }, 'a long password');
    await people.signInRecords.remove('password', id);
    const { join, idBy } = await invited(people, org, ada);
    await join('a form', 'a better password');
    expect((await accountWith(people, ada.email, 'a better password', stranger))?.account).to.equal(
      idBy('a form'),
    );
    expect(await roleIn(people, house, idBy('a form'))).to.equal(null);
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
    const signedIn = await accountWith(people, ' ADA@example.com', 'a long password', stranger);
    expect(signedIn?.account).to.equal(id);
    expect(await accountWith(people, ada.email, 'a long Password', stranger)).to.equal(null);
    expect(await accountWith(people, 'nobody@example.com', 'a long password', stranger)).to.equal(null);
  });

  it('have twenty tries in a minute from one network, and others go on', async () => {
    const people = await makePeople();
    await addMember(people, org, ada, 'a long password');
    const elsewhere = { ...stranger, network: '198.51.100.7' };
    for (let tries = 0; tries < triesPerMinute.mailboxOfNetwork; tries += 1)
      expect(await accountWith(people, ada.email, 'wrong', stranger)).to.equal(null);
    expect(await refusalOf(accountWith(people, ada.email, 'a long password', stranger))).to.equal(
      'rate_limited',
    );
    expect(await accountWith(people, 'bo@example.com', 'wrong', stranger)).to.equal(null);
    expect(await accountWith(people, ada.email, 'a long password', elsewhere)).not.to.equal(null);
    await people.clock.advance(60_000);
    expect(await accountWith(people, ada.email, 'a long password', stranger)).not.to.equal(null);
  });

  it('of one network have sixty tries in a minute, for whomever, known or not', async () => {
    const people = await makePeople();
    for (let tries = 0; tries < triesPerMinute.network; tries += 1)
      expect(await accountWith(people, `nobody-${tries}@example.com`, 'wrong', stranger)).to.equal(null);
    expect(await refusalOf(accountWith(people, 'ada@example.com', 'wrong', stranger))).to.equal(
      'rate_limited',
    );
  });

  it('are tried five hundred times in a minute by all networks together, then a few times by each, and a browser that was in before goes on', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'a long password');
    const at = (network: number) => ({ ...stranger, network: `198.51.100.${network}` });
    for (let tries = 0; tries < triesPerMinute.mailbox; tries += 1)
      expect(await accountWith(people, ada.email, 'wrong', at(Math.floor(tries / 20)))).to.equal(null);
    for (let tries = 1; tries < triesPerMinute.first; tries += 1)
      expect(await accountWith(people, ada.email, 'wrong', at(99))).to.equal(null);
    expect((await accountWith(people, ada.email, 'a long password', at(99)))?.account).to.equal(id);
    expect(await refusalOf(accountWith(people, ada.email, 'a long password', at(99)))).to.equal(
      'rate_limited',
    );
    const [known] = await credentialsOf(people, mailboxIdOf(ada.email));
    const device = { account: id, epoch: known?.epoch ?? '' };
    const mine = { ...at(0), devices: [device] };
    expect((await accountWith(people, ada.email, 'a long password', mine))?.account).to.equal(id);
    for (let tries = 1; tries < triesPerMinute.devices; tries += 1)
      expect(await accountWith(people, ada.email, 'wrong', mine)).to.equal(null);
    expect(await refusalOf(accountWith(people, ada.email, 'a long password', mine))).to.equal('rate_limited');
    const older = { ...at(99), devices: [{ account: id, epoch: 'an older one' }] };
    expect(await refusalOf(accountWith(people, ada.email, 'a long password', older))).to.equal(
      'rate_limited',
    );
  });

  it('have the tries of their browsers at their own account alone, not at others of the address', async () => {
    const people = await makePeople();
    const squatter = await addMember(people, org, ada, 'a long password');
    const { join } = await invited(people, house, { ...ada, role: 'operator' });
    await join('a form', 'a better password');
    const known = (await credentialsOf(people, mailboxIdOf(ada.email))).find(
      ({ account }) => account === squatter,
    );
    const devices = [{ account: squatter, epoch: known?.epoch ?? '' }];
    for (let tries = 0; tries < triesPerMinute.mailbox; tries += 1) {
      const network = `198.51.100.${Math.floor(tries / triesPerMinute.mailboxOfNetwork)}`;
      await accountWith(people, ada.email, 'wrong', { network, devices: [] });
    }
    const guess = (password: string) =>
      accountWith(people, ada.email, password, { network: '198.51.100.0', devices });
    expect(await guess('a better password')).to.equal(null);
    expect((await guess('a long password'))?.account).to.equal(squatter);
  });

  it('are not hashed once a network has had its tries', async () => {
    const people = await makePeople();
    for (let tries = 0; tries < triesPerMinute.mailboxOfNetwork; tries += 1)
      await accountWith(people, ada.email, 'wrong', stranger);
    people.passwords.check = () => Promise.reject(new Error('a password was hashed'));
    expect(await refusalOf(accountWith(people, ada.email, 'wrong', stranger))).to.equal('rate_limited');
  });

  it('whose new password breaks off have its event before it, so that no backup brings the old one back', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'a long password');
    const next = await passwordFor(people, id, 'a better password', null);
    for (const method of ['change', 'add'] as const)
      people.signInRecords[method] = () => Promise.reject(new Error('the process died'));
    expect(await refusalOf(setPassword(people, { requestId: null }, next, null))).to.equal('failed');
    const recorded = await people.store.readStream(streamName('account', id), 0);
    expect(recorded.at(-1)?.type).to.equal('PasswordChanged');
  });

  it('who change their password end their other sessions and links, and those that the old one opens meanwhile', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'a long password');
    const before = await accountWith(people, ada.email, 'a long password', stranger);
    const open = () => people.sessions.open(id, 'a', before?.epoch);
    const [mine, other] = [await open(), await open()];
    const session = await people.sessions.use(mine);
    const link = await issueLink(people, 'reset', id);
    const next = await passwordFor(people, id, 'a better password', before?.epoch ?? null);
    await setPassword(people, { requestId: 'req_8' }, next, session);
    expect(await findLink(people, link.token)).to.equal(null);
    const late = await open();
    const used = await Promise.all([mine, other, late].map((token) => people.sessions.use(token)));
    expect(used.map(Boolean)).to.deep.equal([true, false, false]);
    expect(await accountWith(people, ada.email, 'a long password', stranger)).to.equal(null);
    expect((await accountWith(people, ada.email, 'a better password', stranger))?.account).to.equal(id);
  });

  it('change a password once, of all who know it and change it at the same time', async () => {
    const people = await makePeople();
    const id = await addMember(people, org, ada, 'a long password');
    const epoch = (await accountWith(people, ada.email, 'a long password', stranger))?.epoch ?? null;
    const changed = await Promise.all(
      ['one', 'two', 'three'].map(async (name) => {
        const next = await passwordFor(people, id, `a better password, ${name}`, epoch);
        return refusalOf(setPassword(people, { requestId: null }, next, null));
      }),
    );
    expect(changed.toSorted()).to.deep.equal(['invalid_transition', 'invalid_transition', 'none']);
    const fits = await Promise.all(
      ['one', 'two', 'three'].map(
        async (name) =>
          (await accountWith(people, ada.email, `a better password, ${name}`, stranger)) !== null,
      ),
    );
    expect(fits).to.deep.equal(changed.map((refusal) => refusal === 'none'));
  });
});
