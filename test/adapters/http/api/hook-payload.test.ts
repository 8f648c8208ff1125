import { expect } from 'chai';
import fc from 'fast-check';
import { readHookPayload } from '../../../../adapters/http/api/hook-payload.js';
import type { Json, JsonObject } from '../../../../adapters/http/schema/read.js';
import type { Captured } from '../../../../domain/errors.js';

const address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };
const ann = { name: 'Ann Lee', ...address, line2: null, country: 'US' };

/** The value, or the code and the field of the refusal. */
const outcome = <T>(field: Captured<T>) =>
  'value' in field ? field.value : `${field.refusal.code} ${field.refusal.param}`;

const recipientOf = (payload: JsonObject) => outcome(readHookPayload(payload).card.recipient);

describe('the recipient of a hook payload', () => {
  it('is read from the top level', () =>
    expect(recipientOf({ name: 'Ann Lee', ...address })).to.deep.equal(ann));

  it('is read from a recipient object', () =>
    expect(recipientOf({ recipient: { name: 'Ann Lee', ...address } })).to.deep.equal(ann));

  it('is read from both places, and the recipient object wins', () =>
    expect(
      recipientOf({
        name: 'Top',
        ...address,
        recipient: { name: 'Nested', city: ' ', state: null, zip: '73301' },
      }),
    ).to.deep.equal({ ...ann, name: 'Nested', zip: '73301' }));

  it('takes each field from recipient.canonical, recipient.alias, canonical, alias, in that order', () => {
    const { line1: _, ...rest } = { name: 'Ann Lee', ...address };
    const line1Of = (recipient: JsonObject, top: JsonObject = { line1: 'c', address1: 'd' }): unknown => {
      const read = recipientOf({ ...rest, recipient, ...top });
      return typeof read === 'string' ? read : read.line1;
    };
    expect(line1Of({ line1: 'a', address1: 'b' })).to.equal('a');
    expect(line1Of({ line1: '', address1: 'b' })).to.equal('b');
    expect(line1Of({ line1: null, address1: '  ' })).to.equal('c');
    expect(line1Of({}, { line1: '', address1: 'd' })).to.equal('d');
    expect(line1Of({}, {})).to.equal('invalid_recipient recipient.line1');
    expect(
      recipientOf({ name: 'Ann Lee', ...address, zip: ' ', address2: 'Apt 1', postal_code: '73301' }),
    ).to.deep.equal({ ...ann, line2: 'Apt 1', zip: '73301' });
  });

  it('gets its name from name, else from first_name and last_name', () => {
    const nameOf = (payload: JsonObject): unknown => {
      const read = recipientOf({ ...address, ...payload });
      return typeof read === 'string' ? read : read.name;
    };
    const joined = { first_name: ' Ann Marie ', last_name: 'Lee' };
    expect(nameOf({ name: 'Whole', ...joined })).to.equal('Whole');
    expect(nameOf({ name: ' ', ...joined })).to.equal('Ann Marie Lee');
    expect(nameOf({ recipient: { first_name: 'Bo' }, ...joined })).to.equal('Bo Lee');
    const order = { name: '#1001' };
    expect(nameOf({ ...order, recipient: joined })).to.equal('Ann Marie Lee');
    expect(nameOf({ ...order, recipient: { ...joined, name: 'Whole' } })).to.equal('Whole');
    for (const other of ['#1001', '1001', 'SO-1001', 'ann@example.com', '...'])
      expect(nameOf({ name: other, ...joined }), other).to.equal('Ann Marie Lee');
    for (const whole of ['Ann Lee 3rd', 'Ann-Marie Lee, Jr.', 'Ann'])
      expect(nameOf({ name: whole, ...joined })).to.equal(whole);
    expect(nameOf({ ...order, first_name: 'Ann' })).to.equal('#1001');
    expect(nameOf({ ...order, ...joined, recipient: { last_name: 'Roe' } })).to.equal('Ann Marie Roe');
    expect(nameOf({ ...order, recipient: { first_name: ' ', city: 'Austin' } })).to.equal('#1001');
    expect(readHookPayload({ ...order, recipient: joined }).firstName).to.equal('Ann Marie');
    for (const half of [{ first_name: 'Ann' }, { last_name: 'Lee', first_name: ' ' }])
      expect(nameOf({ name: 'Ann Lee', recipient: half })).to.equal('Ann Lee');
    for (const half of [
      { first_name: 'Ann' },
      { last_name: 'Lee', first_name: ' ' },
      { ...order, recipient: { last_name: 'Lee' } },
    ])
      expect(nameOf(half)).to.equal('invalid_recipient recipient.name');
    expect(readHookPayload({ ...address, ...joined })).to.include({
      firstName: 'Ann Marie',
      lastName: 'Lee',
    });
    expect(readHookPayload({ ...address, ...joined, name: 'Whole' })).to.include({
      firstName: null,
      lastName: 'Lee',
    });
  });

  it('keeps values of the wrong type, so that the card’s rules refuse them', () => {
    for (const wrong of [
      { name: 5, first_name: 'Ann', last_name: 'Lee' },
      { first_name: 5, last_name: 'Lee' },
    ])
      expect(recipientOf({ ...address, ...wrong })).to.equal('invalid_recipient recipient.name');
    expect(recipientOf({ name: 'Ann', ...address, zip: 78701, postal_code: '78701' })).to.equal(
      'invalid_recipient recipient.zip',
    );
    for (const recipient of ['Ann', [address], 5, true, ''])
      expect(recipientOf({ name: 'Ann', ...address, recipient })).to.equal('invalid_recipient recipient');
    expect(recipientOf({ name: 'Ann Lee', ...address, recipient: null })).to.deep.equal(ann);
  });

  it('is refused with the names under which a field was sent, or may be', () => {
    const refusalOf = (payload: JsonObject): string => {
      const { recipient, reference } = readHookPayload(payload).card;
      const refused = [recipient, reference].find((field) => 'refusal' in field);
      return refused !== undefined && 'refusal' in refused ? refused.refusal.message : '';
    };
    const missing = (names: string): string =>
      `is required. Send ${names}, at the top level or in \`recipient\`, not in another object.`;
    const names = missing('`name`, or both `first_name` and `last_name`');
    expect(refusalOf({ ...address, first_name: 'Ann' })).to.equal(`\`recipient.name\` ${names}`);
    expect(refusalOf({ name: 'Ann', shipping_address: { ...address } })).to.equal(
      `\`recipient.line1\` ${missing('`line1` or `address1`')}`,
    );
    const { zip: _, ...rest } = { name: 'Ann Lee', ...address };
    const noString = 'must be a string such as "62701" (a number loses its leading zeros), not a number.';
    for (const [payload, name] of [
      [{ ...rest, postal_code: 62701 }, 'postal_code'],
      [{ ...rest, zip: 62701 }, 'zip'],
      [{ ...rest, recipient: { postal_code: 62701 } }, 'recipient.postal_code'],
    ] as const)
      expect(refusalOf(payload)).to.equal(`\`recipient.zip\` ${noString} It was sent as \`${name}\`.`);
    expect(refusalOf({ recipient: { ...rest, zip: 62701 } })).to.equal(`\`recipient.zip\` ${noString}`);
    expect(refusalOf({ ...rest, zip: '62701', id: [] })).to.equal(
      '`reference` must be a string or a number, not a list. It was sent as `id`.',
    );
    const long = 'n'.repeat(200);
    expect(refusalOf({ ...address, first_name: long, recipient: { last_name: long } })).to.match(
      / It was sent as `first_name` and `recipient.last_name`\.$/,
    );
    expect(refusalOf({ ...address, first_name: 5, last_name: 'Lee' })).to.match(/ sent as `first_name`\.$/);
    expect(refusalOf({ ...address, recipient: 'Ann' })).to.not.include('sent as');
  });

  it('may have its email in the recipient object or at the top level', () => {
    expect(readHookPayload({ email: ' Ann@Example.COM ' }).email).to.deep.equal({ value: 'ann@example.com' });
    expect(readHookPayload({ email: 'top@x.de', recipient: { email: 'in@x.de' } }).email).to.deep.equal({
      value: 'in@x.de',
    });
    expect(readHookPayload({ email: 'top@x.de', recipient: { email: '' } }).email).to.deep.equal({
      value: 'top@x.de',
    });
    expect(readHookPayload({}).email).to.deep.equal({ value: null });
  });
});

