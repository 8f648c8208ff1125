import { DomainError } from '../../domain/errors.js';
import { expect } from 'chai';
import {
  deleteContact,
  eraseContact,
  contact,
  contactIdOf,
  contactVariables,
  readName,
  replaceSeenContact,
  saveContact,
  type Contact,
  type ContactDetails,
  type ContactEvent,
} from '../../domain/contact.js';
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

describe('a contact', () => {
  const created: ContactEvent = { type: 'ContactCreated', data: { org, at, personal: bare } };

  it('is created once and replaced after that', () => {
    expect(saveContact(org, bare, at)(after())).to.deep.equal([created]);
    const changed: ContactDetails = { ...bare, phone: '1' };
    const replaced: ContactEvent = { type: 'ContactReplaced', data: { at: later, personal: changed } };
    expect(saveContact(org, changed, later)(after(created))).to.deep.equal([replaced]);
    expect(after(created, replaced)).to.deep.equal({
      details: changed,
      createdAt: at,
      updatedAt: later,
      erasedAt: null,
      deletedAt: null,
    });
  });

  it('is erased once, for a reason, and can be saved again', () => {
    const erased: ContactEvent = {
      type: 'ContactErased',
      data: { at: '2026-03-01T12:00:00.001Z' as Instant, reason: 'a request' },
    };
    expect(eraseContact('a request', at)(after(created))).to.deep.equal([erased]);
    expect(eraseContact('a request', at)(after(created, erased))).to.deep.equal([]);
    expect(after(created, erased)).to.deep.equal({
      details: null,
      createdAt: at,
      updatedAt: erased.data.at,
      erasedAt: erased.data.at,
      deletedAt: null,
    });
    const [again] = saveContact(org, bare, later)(after(created, erased));
    if (again === undefined) throw new Error('nothing was saved');
    expect(after(created, erased, again)).to.include({ erasedAt: null });
    expect(() => eraseContact('a request', at)(null)).to.throw(DomainError);
  });

  it('is deleted once, and nothing can be saved in its place', () => {
    const deleted: ContactEvent = {
      type: 'ContactDeleted',
      data: { at: '2026-03-01T12:00:00.001Z' as Instant },
    };
    expect(deleteContact(at, at)(after(created))).to.deep.equal([deleted]);
    expect(deleteContact(at, later)(after(created, deleted))).to.deep.equal([]);
    expect(eraseContact('a request', later)(after(created, deleted))).to.deep.equal([]);
    expect(saveContact(org, bare, later)(after(created, deleted))).to.deep.equal([]);
    expect(after(created, deleted)).to.deep.equal({
      details: null,
      createdAt: at,
      updatedAt: deleted.data.at,
      erasedAt: null,
      deletedAt: deleted.data.at,
    });
    expect(() => replaceSeenContact(org, bare, deleted.data.at, later)(after(created, deleted))).to.throw(
      'no such contact',
    );
  });

  it('is replaced and deleted by a form only as the form saw it, and stays erased', () => {
    const changed: ContactDetails = { ...bare, phone: '1' };
    const replaced: ContactEvent = { type: 'ContactReplaced', data: { at: later, personal: changed } };
    const erased: ContactEvent = { type: 'ContactErased', data: { at: later, reason: 'a request' } };
    expect(replaceSeenContact(org, changed, at, later)(after(created))).to.deep.equal([replaced]);
    const other = { ...bare, phone: '2' };
    expect(() => replaceSeenContact(org, other, at, later)(after(created, replaced))).to.throw(
      'changed after you opened it',
    );
    expect(() => deleteContact(at, later)(after(created, replaced))).to.throw('changed after you opened it');
    expect(replaceSeenContact(org, changed, at, later)(after(created, replaced))).to.deep.equal([]);
    expect(() => replaceSeenContact(org, other, later, later)(after(created, erased))).to.throw('was erased');
    expect(() => deleteContact(later, later)(after(created, erased))).to.throw('was erased');
  });

  it('moves its updated_at with every update, even if the clock stands still or goes back', () => {
    for (const now of [at, '2026-02-01T00:00:00.000Z' as Instant]) {
      expect(saveContact(org, bare, now)(after(created))).to.deep.equal([
        { type: 'ContactReplaced', data: { at: '2026-03-01T12:00:00.001Z', personal: bare } },
      ]);
    }
  });

  it('has an id derived from its organization and external_id', () => {
    expect(contactIdOf(org, 'c-1')).to.equal(contactIdOf(org, 'c-1'));
    expect(
      new Set([
        contactIdOf(org, 'c-1'),
        contactIdOf(org, 'C-1'),
        contactIdOf('org-2' as OrganizationId, 'c-1'),
        contactIdOf(org, 'c-1', 1),
      ]).size,
    ).to.equal(4);
  });

  it('has a name whose white space collapses before it is measured', () => {
    const spaced = `Ada${' \u00a0\n'.repeat(30_000)}Lovelace`;
    for (const name of [spaced, '\0Ada\0\u200b\ud800Lovelace'])
      expect(readName(name)).to.equal('Ada Lovelace');
    expect(readName(`${'a '.repeat(99)}a${' '.repeat(900)}`)).to.have.length(199);
    expect(() => readName(`${'a  '.repeat(100)}aa`)).to.throw('at most 200 characters, not 202');
  });

  it('can be read back from its stored events', () =>
    expect(contact.schemas.ContactCreated.parse(JSON.parse(JSON.stringify(created.data)))).to.deep.equal(
      created.data,
    ));
});

describe('the template variables of a contact', () => {
  const today = '2026-11-21' as LocalDate;
  const years = (workAnniversary: string | null) =>
    contactVariables({ ...bare, workAnniversary: workAnniversary as LocalDate | null }, today);

  it('are company, job title and whole years since the work anniversary', () => {
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
      ['2020-11-22', '2026-01-01', '2026-11-22', '2030-01-01', null].map((day) => years(day)['years']),
    ).to.deep.equal(['5', null, null, null, null]);
  });
});
