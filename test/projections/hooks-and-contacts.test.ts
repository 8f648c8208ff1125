import { expect } from 'chai';
import type { DomainEvent } from '../../domain/events.js';
import type { StreamName, Uuid } from '../../domain/ids.js';
import { contacts } from '../../projections/contacts.js';
import { hooks } from '../../projections/hooks.js';
import type { Projection } from '../../projections/projection.js';
import { at, logged, org } from '../support/fixtures/logged-event.js';

const fold = <Document>(
  projection: Projection<Document>,
  stream: string,
  ...events: readonly DomainEvent[]
): Document | null =>
  events
    .map((event, revision) => logged(stream as StreamName, event, revision))
    .reduce((document, event) => projection.evolve(document, event), null as Document | null);

describe('the hooks of an organization', () => {
  const created = {
    type: 'HookCreated',
    data: { org, label: 'Shop', design: null, template: 'Hi', signedBy: null },
  };
  const document = {
    id: 'h-1' as Uuid,
    org,
    label: 'Shop',
    design: null,
    template: 'Hi',
    signedBy: null,
    createdAt: at,
    paused: false,
    deleted: false,
  };
  const event = (type: string) => ({ type, data: {} });

  it('are listed with their settings', () => {
    expect(fold(hooks, 'hook-h-1', created)).to.deep.equal(document);
    expect(hooks.key(logged('hook-h-1' as StreamName, created, 0))).to.equal('h-1');
    expect(hooks.org(document)).to.equal(org);
    expect(hooks.indexes['listed']?.(document)).to.equal('yes');
  });

  it('are paused and resumed, and leave the list when they are deleted', () => {
    expect(fold(hooks, 'hook-h-1', created, event('HookPaused'))).to.deep.equal({
      ...document,
      paused: true,
    });
    expect(fold(hooks, 'hook-h-1', created, event('HookPaused'), event('HookResumed'))).to.deep.equal(
      document,
    );
    const deleted = { ...document, deleted: true };
    expect(fold(hooks, 'hook-h-1', created, event('HookDeleted'))).to.deep.equal(deleted);
    expect(hooks.indexes['listed']?.(deleted)).to.equal(null);
  });
});

describe('the contacts of an organization', () => {
  const address = { line1: null, line2: null, city: null, state: null, zip: null, country: 'US' as const };
  const details = {
    externalId: 'c-1',
    name: 'Ann',
    firstName: 'Ann',
    lastName: null,
    company: null,
    jobTitle: null,
    email: ' Ann@X.de',
    phone: '1',
    address,
    birthday: null,
    workAnniversary: null,
  };
  const created = { type: 'ContactCreated', data: { org, at, personal: details } };
  const replaced = {
    type: 'ContactReplaced',
    data: { at: '2026-03-02T12:00:00.000Z', personal: { ...details, email: null, phone: null } },
  };

  it('are found by lower-cased email and by external_id', () => {
    const document = fold(contacts, 'contact-k-1', created);
    if (document === null) throw new Error('no document');
    expect(document).to.deep.equal({
      id: 'k-1',
      org,
      details,
      createdAt: at,
      updatedAt: at,
      erasedAt: null,
      deletedAt: null,
    });
    expect(contacts.org(document)).to.equal(org);
    expect([
      contacts.indexes['email']?.(document),
      contacts.indexes['external_id']?.(document),
    ]).to.deep.equal(['ann@x.de', 'c-1']);
  });

  it('are replaced as a whole, and keep the time of their creation', () => {
    const document = fold(contacts, 'contact-k-1', created, replaced);
    if (document === null) throw new Error('no document');
    expect(document).to.deep.equal({
      id: 'k-1',
      org,
      details: replaced.data.personal,
      createdAt: at,
      updatedAt: '2026-03-02T12:00:00.000Z',
      erasedAt: null,
      deletedAt: null,
    });
    expect(contacts.indexes['email']?.(document)).to.equal(null);
  });

  it('leave every list when they are deleted', () => {
    const deleted = { type: 'ContactDeleted', data: { at: '2026-03-02T12:00:00.000Z' } };
    const document = fold(contacts, 'contact-k-1', created, deleted);
    if (document === null) throw new Error('no document');
    expect(document).to.deep.include({ details: null, deletedAt: '2026-03-02T12:00:00.000Z' });
    expect(contacts.org(document)).to.equal(null);
    expect(Object.values(contacts.indexes).map((of) => of(document))).to.deep.equal([null, null]);
  });
});
