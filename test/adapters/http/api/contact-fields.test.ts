import { expect } from 'chai';
import fc from 'fast-check';
import { readContact } from '../../../../adapters/http/api/contact-fields.js';
import type { ContactDetails } from '../../../../domain/contact.js';
import { capture } from '../../../../domain/errors.js';
import { AddressParts } from '../../../../domain/recipient.js';

const nothing = {
  externalId: null,
  firstName: null,
  lastName: null,
  company: null,
  jobTitle: null,
  email: null,
  phone: null,
  birthday: null,
  workAnniversary: null,
};
const noAddress = { line1: null, line2: null, city: null, state: null, zip: null, country: 'US' as const };
const bare: ContactDetails = { ...nothing, name: 'Ann', firstName: 'Ann', address: noAddress };

const refusalOf = (body: Record<string, unknown>): { code: string; param: string | null } | null => {
  const read = capture(() => readContact(body));
  return 'refusal' in read ? { code: read.refusal.code, param: read.refusal.param } : null;
};

describe('a contact', () => {
  it('is read with all its fields', () =>
    expect(
      readContact({
        external_id: ' c-1 ',
        name: 'ignored',
        first_name: ' Ann  Marie ',
        last_name: 'Lee',
        company: ' Acme ',
        job_title: 'CTO',
        email: ' Ann@X.de ',
        phone: ' 555 ',
        address: {
          line1: ' 1 Main St',
          line2: '',
          city: 'Austin',
          state: 'tx',
          zip: '787011234',
          country: 'usa',
          extra: 1,
        },
        birthday: '1990-02-28',
        work_anniversary: '2020-02-29',
        unknown: {},
      }),
    ).to.deep.equal({
      externalId: 'c-1',
      name: 'Ann Marie Lee',
      firstName: 'Ann Marie',
      lastName: 'Lee',
      company: 'Acme',
      jobTitle: 'CTO',
      email: 'ann@x.de',
      phone: '555',
      address: {
        line1: '1 Main St',
        line2: null,
        city: 'Austin',
        state: 'TX',
        zip: '78701-1234',
        country: 'US',
      },
      birthday: '02-28',
      workAnniversary: '2020-02-29',
    }));

  it('has null for fields that are left out, null or blank', () => {
    expect(readContact({ name: 'Ann' })).to.deep.equal(bare);
    const blank = {
      external_id: ' ',
      first_name: '',
      last_name: ' ',
      company: '',
      job_title: '\t',
      email: '',
      phone: ' ',
      birthday: '',
      work_anniversary: ' ',
    };
    expect(readContact({ name: 'Ann', ...blank, address: null })).to.deep.equal(bare);
    expect(readContact({ name: 'Ann', address: {} })).to.deep.equal(bare);
    expect(
      readContact({ name: 'Ann', ...Object.fromEntries(Object.keys(blank).map((field) => [field, null])) }),
    ).to.deep.equal(bare);
  });

  it('loses the year of the birthday, and is refused with an invalid birthday', () => {
    expect(readContact({ name: 'Ann', birthday: '1987-12-31' }).birthday).to.equal('12-31');
    expect(readContact({ name: 'Ann', birthday: '02-29' }).birthday).to.equal('02-29');
    for (const birthday of [
      '2023-02-29',
      '13-01',
      '1-2',
      '12/31',
      'May 1',
      '1987',
      5,
      {},
      [],
      true,
      '31-12',
    ]) {
      expect(refusalOf({ name: 'Ann', birthday }), JSON.stringify(birthday)).to.deep.equal({
        code: 'invalid_birthday',
        param: 'birthday',
      });
    }
  });

  it('is refused with an invalid work anniversary', () => {
    for (const work_anniversary of ['2023-02-29', '02-28', '2020-1-1', 5, {}, true]) {
      expect(refusalOf({ name: 'Ann', work_anniversary })).to.deep.equal({
        code: 'invalid_date',
        param: 'work_anniversary',
      });
    }
  });

  const names = (body: Record<string, unknown>) => {
    const { name, firstName, lastName } = readContact(body);
    return [name, firstName, lastName];
  };

  it('gets its full name from its parts or the parts from the name, with white space collapsed', () => {
    expect(names({ name: '  Ann \n Marie   Lee ' })).to.deep.equal(['Ann Marie Lee', 'Ann', 'Marie Lee']);
    expect(names({ name: 'Ann' })).to.deep.equal(['Ann', 'Ann', null]);
    expect(names({ first_name: 'Ann' })).to.deep.equal(['Ann', 'Ann', null]);
    expect(names({ last_name: 'Lee' })).to.deep.equal(['Lee', null, 'Lee']);
    expect(names({ name: 'Bo Fox', first_name: 'Ann' })).to.deep.equal(['Ann', 'Ann', null]);
    expect(names({ name: 'Bo Fox', first_name: ' ', last_name: null })).to.deep.equal([
      'Bo Fox',
      'Bo',
      'Fox',
    ]);
  });

  it('is refused without a name', () => {
    for (const body of [
      {},
      { name: ' ' },
      { name: '', first_name: '', last_name: ' ' },
      { name: null },
      { name: '\u200b' },
    ]) {
      expect(refusalOf(body)).to.deep.equal({ code: 'missing_name', param: null });
    }
    expect(refusalOf({ name: 5 })).to.deep.equal({ code: 'missing_name', param: 'name' });
    expect(refusalOf({ name: 'Ann', first_name: ['Ann'] })).to.deep.equal({
      code: 'missing_name',
      param: 'first_name',
    });
    expect(refusalOf({ name: 'Ann', last_name: 5 })).to.deep.equal({
      code: 'missing_name',
      param: 'last_name',
    });
  });

  it('may have an external_id of 255 characters, case-sensitive, numbers too', () => {
    expect(readContact({ name: 'Ann', external_id: 42 }).externalId).to.equal('42');
    expect(readContact({ name: 'Ann', external_id: '😀'.repeat(255) }).externalId).to.equal('😀'.repeat(255));
    expect(readContact({ name: 'Ann', external_id: ` ${'A'.repeat(255)} ` }).externalId).to.equal(
      'A'.repeat(255),
    );
    for (const external_id of ['x'.repeat(256), {}, [], true, Infinity]) {
      expect(refusalOf({ name: 'Ann', external_id })).to.deep.equal({
        code: 'invalid_parameter',
        param: 'external_id',
      });
    }
  });

  it('is refused if a value has the wrong type, and the error names the field', () => {
    for (const field of ['company', 'job_title', 'email', 'phone']) {
      for (const value of [5, true, {}, []])
        expect(refusalOf({ name: 'Ann', [field]: value })).to.deep.equal({
          code: 'invalid_parameter',
          param: field,
        });
    }
  });

  it('is refused if any part of the address is malformed', () => {
    for (const address of ['1 Main St', 5, [], true, ''])
      expect(refusalOf({ name: 'Ann', address })).to.deep.equal({
        code: 'invalid_recipient',
        param: 'address',
      });
    const parts = {
      line1: 'a\nb',
      line2: 'x'.repeat(201),
      city: 5,
      state: 'Texas',
      zip: 78701,
      country: 'CA',
    };
    for (const [part, value] of Object.entries(parts)) {
      expect(refusalOf({ name: 'Ann', address: { [part]: value } })).to.deep.equal({
        code: 'invalid_recipient',
        param: `address.${part}`,
      });
    }
    for (const zip of ['7870', '78701-', '7870a'])
      expect(refusalOf({ name: 'Ann', address: { zip } })?.code).to.equal('invalid_recipient');
  });

  it('has no field from a prototype', () =>
    expect(refusalOf(Object.create({ name: 'Eve' }))).to.deep.equal({ code: 'missing_name', param: null }));

  it('stays the same if its own fields are sent again', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.option(fc.string({ unit: 'grapheme' })),
        (first, last) => {
          if (refusalOf({ first_name: first, last_name: last }) !== null) return;
          const once = readContact({ first_name: first, last_name: last });
          expect(readContact({ first_name: once.firstName, last_name: once.lastName })).to.deep.equal(once);
        },
      ),
    ));
});

