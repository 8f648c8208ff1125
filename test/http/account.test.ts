import { expect } from 'chai';
import { scopes } from '../../domain/api-key.js';
import { settableClock } from '../support/http/http.js';
import {
  aCard,
  clientOf,
  startTestService,
  type Reply,
  type RunningService,
} from '../support/http/service.js';

const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?\+00:00$/;

describe('account endpoints', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const keyOf = async (org: string, body: object): Promise<Reply> =>
    service.operator(`/operator/v1/organizations/${org}/keys`, { body });

  it('return the organization, label and scopes of a key', async () => {
    const { org, api } = await service.tenant();
    expect((await api('/api/v1/account')).body).to.deep.equal({
      object: 'account',
      organization: { id: org, name: 'Acme' },
      label: null,
      scopes,
    });
    const { key } = (
      await keyOf(org, { scopes: ['cards:read', 'cards:send', 'cards:read'], label: ' Checkout ' })
    ).body;
    const { body } = await clientOf(service.baseUrl, String(key))('/api/v1/account');
    expect(body).to.deep.equal({
      object: 'account',
      organization: { id: org, name: 'Acme' },
      label: 'Checkout',
      scopes: ['cards:read', 'cards:send'],
    });
  });
  it('respond to any valid key, whatever its scopes', async () => {
    const tenant = await service.tenant();
    const api = await tenant.withScopes('webhooks:manage');
    for (const path of [
      '/api/v1/account',
      '/api/v1/credits',
      '/api/v1/designs',
      '/api/v1/handwriting',
      '/v1/handwriting',
    ])
      expect((await api(path)).status, path).to.equal(200);
  });
  it('show the balance as soon as it changes', async () => {
    const { org, api } = await service.tenant({ credits: 0 });
    const balances: unknown[] = [(await api('/api/v1/credits')).body];
    await service.operator(`/operator/v1/organizations/${org}/credits`, {
      body: { amount: 2, reason: 'gift' },
    });
    balances.push((await api('/api/v1/credits')).body);
    await api('/api/v1/cards', { body: aCard() });
    balances.push((await api('/api/v1/credits')).body);
    expect(balances).to.deep.equal([0, 2, 1].map((balance) => ({ object: 'credit_balance', balance })));
  });
  it('list designs newest first, without archived ones', async () => {
    const { org, api, design } = await service.tenant();
    const base = `/operator/v1/organizations/${org}/designs`;
    const second = (await service.operator(base, { body: { name: 'Second' } })).id;
    const copy = (await service.operator(base, { body: { name: 'Mine', collection_slug: 'welcome-home' } }))
      .id;
    const gone = (await service.operator(base, { body: { name: 'Gone' } })).id;
    await service.operator(`${base}/${gone}`, { method: 'DELETE' });
    const { body, rows } = await api('/api/v1/designs');
    for (const row of rows) expect(row['created_at']).to.match(timestamp);
    const [, ...own] = rows.map((row) => row['preview_url']);
    expect(own).to.deep.equal([null, null]);
    const unknown = { created_at: undefined, preview_url: undefined };
    expect({ ...body, data: rows.map((row) => ({ ...row, ...unknown })) }).to.deep.equal({
      object: 'list',
      has_more: false,
      next_cursor: null,
      data: [
        { id: copy, object: 'design', name: 'Mine', collection_slug: 'welcome-home', ...unknown },
        { id: second, object: 'design', name: 'Second', collection_slug: null, ...unknown },
        { id: design, object: 'design', name: 'Thanks', collection_slug: null, ...unknown },
      ],
    });
  });
  it('list at least six handwritings and mark the house hand, at both paths', async () => {
    const { id } = await service.operator('/operator/v1/organizations', {
      body: { name: 'Elegant Inc', house_hand: 'eLEGANT' },
    });
    const api = clientOf(service.baseUrl, String((await keyOf(id, { scopes: ['cards:read'] })).body['key']));
    const { body, rows } = await api('/api/v1/handwriting');
    expect({ ...body, data: rows.length >= 6 }).to.deep.equal({
      object: 'list',
      has_more: false,
      next_cursor: null,
      data: true,
    });
    expect(rows.filter((row) => row['house_hand'] === true)).to.deep.equal([
      { name: 'Elegant', object: 'handwriting', house_hand: true },
    ]);
    expect((await api('/v1/handwriting')).body).to.deep.equal(body);
  });
  it('offer at least twelve collection cards', async () => {
    const { api } = await service.tenant();
    const slugs = [
      'thank-you-botanical',
      'thank-you-classic',
      'happy-birthday-balloons',
      'happy-birthday-cake',
      'congratulations-confetti',
      'welcome-home',
      'work-anniversary',
      'with-sympathy',
      'get-well-soon',
      'season-greetings-pine',
      'new-year-fireworks',
      'just-because',
    ];
    for (const slug of slugs)
      expect(
        (await api('/api/v1/cards', { body: aCard({ design_id: `card:${slug}` }) })).status,
        slug,
      ).to.equal(201);
  });
  it('refuse a revoked key at once, before its scopes are checked', async () => {
    const tenant = await service.tenant();
    const { body, id } = await keyOf(tenant.org, { scopes: ['cards:read'] });
    const api = clientOf(service.baseUrl, String(body['key']));
    expect((await api('/api/v1/cards', { body: aCard() })).code).to.equal('missing_scope');
    await service.operator(`/operator/v1/organizations/${tenant.org}/keys/${id}`, { method: 'DELETE' });
    expect([
      (await api('/api/v1/cards', { body: aCard() })).code,
      (await api('/api/v1/account')).code,
    ]).to.deep.equal(['revoked_key', 'revoked_key']);
    expect((await tenant.api('/api/v1/account')).status).to.equal(200);
  });
});

