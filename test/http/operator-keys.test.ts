import { expect } from 'chai';
import { house } from '../../domain/members.js';
import { settableClock } from '../support/http/http.js';
import { memberOf, password, pathOf, Visitor } from '../support/http/visitor.js';
import {
  aCard,
  clientOf,
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
  type Send,
} from '../support/http/service.js';

const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];
const base = '/operator/v1/keys';

describe('the keys of operators', () => {
  let service: RunningService;
  let root: Client;
  const clock = settableClock(new Date().toISOString());
  before(async () => {
    service = await startTestService({}, clock);
    root = service.operator;
  });
  after(() => service.stop());

  const create = async (body: object) => {
    const made = await root(base, { body });
    return { ...made.body, client: clientOf(service.baseUrl, String(made.body['key'])), id: made.id };
  };

  it('are made by the operator token alone, shown once, and listed', async () => {
    const made = await root(base, {
      body: { scopes: ['operator:floor', 'operator:floor'], label: 'Ada', expires_at: '2999-01-01' },
    });
    expect(made.status).to.equal(201);
    expect(made.body['key']).to.match(/^hco_[\w-]{43}$/);
    expect(made.body).to.deep.include({
      scopes: ['operator:floor'],
      label: 'Ada',
      expires_at: '2999-01-01T00:00:00.000+00:00',
    });
    const { rows, text } = await root(base);
    expect(rows[0]).to.deep.include({
      id: made.id,
      label: 'Ada',
      scopes: ['operator:floor'],
      revoked_at: null,
    });
    expect(rows[0]?.['expires_at']).to.equal('2999-01-01T00:00:00.000+00:00');
    expect(text).not.to.include(String(made.body['key']));
    const everything = await create({ scopes: ['operator:office', 'operator:audit'] });
    expect(refusal(await everything.client(base, { body: { scopes: ['operator:audit'] } }))).to.deep.equal([
      403,
      'missing_scope',
      null,
    ]);
    for (const [body, param] of [
      [{ scopes: [] }, 'scopes'],
      [{ scopes: ['cards:read'] }, 'scopes'],
      [{ scopes: ['operator:audit'], expires_at: '2001-01-01' }, 'expires_at'],
      [{ scopes: ['operator:audit'], expires_at: 'soon' }, 'expires_at'],
      [{ scopes: ['operator:audit'], expires_at: '2999-02-29' }, 'expires_at'],
    ] as const)
      expect(refusal(await root(base, { body }))).to.deep.equal([400, 'invalid_parameter', param]);
  });

  it('say in every event who it was, and in a history what they were called', async () => {
    const { client, id } = await create({
      scopes: ['operator:floor', 'operator:audit'],
      label: 'Ada, floor',
    });
    const { api, org } = await service.tenant();
    const hook = await root(`/operator/v1/organizations/${org}/hooks`, { body: { label: 'before' } });
    const recipient = { name: 'Ann Lee', line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };
    const fired = await service.anonymous(`/api/v1/hooks/${String(hook.body['token'])}`, {
      body: { ...recipient, message: 'Hello', arrive_on: '2099-01-01' },
    });
    await root(`/operator/v1/organizations/${org}/hooks/${hook.id}`, {
      method: 'PATCH',
      body: { label: 'after' },
    });
    await client(`/operator/v1/cards/${fired.id}/hold`, { body: { reason: 'why' } });
    await root(`/operator/v1/cards/${fired.id}/cancel`, { method: 'POST' });
    const { rows } = await client(`/operator/v1/cards/${fired.id}/history`);
    expect(rows.map(({ actor }) => actor)).to.deep.equal([
      { kind: 'hook', id: hook.id, label: 'before' },
      { kind: 'operator', id, label: 'Ada, floor' },
      { kind: 'operator', id: 'root', label: null },
    ]);
    expect(rows.map(({ request_id: request }) => String(request).slice(0, 4))).to.deep.equal([
      'req_',
      'req_',
      'req_',
    ]);
    expect((await api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
  });

  it('see no personal data in the feed without an audit', async () => {
    const { api } = await service.tenant();
    const { id: code } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const feed = async (scope: string) => {
      const { client } = await create({ scopes: [scope] });
      return client(`/operator/v1/events?stream=card-${code}&until=head`, {
        headers: { accept: 'application/jsonl' },
      });
    };
    expect((await feed('operator:events')).text).not.to.include('Ada');
    expect((await feed('operator:audit')).text).to.include('Ada Lovelace');
    expect(refusal(await feed('operator:office'))).to.deep.equal([403, 'missing_scope', null]);
  });

  it('manage the members of customers, but neither the staff nor the passwords of the staff', async () => {
    const { client: office } = await create({ scopes: ['operator:office', 'operator:audit'] });
    const { org } = await service.tenant();
    const membersOf = (where: string) => `/operator/v1/organizations/${where}/members`;
    const invited = { email: 'ada@example.com', name: 'Ada' };
    expect((await office(membersOf(org), { body: { ...invited, role: 'owner' } })).status).to.equal(201);
    await memberOf(service, org, 'viewer', 'bo@example.com');
    const { body: toHouse } = await root(membersOf(house), {
      body: { email: 'bo@example.com', name: 'Bo', role: 'floor' },
    });
    const bo = new Visitor(service);
    await bo.submit(pathOf(toHouse['url']), 'joinWith', { current: password });
    await memberOf(service, org, 'viewer', 'cy@example.com');
    const idOf = async (where: string, email: string) =>
      String((await root(membersOf(where))).rows.find((row) => row['email'] === email)?.['id']);
    const staff = `${membersOf(house)}/${await idOf(house, 'bo@example.com')}`;
    const head = async () => (await root('/operator/v1/anchor')).body['position'];
    const before = await head();
    const tries: readonly [string, Send][] = [
      [membersOf(house), { body: { ...invited, role: 'operator' } }],
      [staff, { method: 'PATCH', body: { role: 'operator' } }],
      [staff, { method: 'DELETE' }],
      [`${staff}/reset`, { method: 'POST' }],
      [`${membersOf(org)}/${await idOf(org, 'bo@example.com')}/reset`, { method: 'POST' }],
    ];
    for (const [path, send] of tries)
      expect(refusal(await office(path, send)), path).to.deep.equal([403, 'missing_scope', null]);
    expect(await head()).to.equal(before);
    const customer = `${membersOf(org)}/${await idOf(org, 'cy@example.com')}/reset`;
    expect((await office(customer, { method: 'POST' })).status).to.equal(201);
    expect((await root(`${staff}/reset`, { method: 'POST' })).status).to.equal(201);
  });

  it('are neither listed nor revoked as keys of an organization', async () => {
    const { client: office } = await create({ scopes: ['operator:office', 'operator:audit'] });
    const { client: other, id } = await create({ scopes: ['operator:audit'] });
    const keys = `/operator/v1/organizations/${house}/keys`;
    for (const [path, send] of [
      [`${keys}/${id}`, { method: 'DELETE' }],
      [keys, {}],
      [keys, { body: { scopes: ['cards:read'] } }],
    ] as const)
      expect(refusal(await office(path, send)), path).to.deep.equal([404, 'not_found', null]);
    expect((await other(base)).status).to.equal(200);
  });

  it('stop working at the moment when they expire', async () => {
    const begins = clock.now();
    const expires = new Date(begins + 3_600_000).toISOString();
    const { client } = await create({ scopes: ['operator:office'], expires_at: expires });
    const orgs = '/operator/v1/organizations';
    clock.set(new Date(begins + 3_599_000).toISOString());
    expect((await client(orgs)).status).to.equal(200);
    clock.set(expires);
    expect(refusal(await client(orgs))).to.deep.equal([401, 'revoked_key', null]);
    const { rows } = await root(base);
    expect(rows[0]).to.deep.include({ revoked_at: null });
    expect(new Date(String(rows[0]?.['expires_at'])).toISOString()).to.equal(expires);
  });

  it('stop working when they are revoked, and are nothing to the public API', async () => {
    const { client, id, ...made } = await create({ scopes: ['operator:office'] });
    const orgs = '/operator/v1/organizations';
    expect((await client(orgs)).status).to.equal(200);
    const { key } = made as unknown as Fields;
    expect(refusal(await clientOf(service.baseUrl, String(key))('/api/v1/account'))).to.deep.equal([
      401,
      'malformed_key',
      null,
    ]);
    const revoked = await root(`${base}/${id}`, { method: 'DELETE' });
    expect([revoked.status, revoked.body]).to.deep.equal([200, { id, revoked: true }]);
    expect(refusal(await client(orgs))).to.deep.equal([401, 'revoked_key', null]);
    const { keyId, key: own } = await service.tenant();
    expect(refusal(await root(`${base}/${keyId}`, { method: 'DELETE' }))).to.deep.equal([
      404,
      'not_found',
      null,
    ]);
    expect(refusal(await clientOf(service.baseUrl, own)(orgs))).to.deep.equal([401, 'invalid_key', null]);
    const unknown = clientOf(service.baseUrl, `hco_${'0'.repeat(43)}`);
    for (let guess = 0; guess < 12; guess++)
      expect(refusal(await unknown(orgs))).to.deep.equal([401, 'invalid_key', null]);
    expect((await root(orgs)).status).to.equal(200);
  });
});
