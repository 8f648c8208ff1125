import { expect } from 'chai';
import fc from 'fast-check';
import {
  contact,
  contactIdOf,
  contactVariables,
  foldEmail,
  parseContact,
  saveContact,
  type Contact,
  type ContactDetails,
  type ContactEvent,
} from '../../domain/contact.js';
import { DomainError } from '../../domain/errors.js';
import type { Instant, LocalDate, OrganizationId } from '../../domain/ids.js';

const org = 'org-1' as OrganizationId;
const at = '2026-03-01T12:00:00.000Z' as Instant;
const later = '2026-03-01T12:00:05.000Z' as Instant;

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

const after = (...events: readonly ContactEvent[]): Contact => events.reduce(contact.evolve, contact.initial);

const refusalOf = (body: Record<string, unknown>): { code: string; param: string | null } | null => {
  try {
    parseContact(body);
    return null;
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, param: error.param };
    throw error;
  }
};

describe('a contact', () => {
  const created: ContactEvent = { type: 'ContactCreated', data: { org, at, personal: bare } };

  it('is created once and replaced after that', () => {
    expect(saveContact(org, bare, at)(after())).to.deep.equal([created]);
    const changed: ContactDetails = { ...bare, phone: '1' };
    const replaced: ContactEvent = { type: 'ContactReplaced', data: { at: later, personal: changed } };
    expect(saveContact(org, changed, later)(after(created))).to.deep.equal([replaced]);
    expect(after(created, replaced)).to.deep.equal({ details: changed, createdAt: at, updatedAt: later });
  });

  it('moves its updated_at with every update, even on a clock that stands still or goes back', () => {
    for (const now of [at, '2026-02-01T00:00:00.000Z' as Instant]) {
      expect(saveContact(org, bare, now)(after(created))).to.deep.equal([
        { type: 'ContactReplaced', data: { at: '2026-03-01T12:00:00.001Z', personal: bare } },
      ]);
    }
  });

  it('has an id of its organization and external_id', () => {
    expect(contactIdOf(org, 'c-1')).to.equal(contactIdOf(org, 'c-1'));
    expect(
      new Set([
        contactIdOf(org, 'c-1'),
        contactIdOf(org, 'C-1'),
        contactIdOf('org-2' as OrganizationId, 'c-1'),
      ]).size,
    ).to.equal(3);
  });

  it('survives its events as they are stored', () =>
    expect(contact.schemas.ContactCreated.parse(JSON.parse(JSON.stringify(created.data)))).to.deep.equal(
      created.data,
    ));
});

describe('the record of a contact', () => {
  it('has every field', () =>
    expect(
      parseContact({
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
      email: 'Ann@X.de',
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

  it('has null for what is left out, null or blank', () => {
    expect(parseContact({ name: 'Ann' })).to.deep.equal(bare);
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
    expect(parseContact({ name: 'Ann', ...blank, address: null })).to.deep.equal(bare);
    expect(parseContact({ name: 'Ann', address: {} })).to.deep.equal(bare);
    expect(
      parseContact({ name: 'Ann', ...Object.fromEntries(Object.keys(blank).map((field) => [field, null])) }),
    ).to.deep.equal(bare);
  });

  it('keeps no birth year', () => {
    expect(parseContact({ name: 'Ann', birthday: '1987-12-31' }).birthday).to.equal('12-31');
    expect(parseContact({ name: 'Ann', birthday: '02-29' }).birthday).to.equal('02-29');
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

  it('refuses a bad work anniversary', () => {
    for (const work_anniversary of ['2023-02-29', '02-28', '2020-1-1', 5, {}, true]) {
      expect(refusalOf({ name: 'Ann', work_anniversary })).to.deep.equal({
        code: 'invalid_date',
        param: 'work_anniversary',
      });
    }
  });

  const names = (body: Record<string, unknown>) => {
    const { name, firstName, lastName } = parseContact(body);
    return [name, firstName, lastName];
  };

  it('composes and takes apart names, and collapses white space', () => {
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

  it('needs a name', () => {
    for (const body of [
      {},
      { name: ' ' },
      { name: '', first_name: '', last_name: ' ' },
      { name: null },
      { name: '\u200b' },
    ]) {
      expect(refusalOf(body)).to.deep.equal({ code: 'missing_name', param: 'name' });
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

  it('takes an external_id of 255 characters, case-sensitive, numbers too', () => {
    expect(parseContact({ name: 'Ann', external_id: 42 }).externalId).to.equal('42');
    expect(parseContact({ name: 'Ann', external_id: '😀'.repeat(255) }).externalId).to.equal(
      '😀'.repeat(255),
    );
    expect(parseContact({ name: 'Ann', external_id: ` ${'A'.repeat(255)} ` }).externalId).to.equal(
      'A'.repeat(255),
    );
    for (const external_id of ['x'.repeat(256), {}, [], true, Infinity]) {
      expect(refusalOf({ name: 'Ann', external_id })).to.deep.equal({
        code: 'invalid_parameter',
        param: 'external_id',
      });
    }
  });

  it('refuses values of the wrong type, each with its field', () => {
    for (const field of ['company', 'job_title', 'email', 'phone']) {
      for (const value of [5, true, {}, []])
        expect(refusalOf({ name: 'Ann', [field]: value })).to.deep.equal({
          code: 'invalid_parameter',
          param: field,
        });
    }
  });

  it('checks the shape of every part of the address', () => {
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

  it('reads own properties only', () =>
    expect(refusalOf(Object.create({ name: 'Eve' }))).to.deep.equal({ code: 'missing_name', param: 'name' }));

  it('is the same record when its own fields are sent again', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.option(fc.string({ unit: 'grapheme' })),
        (first, last) => {
          if (refusalOf({ first_name: first, last_name: last }) !== null) return;
          const once = parseContact({ first_name: first, last_name: last });
          expect(parseContact({ first_name: once.firstName, last_name: once.lastName })).to.deep.equal(once);
        },
      ),
    ));
});

describe('what a contact lends to a template', () => {
  const today = '2026-11-21' as LocalDate;
  const years = (workAnniversary: string | null) =>
    contactVariables({ ...bare, workAnniversary: workAnniversary as LocalDate | null }, today);

  it('is company, job title and whole years', () => {
    expect(
      contactVariables(
        { ...bare, company: 'Acme', jobTitle: 'CTO', workAnniversary: '2020-11-21' as LocalDate },
        today,
      ),
    ).to.deep.equal({
      company: 'Acme',
      job_title: 'CTO',
      years: '6',
    });
    expect(
      [years('2020-11-22'), years('2026-01-01'), years(null)].map((each) => each['years']),
    ).to.deep.equal(['5', '0', null]);
  });
});

describe('an e-mail address', () => {
  it('is compared lower-cased and trimmed', () =>
    expect(foldEmail(' Ann@Example.COM ')).to.equal('ann@example.com'));
});