describe('the address of a contact', () => {
  const none = { line1: null, line2: null, city: null, state: null, zip: null, country: 'US' };
  const parts = (address: unknown): unknown =>
    refusalOf({ name: 'Ann', address }) ?? readContact({ name: 'Ann', address }).address;
  const refused = (param: string): unknown => ({ code: 'invalid_recipient', param });
  const whole = {
    line1: '1 Main St',
    line2: 'Apt 2',
    city: 'Albany',
    state: 'NY',
    zip: '12207',
    country: 'US',
  };

  it('may be complete, partial or absent', () => {
    expect(parts(whole)).to.deep.equal(whole);
    expect(parts({ city: ' Albany ', state: 'ny', zip: '122071234', country: 'usa' })).to.deep.equal({
      ...none,
      city: 'Albany',
      state: 'NY',
      zip: '12207-1234',
    });
    for (const value of [undefined, null, {}, { line1: null, state: '', zip: ' ', country: '' }])
      expect(parts(value)).to.deep.equal(none);
    expect(AddressParts.parse(none)).to.deep.equal(none);
  });

  it('is subject to the rules for recipients in every part that is sent', () => {
    const wrong: [string, unknown][] = [
      ['line1', 'a\nb'], ['line1', 'a'.repeat(201)], ['line2', 7], ['line2', 'a\tb'], ['city', {}], ['city', 'a'.repeat(201)], ['state', 'XX'], ['state', 1], ['zip', '1220'], ['zip', 12207],
      ['country', 'CA'], ['country', true],
    ]; // prettier-ignore
    for (const [part, value] of wrong)
      expect(parts({ [part]: value }), `${part} ${JSON.stringify(value)}`).to.deep.equal(
        refused(`address.${part}`),
      );
  });

  it('is refused unless it is an object', () => {
    for (const value of ['1 Main St', '', 7, true, [], [whole]])
      expect(parts(value), JSON.stringify(value)).to.deep.equal(refused('address'));
  });
});
