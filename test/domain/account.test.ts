import { expect } from 'chai';
import {
  account,
  changePassword,
  joinOrganization,
  mailboxIdOf,
  signOutEverywhere,
  type Account,
  type AccountEvent,
} from '../../domain/account.js';
import { OrganizationId } from '../../domain/ids.js';

const acme = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const other = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000002');
const ada = { name: 'Ada Byron', email: 'ada@example.com' };

const after = (...events: readonly AccountEvent[]): Account => events.reduce(account.evolve, account.initial);

describe('an account', () => {
  it('belongs to an e-mail address that has one id for every spelling', () => {
    expect(mailboxIdOf(' Ada@Example.com ')).to.equal(mailboxIdOf('ada@example.com'));
    expect(mailboxIdOf('ada@example.org')).not.to.equal(mailboxIdOf('ada@example.com'));
  });

  it('is opened with the first organization, and notes each organization once', () => {
    const first = joinOrganization(ada, acme)(account.initial);
    expect(first.map(({ type }) => type)).to.deep.equal(['AccountOpened', 'OrganizationJoined']);
    const open = after(...first);
    expect(joinOrganization(ada, acme)(open)).to.deep.equal([]);
    const second = joinOrganization({ ...ada, name: 'Somebody else' }, other)(open);
    expect(second).to.deep.equal([{ type: 'OrganizationJoined', data: { org: other } }]);
    expect(after(...first, ...second)).to.deep.equal({
      status: 'open',
      person: ada,
      organizations: [acme, other],
    });
  });

  it('records a new password and the end of all sessions, which say nothing about either', () => {
    const open = after(...joinOrganization(ada, acme)(account.initial));
    expect(changePassword(open)).to.deep.equal([{ type: 'PasswordChanged', data: {} }]);
    expect(signOutEverywhere(open)).to.deep.equal([{ type: 'SignedOutEverywhere', data: {} }]);
    expect(after(...joinOrganization(ada, acme)(account.initial), ...changePassword(open))).to.deep.equal(
      open,
    );
    expect([changePassword(account.initial), signOutEverywhere(account.initial)]).to.deep.equal([[], []]);
  });

  it('can be read after the person was erased', () => {
    const erased = after({ type: 'AccountOpened', data: { personal: null } });
    expect(erased).to.deep.equal({ status: 'open', person: null, organizations: [] });
  });
});
