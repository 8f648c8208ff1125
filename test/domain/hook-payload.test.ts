import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../domain/errors.js';
import { messageFrom, readHookPayload } from '../../domain/hook-payload.js';

const address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };
const empty = {
  name: undefined,
  line1: undefined,
  line2: undefined,
  city: undefined,
  state: undefined,
  zip: undefined,
  country: undefined,
};
const recipientOf = (payload: Record<string, unknown>) => readHookPayload(payload).card.recipient;

describe('the recipient of a hook payload', () => {
  it('sits at the top level', () =>
    expect(recipientOf({ name: 'Ann Lee', ...address })).to.deep.equal({
      ...empty,
      name: 'Ann Lee',
      ...address,
    }));

  it('sits in a recipient object', () =>
    expect(recipientOf({ recipient: { name: 'Ann Lee', ...address } })).to.deep.equal({
      ...empty,
      name: 'Ann Lee',
      ...address,
    }));

  it('is read from both, and the object wins', () =>
    expect(
      recipientOf({
        name: 'Top',
        ...address,
        recipient: { name: 'Nested', city: ' ', state: null, zip: '73301' },
      }),
    ).to.deep.equal({
      ...empty,
      ...address,
      name: 'Nested',
      zip: '73301',
    }));

  it('goes recipient.canonical, recipient.alias, canonical, alias', () => {
    const fields = { line1: 'c', address1: 'd' };
    expect(recipientOf({ recipient: { line1: 'a', address1: 'b' }, ...fields })).to.deep.equal({
      ...empty,
      line1: 'a',
    });
    expect(recipientOf({ recipient: { line1: '', address1: 'b' }, ...fields })).to.deep.equal({
      ...empty,
      line1: 'b',
    });
    expect(recipientOf({ recipient: { line1: null, address1: '  ' }, ...fields })).to.deep.equal({
      ...empty,
      line1: 'c',
    });
    expect(recipientOf({ recipient: {}, line1: '', address1: 'd' })).to.deep.equal({ ...empty, line1: 'd' });
    expect(recipientOf({ address2: 'Apt 1', postal_code: '78701' })).to.deep.equal({
      ...empty,
      line2: 'Apt 1',
      zip: '78701',
    });
  });

  it('is called by its name, else by first and last name together', () => {
    const joined = { first_name: ' Ann Marie ', last_name: 'Lee' };
    expect(recipientOf({ name: 'Whole', ...joined })).to.deep.equal({ ...empty, name: 'Whole' });
    expect(recipientOf({ name: ' ', ...joined })).to.deep.equal({ ...empty, name: 'Ann Marie Lee' });
    expect(recipientOf({ recipient: { first_name: 'Bo' }, ...joined })).to.deep.equal({
      ...empty,
      name: 'Bo Lee',
    });
    expect(recipientOf({ first_name: 'Ann' })).to.deep.equal(empty);
    expect(recipientOf({ last_name: 'Lee', first_name: ' ' })).to.deep.equal(empty);
  });

  it('keeps values of the wrong type, for the card rules to refuse', () => {
    expect(recipientOf({ name: 5, zip: 78701, first_name: 'Ann', last_name: 'Lee' })).to.deep.equal({
      ...empty,
      name: 5,
      zip: 78701,
    });
    expect(recipientOf({ first_name: 5, last_name: 'Lee' })).to.deep.equal({ ...empty, name: 5 });
    for (const recipient of ['Ann', [address], 5, true, ''])
      expect(recipientOf({ name: 'Ann', ...address, recipient })).to.equal(recipient);
    expect(recipientOf({ name: 'Ann', recipient: null })).to.deep.equal({ ...empty, name: 'Ann' });
  });

  it('has an email, in the object or at the top level', () => {
    expect(readHookPayload({ email: ' Ann@Example.COM ' }).email).to.equal('ann@example.com');
    expect(readHookPayload({ email: 'top@x.de', recipient: { email: 'in@x.de' } }).email).to.equal('in@x.de');
    expect(readHookPayload({ email: 'top@x.de', recipient: { email: '' } }).email).to.equal('top@x.de');
    expect(readHookPayload({}).email).to.equal(null);
  });
});