describe('the other fields of a hook payload', () => {
  const cardOf = (payload: JsonObject) => {
    const { message, arriveOn, handwriting, designId, reference } = readHookPayload(payload).card;
    return [message, arriveOn, handwriting, designId, reference].map((field) => outcome<unknown>(field));
  };

  it('count as left out if they are blank', () => {
    const blank = {
      message: ' \n',
      handwriting: '',
      design_id: ' ',
      arrive_on: null,
      reference: '',
      id: '  ',
    };
    expect(cardOf(blank)).to.deep.equal(['missing_message message', null, null, null, null]);
    expect(readHookPayload(blank).hasMessage).to.equal(false);
  });

  it('include a reference, also from id and from numbers', () => {
    expect(cardOf({ id: 17 })[4]).to.equal('17');
    expect(cardOf({ reference: 0, id: 17 })[4]).to.equal('0');
    expect(cardOf({ reference: ' ', id: 'i' })[4]).to.equal('i');
  });

  it('include an external_id, also from numbers', () => {
    expect(readHookPayload({ external_id: ' c-1 ' }).externalId).to.equal('c-1');
    expect(readHookPayload({ external_id: 12 }).externalId).to.equal('12');
    expect(readHookPayload({ external_id: {} }).externalId).to.equal(null);
  });

  it('are never read from a prototype', () =>
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const payload = Object.create({
          message: value,
          name: 'Eve',
          recipient: { name: 'Eve' },
          external_id: 'x',
          email: 'x',
        }) as Record<string, Json>;
        const read = readHookPayload(payload);
        expect(JSON.stringify({ ...read, payload: {} })).to.equal(JSON.stringify(readHookPayload({})));
      }),
    ));
});
