import { expect } from 'chai';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { eventually } from '../../support/time/eventually.js';
import { memberOf, type Visitor } from '../../support/http/visitor.js';

describe('the pages of contacts and of requests', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let list: string;

  before(async function () {
    this.timeout(60_000);
    service = await startTestService();
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner');
    list = `/console/${tenant.org}/contacts`;
  });
  after(() => service.stop());

  const grace = { first_name: 'Grace', last_name: 'Hopper', email: 'Grace@example.com', external_id: 'g-1' };

  it('save a contact, find it by e-mail and external id, and replace every field of it', async () => {
    const { location } = await owner.submit(list, 'make', {
      ...grace,
      company: 'Navy',
      'address.zip': '22201',
    });
    const page = location?.split('?')[0] ?? '';
    for (const q of ['grace@EXAMPLE.com', 'g-1'])
      expect((await owner.get(`${list}?q=${q}`)).text).to.include(page);
    expect((await owner.get(`${list}?q=nobody`)).text).to.include('No contact is like this');
    const changed = { first_name: 'Grace', last_name: 'B. Hopper', company: '', email: 'gh@example.com' };
    expect((await owner.submit(page, 'save', changed)).status).to.equal(303);
    const { rows } = await tenant.api('/api/v1/contacts?external_id=g-1');
    expect(rows).to.have.length(1);
    expect(rows[0]).to.deep.include({ name: 'Grace B. Hopper', company: null, email: 'gh@example.com' });
    expect(rows[0]?.['address']).to.deep.include({ zip: null });
  });

  it('refuse what was changed meanwhile, keep what was typed, and save it from the contact as it is now', async () => {
    const { id } = await tenant.api('/api/v1/contacts', { body: { name: 'Mae', external_id: 'm-1' } });
    const form = await owner.form(`${list}/${id}`, 'save');
    const remove = await owner.form(`${list}/${id}`, 'remove');
    await tenant.api('/api/v1/contacts', { body: { name: 'Mae Jemison', external_id: 'm-1' } });
    const refused = await owner.post(`${list}/${id}`, { ...form, first_name: 'Mae', phone: '1' });
    expect([
      refused.status,
      refused.text.includes('This contact was changed after you opened it'),
    ]).to.deep.equal([409, true]);
    expect(refused.text)
      .to.include(`value="${form['seen'] ?? ''}"`)
      .and.include('as it is now');
    expect((await owner.post(`${list}/${id}`, remove)).status).to.equal(409);
    const { rows } = await tenant.api('/api/v1/contacts?external_id=m-1');
    expect(rows[0]).to.deep.include({ name: 'Mae Jemison', phone: null });
    const again = { first_name: 'Mae', phone: '1' };
    expect((await owner.submit(`${list}/${id}`, 'save', again)).status).to.equal(303);
  });

  it('delete a contact: it is gone from every list, and its external id begins anew', async () => {
    const body = { name: 'Zoe', external_id: 'z-1', email: 'zoe@example.com' };
    const { id } = await tenant.api('/api/v1/contacts', { body });
    const form = await owner.form(`${list}/${id}`, 'remove');
    for (let times = 0; times < 2; times += 1)
      expect((await owner.post(`${list}/${id}`, form)).location).to.match(/\/contacts\?done=contactDeleted$/);
    expect((await owner.get(`${list}/${id}`)).status).to.equal(404);
    for (const filter of ['external_id=z-1', 'email=zoe@example.com', 'limit=200'])
      expect((await tenant.api(`/api/v1/contacts?${filter}`)).text, filter).to.not.include(id);
    expect((await owner.get(`/console/${tenant.org}/cards/new?contact=${id}`)).text).to.not.include('Zoe');
    const erasures = `/operator/v1/organizations/${tenant.org}/erasures`;
    expect((await service.operator(erasures, { body: { contacts: [id], reason: 'x' } })).status).to.equal(
      202,
    );
    const anew = await tenant.api('/api/v1/contacts', { body });
    expect([anew.status, anew.id === id]).to.deep.equal([201, false]);
    expect((await tenant.api('/api/v1/contacts?limit=1')).rows[0]?.['id']).to.equal(anew.id);
  });

  it('don’t fill an erased contact again', async () => {
    const { id } = await tenant.api('/api/v1/contacts', { body: { name: 'Eve', external_id: 'e-1' } });
    const form = await owner.form(`${list}/${id}`, 'save');
    const erased = await service.operator(`/operator/v1/organizations/${tenant.org}/erasures`, {
      body: { contacts: [id], reason: 'asked for' },
    });
    expect(erased.status, JSON.stringify(erased.body)).to.be.oneOf([200, 201, 202]);
    expect((await owner.post(`${list}/${id}`, { ...form, first_name: 'Eve' })).status).to.equal(409);
    expect((await owner.get(`${list}/${id}`)).text).to.not.include('name="do" value="save"');
  });

  it('refuse at the field, and save nothing', async () => {
    for (const [fields, name] of [
      [{ first_name: 'Ada', birthday: '13-40' }, 'birthday'],
      [{ first_name: 'Ada', work_anniversary: 'spring' }, 'work_anniversary'],
      [{ first_name: 'Ada', 'address.zip': '1' }, 'address.zip'],
    ] as const) {
      const { status, text } = await owner.submit(list, 'make', fields);
      expect([status, text.includes(`id="field-${name}-error"`)], name).to.deep.equal([422, true]);
    }
    expect((await tenant.api('/api/v1/contacts')).rows.every(({ name }) => name !== 'Ada')).to.equal(true);
  });

  it('show and change contacts of the organization alone', async () => {
    const other = await service.tenant();
    const { id } = await other.api('/api/v1/contacts', { body: { name: 'Eve' } });
    expect((await owner.get(`${list}/${id}`)).status).to.equal(404);
    const forged = { do: 'save', form: 'foreign', first_name: 'Mine' };
    expect((await owner.post(`${list}/${id}`, forged)).status).to.equal(404);
    expect((await other.api('/api/v1/contacts')).rows[0]?.['name']).to.equal('Eve');
  });

  it('say what came of a request of the organization, and of no other', async () => {
    const sent = await tenant.api('/api/v1/cards', {
      body: aCard(),
      headers: { 'idempotency-key': 'order-1' },
    });
    const refused = await tenant.api('/api/v1/cards', { body: {} });
    const look = (visitor: Visitor, { headers }: { readonly headers: Headers }, org = tenant.org) =>
      visitor.get(`/console/${org}/requests?q=${headers.get('x-request-id')}`);
    await eventually(async () => (await look(owner, refused)).text.includes('It changed nothing'));
    const { text } = await look(owner, sent);
    const keyed = 'Keyed hash of the Idempotency-Key';
    for (const told of ['POST /api/v1/cards', '201', keyed, 'CardScheduled', sent.id, 'CreditSpent'])
      expect(text).to.include(told);
    expect(text).not.to.include('order-1');
    expect((await look(owner, refused)).text).to.include('/docs/errors/invalid_recipient');
    const saved = await owner.submit(list, 'make', { first_name: 'Jo' });
    await eventually(async () => (await look(owner, saved)).text.includes('ContactCreated'));
    expect((await look(owner, saved)).text).to.include('by A owner');
    const cancelled = await owner.submit(`/cards/${sent.id}`, 'cancel');
    await eventually(async () => (await look(owner, cancelled)).text.includes('CardCancelled'));
    expect((await owner.get(`/console/${tenant.org}/requests?q=${sent.id}`)).text).to.include(
      'POST /cards/{code}',
    );
    const other = await service.tenant();
    const stranger = await memberOf(service, other.org, 'owner');
    const tried = await stranger.get(list);
    await eventually(
      async () =>
        (await service.operator(`/operator/v1/requests/${tried.headers.get('x-request-id') ?? ''}`))
          .status === 200,
    );
    expect((await look(owner, tried)).text).to.include('No such request');
    expect((await look(stranger, sent, other.org)).text).to.include('No such request');
  });
});