describe('the rate limit', () => {
  let service: RunningService;
  const clock = settableClock('2026-03-02T15:00:10.250Z');
  before(async () => {
    service = await startTestService({ RATE_LIMIT_PER_MINUTE: '120' }, clock);
  });
  after(() => service.stop());
  beforeEach(() => clock.set('2026-03-02T15:00:10.250Z'));

  const rate = ({ status, headers }: Reply): unknown[] => [
    status,
    ...['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`))),
  ];
  const minute = (text: string): number => Date.parse(text) / 1000;
  const end = minute('2026-03-02T15:01:00Z');

  it('allows 120 requests per key and clock minute, and says so in every response', async () => {
    const { api } = await service.tenant();
    const first = await api('/api/v1/account');
    expect(rate(first)).to.deep.equal([200, 120, 119, end]);
    for (let at = 0; at < 118; at++) await api('/api/v1/account');
    expect(rate(await api('/api/v1/account'))).to.deep.equal([200, 120, 0, end]);
    const refused = await api('/api/v1/account');
    expect([...rate(refused), refused.code, refused.headers.get('retry-after')]).to.deep.equal([
      429,
      120,
      0,
      end,
      'rate_limited',
      '50',
    ]);
    clock.set('2026-03-02T15:00:59.999Z');
    const still = await api('/api/v1/account');
    expect([...rate(still), still.headers.get('retry-after')]).to.deep.equal([429, 120, 0, end, '1']);
    clock.set('2026-03-02T15:01:00.000Z');
    expect(rate(await api('/api/v1/account'))).to.deep.equal([200, 120, 119, minute('2026-03-02T15:02:00Z')]);
  });
  it('is set and counted per key, and a send over it creates no card', async () => {
    const tenant = await service.tenant({ requestsPerMinute: 2, credits: 5 });
    const other = await tenant.withScopes('cards:read');
    expect(rate(await tenant.api('/api/v1/cards', { body: aCard() }))).to.deep.equal([201, 2, 1, end]);
    expect(rate(await tenant.api('/api/v1/cards', { body: aCard() }))).to.deep.equal([201, 2, 0, end]);
    const refused = await tenant.api('/api/v1/cards', { body: aCard() });
    expect([...rate(refused), refused.code]).to.deep.equal([429, 2, 0, end, 'rate_limited']);
    expect(refused.body)
      .to.have.nested.property('error.message')
      .that.matches(/Retry-After/);
    expect(rate(await other('/api/v1/cards'))).to.deep.equal([200, 120, 119, end]);
    expect((await other('/api/v1/credits')).body['balance']).to.equal(3);
  });
  it('counts refusals, replays and HEAD, but not 404 not_found, 405 or OPTIONS', async () => {
    const { api } = await service.tenant({ requestsPerMinute: 10 });
    const headers = { 'idempotency-key': 'same' };
    const remaining: unknown[] = [];
    const ask = async (...call: Parameters<typeof api>) =>
      remaining.push(Number((await api(...call)).headers.get('x-ratelimit-remaining')));
    await ask('/api/v1/cards', { body: aCard(), headers });
    await ask('/api/v1/cards', { body: aCard(), headers });
    await ask('/api/v1/cards', { body: '{' });
    await ask('/api/v1/cards/HC-0000000');
    await ask('/api/v1/account', { method: 'HEAD' });
    await ask('/api/v1/nothing');
    await ask('/api/v1/cards', { method: 'PUT' });
    await ask('/api/v1/cards', { method: 'OPTIONS' });
    await ask('/api/v1/account');
    expect(remaining).to.deep.equal([9, 8, 7, 6, 5, 120, 120, 120, 4]);
  });
  it('is in the headers of responses without a key, with all requests remaining', async () => {
    for (const path of ['/api/v1/account', '/healthz', '/nothing', '/docs', '/api/v1/hooks/x'])
      expect(rate(await service.anonymous(path)).slice(1), path).to.deep.equal([120, 120, end]);
    expect(rate(await service.operator('/operator/v1/anchor'))).to.deep.equal([200, 120, 120, end]);
  });
  it('counts exactly, however many requests come at once', async () => {
    const { api } = await service.tenant({ requestsPerMinute: 30 });
    const statuses = (await Promise.all(Array.from({ length: 60 }, () => api('/api/v1/account')))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 200).length).to.equal(30);
    expect(statuses.filter((status) => status === 429).length).to.equal(30);
  });
  it('throttles wrong keys from one address after 300 attempts, while a right key works', async () => {
    clock.set('2026-03-02T16:00:10.250Z');
    const { api } = await service.tenant();
    const wrong = clientOf(service.baseUrl, `hck_${'x'.repeat(43)}`);
    const codes = new Map<string, number>();
    for (let round = 0; round < 31; round++)
      for (const { code } of await Promise.all(
        Array.from({ length: 10 }, () =>
          wrong('/api/v1/account', { headers: { 'x-forwarded-for': `10.0.0.${round}` } }),
        ),
      ))
        codes.set(String(code), (codes.get(String(code)) ?? 0) + 1);
    expect(Object.fromEntries(codes)).to.deep.equal({ invalid_key: 300, rate_limited: 10 });
    const refused = await service.anonymous('/api/v1/account');
    expect([refused.status, refused.code, refused.headers.get('retry-after')]).to.deep.equal([
      429,
      'rate_limited',
      '50',
    ]);
    expect([
      (await api('/api/v1/account')).status,
      (await service.operator('/operator/v1/anchor')).status,
    ]).to.deep.equal([200, 200]);
    clock.set('2026-03-02T16:01:00.000Z');
    expect((await wrong('/api/v1/account')).code).to.equal('invalid_key');
  });
});
