import { expect } from 'chai';
import {
  addToDoNotMail,
  doNotMail,
  doNotMailId,
  removeFromDoNotMail,
  type DoNotMailEvent,
} from '../../domain/do-not-mail.js';
import { OrganizationId } from '../../domain/ids.js';
import { given } from '../support/fixtures/scenario.js';

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const added: DoNotMailEvent = { type: 'DoNotMailAdded', data: { personal: { email: 'ada@example.com' } } };
const removed: DoNotMailEvent = { type: 'DoNotMailRemoved', data: {} };

describe('the do-not-mail list', () => {
  it('adds an address once, lower-cased and trimmed', () => {
    given(doNotMail).when(addToDoNotMail(' Ada@Example.com ')).records(added);
    given(doNotMail, added).when(addToDoNotMail('ada@example.com')).recordsNothing();
  });

  it('removes an address once, and can add it again', () => {
    given(doNotMail, added).when(removeFromDoNotMail).records(removed);
    given(doNotMail, added, removed).when(removeFromDoNotMail).recordsNothing();
    given(doNotMail).when(removeFromDoNotMail).recordsNothing();
    given(doNotMail, added, removed).when(addToDoNotMail('ada@example.com')).records(added);
  });

  it('finds an address in any case, only within its organization', () => {
    expect(doNotMailId(org, ' ADA@example.COM')).to.equal(doNotMailId(org, 'ada@example.com'));
    expect(doNotMailId(OrganizationId.parse('another'), 'ada@example.com')).to.not.equal(
      doNotMailId(org, 'ada@example.com'),
    );
    expect(doNotMailId(org, 'ada@example.com')).to.not.contain('ada');
  });
});