describe('the other fields of a hook payload', () => {
  const cardOf = (payload: Record<string, unknown>) => {
    const { recipient: _, ...rest } = readHookPayload(payload).card;
    return rest;
  };
  const none = {
    message: undefined,
    handwriting: undefined,
    design_id: undefined,
    arrive_on: undefined,
    reference: undefined,
  };

  it('count as left out where they are blank', () =>
    expect(
      cardOf({ message: ' \n', handwriting: '', design_id: ' ', arrive_on: null, reference: '', id: '  ' }),
    ).to.deep.equal(none));

  it('are handed on as they were sent', () =>
    expect(
      cardOf({
        message: ' Hi ',
        handwriting: 'Bo',
        design_id: 'card:x',
        arrive_on: '2030-01-01',
        reference: 'r',
        id: 'i',
      }),
    ).to.deep.equal({
      message: ' Hi ',
      handwriting: 'Bo',
      design_id: 'card:x',
      arrive_on: '2030-01-01',
      reference: 'r',
    }));

  it('read the reference from id too, numbers included', () => {
    expect(cardOf({ id: 17 })).to.deep.equal({ ...none, reference: 17 });
    expect(cardOf({ reference: 0, id: 17 })).to.deep.equal({ ...none, reference: 0 });
    expect(cardOf({ reference: ' ', id: 'i' })).to.deep.equal({ ...none, reference: 'i' });
  });

  it('read the external_id, numbers included', () => {
    expect(readHookPayload({ external_id: ' c-1 ' }).externalId).to.equal('c-1');
    expect(readHookPayload({ external_id: 12 }).externalId).to.equal('12');
    expect(readHookPayload({ external_id: {} }).externalId).to.equal(null);
  });

  it('are never inherited', () =>
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const payload: Record<string, unknown> = Object.create({
          message: value,
          name: 'Eve',
          recipient: { name: 'Eve' },
          external_id: 'x',
          email: 'x',
        });
        expect(readHookPayload(payload)).to.deep.equal({ ...readHookPayload({}), payload });
      }),
    ));
});

describe('the message of a hook with a template', () => {
  const recipient = {
    name: 'Ann Marie Lee',
    line1: '1 Main St',
    line2: null,
    city: 'Austin',
    state: 'TX',
    zip: '78701',
    country: 'US',
  };
  const context = {
    recipient,
    senderName: 'Bo & Co',
    contact: { company: 'Acme', job_title: 'CTO', years: '0' },
  };
  const message = (
    template: string,
    payload: Record<string, unknown>,
    more: Partial<typeof context> | { senderName: null } = {},
  ) => messageFrom(template, readHookPayload(payload), { ...context, ...more });
  const incomplete = (run: () => unknown): string | null => {
    try {
      run();
    } catch (error) {
      if (error instanceof DomainError && error.code === 'template_incomplete')
        return error.message.replace(/^.*lacks: (.*)\. Nothing.*$/, '$1');
      throw error;
    }
    return null;
  };

  it('knows the derived variables, which nothing overrides', () =>
    expect(
      message('{{full_name}}|{{first_name}}|{{sender_name}}', {
        full_name: 'x',
        first_name: 'x',
        sender_name: 'x',
        name: 'Ann Marie Lee',
      }),
    ).to.equal('Ann Marie Lee|Ann|Bo & Co'));

  it('has the first name that was sent, where the name was joined from it', () =>
    expect(message('{{first_name}}', { first_name: 'Ann Marie', last_name: 'Lee' })).to.equal('Ann Marie'));

  it('is incomplete without a Signed by setting', () => {
    expect(incomplete(() => message('{{sender_name}}', { sender_name: 'x' }, { senderName: null }))).to.equal(
      'sender_name',
    );
  });

  it('looks in the payload, along the dots, in the recipient, then in the contact', () => {
    expect(
      message('{{zip}} {{recipient.city}} {{city}} {{company}}', {
        postal_code: '78701',
        recipient: { city: 'austin' },
      }),
    ).to.equal('78701 austin Austin Acme');
    expect(message('{{company}} {{job_title}} {{years}}', { company: 'Mine', job_title: ' ' })).to.equal(
      'Mine CTO 0',
    );
    expect(
      message('{{name}} {{last_name}}', { recipient: { first_name: 'Ann', last_name: 'Lee' } }),
    ).to.equal('Ann Marie Lee Lee');
  });

  it('names everything that is lacking', () =>
    expect(
      incomplete(() =>
        message(
          '{{a}} {{b}} {{c}} {{d}} {{line2}} {{company}} {{constructor}} {{ok}}',
          { a: null, b: ' ', c: {}, d: [1], ok: false },
          { contact: { company: '', job_title: '', years: '' } },
        ),
      ),
    ).to.equal('a, b, c, d, line2, company, constructor'));
});
