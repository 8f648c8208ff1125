import { expect } from 'chai';
import {
  aCard,
  clientOf,
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
} from '../support/http/service.js';

const timestamp = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}\+00:00$/;
const nowhere = '00000000-0000-4000-8000-000000000000';
const all = '/operator/v1/organizations';
const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];

describe('organizations, for the operator,', () => {
  let service: RunningService;
  let operator: Client;
  before(async () => {
    service = await startTestService();
    ({ operator } = service);
  });
  after(() => service.stop());

  const create = async (name: string): Promise<string> => (await operator(all, { body: { name } })).id;
  const change = (org: string, body: unknown): Promise<Reply> =>
    operator(`${all}/${org}`, { method: 'PATCH', body });
  const ids = ({ rows }: Reply): unknown[] => rows.map((row) => row['id']);

  it('are looked up with their balance, and with since when they are there and suspended', async () => {
    const { org } = await service.tenant({ credits: 7 });
    const shown = await operator(`${all}/${org}`);
    expect(shown.body).to.deep.include({
      id: org,
      name: 'Acme',
      house_hand: 'Everyday',
      balance: 7,
      suspended_at: null,
    });
    expect(shown.body['created_at']).to.match(timestamp);
    await change(org, { suspended: true });
    const suspended = (await operator(`${all}/${org}`)).body['suspended_at'];
    expect(suspended).to.match(timestamp);
    await change(org, { suspended: true, name: 'Acme 2' });
    expect((await operator(`${all}/${org}`)).body).to.deep.include({
      name: 'Acme 2',
      suspended_at: suspended,
    });
    await change(org, { suspended: false });
    expect((await operator(`${all}/${org}`)).body['suspended_at']).to.equal(null);
    expect(refusal(await operator(`${all}/${nowhere}`))).to.deep.equal([404, 'not_found', null]);
  });

  it('are listed newest first, in pages', async () => {
    const made: string[] = [];
    for (let at = 0; at < 3; at++) made.unshift(await create(`Listed ${at}`));
    const first = await operator(`${all}?limit=2`);
    expect([ids(first), first.body['has_more'], first.body['next_cursor']]).to.deep.equal([
      made.slice(0, 2),
      true,
      made[1],
    ]);
    const [row] = first.rows;
    const { cards, ...shown } = (await operator(`${all}/${made[0]}`)).body;
    expect(Object.values(cards as object)).to.have.length(9);
    expect(row).to.deep.equal(shown);
    expect(ids(await operator(`${all}?limit=1&starting_after=${made[1]}`))).to.deep.equal([made[2]]);
    for (const cursor of [nowhere, 'x'])
      expect(refusal(await operator(`${all}?starting_after=${cursor}`))).to.deep.equal([
        400,
        'invalid_cursor',
        'starting_after',
      ]);
  });

  it('are found by how their names begin, whatever the case, sorted by name', async () => {
    const [b, a, other] = [
      await create('Quill & Söhne B'),
      await create('quill & sÖHNE A'),
      await create('Quil'),
    ];
    const find = (name: string, query = '') =>
      operator(`${all}?name=${encodeURIComponent(name)}${query}`).then(ids);
    expect(await find('QUILL & SÖ')).to.deep.equal([a, b]);
    expect(await find('quill & söhne a')).to.deep.equal([a]);
    expect(await find('quil')).to.deep.equal([other, a, b]);
    expect(await find('quil', '&limit=1')).to.deep.equal([other]);
    expect(await find('quil', `&starting_after=${other}`)).to.deep.equal([a, b]);
    expect(await find('söhne')).to.deep.equal([]);
    expect(await find('quill%')).to.deep.equal([]);
    expect(refusal(await operator(`${all}?name=quill&starting_after=${other}`))).to.deep.equal([
      400,
      'invalid_cursor',
      'starting_after',
    ]);
    await change(b, { name: 'Renamed B' });
    expect([await find('quill'), await find('renamed b')]).to.deep.equal([[a], [b]]);
  });

  it('are renamed, and told so by their keys', async () => {
    const { org, api } = await service.tenant();
    const answer = await change(org, { name: ' Acme & Co ' });
    expect([answer.status, answer.body]).to.deep.equal([
      200,
      { id: org, name: 'Acme & Co', house_hand: 'Everyday', suspended: false },
    ]);
    const account = (await api('/api/v1/account')).body['organization'];
    expect(account).to.deep.equal({ id: org, name: 'Acme & Co' });
    for (const name of ['', 5, 'x'.repeat(201)])
      expect(refusal(await change(org, { name }))).to.deep.equal([400, 'invalid_parameter', 'name']);
    expect(refusal(await change(nowhere, { name: 'x' }))).to.deep.equal([404, 'not_found', null]);
    expect(refusal(await change(org, { suspended: 'yes' }))).to.deep.equal([
      400,
      'invalid_parameter',
      'suspended',
    ]);
  });

  it('change nothing of theirs if the house hand of the same request is refused', async () => {
    const org = await create('Kept');
    expect(
      refusal(await change(org, { name: 'Other', house_hand: 'Comic Sans', suspended: true })),
    ).to.deep.equal([422, 'unknown_handwriting', 'house_hand']);
    expect((await operator(`${all}/${org}`)).body).to.deep.include({ name: 'Kept', suspended_at: null });
  });

  describe('that are suspended', () => {
    const hookOf = async (org: string): Promise<string> => {
      const made = await operator(`${all}/${org}/hooks`, { body: { template: 'Hello {{first_name}}' } });
      return `/api/v1/hooks/${String(made.body['token'])}`;
    };

    it('get 403 for every key, after the key was checked and counted, and their cards cost nothing', async () => {
      const { org, api, withScopes, balance } = await service.tenant({ requestsPerMinute: 1_000 });
      const reader = await withScopes('cards:read');
      const before = await balance();
      expect((await change(org, { suspended: true })).body['suspended']).to.equal(true);
      const sent = await api('/api/v1/cards', { body: aCard() });
      expect(refusal(sent)).to.deep.equal([403, 'suspended', null]);
      expect(Number(sent.headers.get('x-ratelimit-remaining'))).to.be.below(1_000);
      expect(refusal(await reader('/api/v1/cards', { body: aCard() })), 'before the scope').to.deep.equal([
        403,
        'suspended',
        null,
      ]);
      for (const path of ['/api/v1/account', '/api/v1/cards', '/api/v1/contacts', '/api/v1/webhooks'])
        expect(refusal(await api(path)), path).to.deep.equal([403, 'suspended', null]);
      const unknown = await clientOf(service.baseUrl, `hck_${'0'.repeat(43)}`)('/api/v1/account');
      expect(unknown.code).to.equal('invalid_key');
      await change(org, { suspended: false });
      expect(await balance()).to.equal(before);
      expect((await api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
    });
    it('get 403 for every hook before the body is read, and the call stands in the log', async () => {
      const { org } = await service.tenant();
      const hook = await hookOf(org);
      const { recipient } = aCard() as { readonly recipient: Fields };
      await change(org, { suspended: true });
      for (const body of [recipient, '{'])
        expect(refusal(await service.anonymous(hook, { body }))).to.deep.equal([403, 'suspended', null]);
      const id = (await operator(`${all}/${org}/hooks`)).rows[0]?.['id'];
      const [call] = (await operator(`${all}/${org}/hooks/${String(id)}/calls`)).rows;
      expect(call).to.deep.include({ status: 403, code: 'suspended', card: null });
      await change(org, { suspended: false });
      expect((await service.anonymous(hook, { body: recipient })).status).to.equal(201);
    });
    it('are still served to the operator, and so are all others', async () => {
      const [stopped, other] = [await service.tenant(), await service.tenant()];
      const { id } = await stopped.api('/api/v1/cards', { body: aCard() });
      await change(stopped.org, { suspended: true });
      expect((await operator(`/operator/v1/cards/${id}/hold`, { body: { reason: 'look' } })).status).to.equal(
        200,
      );
      const paid = await operator(`${all}/${stopped.org}/credits`, { body: { amount: 1 } });
      expect(paid.status).to.equal(201);
      expect((await other.api('/api/v1/cards', { body: aCard() })).status).to.equal(201);
    });
  });

  describe('have credits that', () => {
    const at = (org: string, path = ''): string => `${all}/${org}/credits${path}`;

    it('are bought once under a reference', async () => {
      const { org, balance } = await service.tenant({ credits: 1 });
      const buy = (body: object) => operator(at(org), { body });
      for (let time = 0; time < 2; time++) {
        const bought = await buy({ amount: 9, reference: ' invoice 1 ', reason: 'March' });
        expect([bought.status, bought.body]).to.deep.equal([201, { balance: 10 }]);
      }
      expect(refusal(await buy({ amount: 8, reference: 'invoice 1' }))).to.deep.equal([
        409,
        'invalid_transition',
        'reference',
      ]);
      expect(refusal(await buy({ amount: 8, reference: 'x'.repeat(201) }))).to.deep.equal([
        400,
        'invalid_parameter',
        'reference',
      ]);
      expect((await buy({ amount: 1, reference: '' })).body).to.deep.equal({ balance: 11 });
      expect(await balance()).to.equal(11);
      const other = await service.tenant({ credits: 0 });
      expect(
        (await operator(at(other.org), { body: { amount: 8, reference: 'invoice 1' } })).status,
      ).to.equal(201);
    });
    it('leave 50 balances if they are bought 50 times at once', async () => {
      const { org } = await service.tenant({ credits: 0 });
      const bought = await Promise.all(
        Array.from({ length: 50 }, () => operator(at(org), { body: { amount: 1 } })),
      );
      expect(bought.map(({ body }) => Number(body['balance'])).toSorted((a, b) => a - b)).to.deep.equal(
        Array.from({ length: 50 }, (_, index) => index + 1),
      );
    });
    it('are withdrawn, never below 0', async () => {
      const { org, balance } = await service.tenant({ credits: 5 });
      const withdraw = (body: object) => operator(at(org, '/withdraw'), { body });
      const taken = await withdraw({ amount: 4, reason: 'refund' });
      expect([taken.status, taken.body]).to.deep.equal([201, { balance: 1 }]);
      expect(refusal(await withdraw({ amount: 2, reason: 'refund' }))).to.deep.equal([
        402,
        'no_credits',
        null,
      ]);
      expect(refusal(await withdraw({ amount: 1 }))).to.deep.equal([400, 'invalid_parameter', 'reason']);
      expect(refusal(await withdraw({ amount: 0, reason: 'x' }))).to.deep.equal([
        400,
        'invalid_parameter',
        'amount',
      ]);
      expect(await balance()).to.equal(1);
    });
    it('can be read as they are and as they were', async () => {
      const { org } = await service.tenant({ credits: 5 });
      const balance = async (query = '') => (await operator(`${at(org)}${query}`)).body;
      expect(await balance()).to.deep.equal({ object: 'credit_balance', balance: 5 });
      const past = await balance('?at=2999-01-01T00:00:00Z');
      expect([past['object'], past['balance']]).to.deep.equal(['credit_balance', 5]);
      for (const wrong of ['yesterday', '2026-13-01', '-5'])
        expect(refusal(await operator(`${at(org)}?at=${wrong}`))).to.deep.equal([
          400,
          'invalid_parameter',
          'at',
        ]);
      expect(refusal(await operator(at(nowhere)))).to.deep.equal([404, 'not_found', null]);
      expect(refusal(await operator(`${at(nowhere)}?at=2026-01-01`))).to.deep.equal([404, 'not_found', null]);
    });
    it('are accounted for line by line', async () => {
      const { org, api } = await service.tenant({ credits: 0 });
      await operator(at(org), { body: { amount: 9, reference: 'invoice 1', reason: 'March' } });
      const { id } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
      await api(`/api/v1/cards/${id}`, { method: 'DELETE' });
      const { rows } = await operator(at(org, '/movements'));
      const shown = rows.map(({ at: time, actor, ...row }) => {
        expect(time).to.match(timestamp);
        return { ...row, actor: (actor as Fields)['kind'] };
      });
      const none = { card: null, reason: null, reference: null };
      expect(shown).to.deep.equal([
        { ...none, revision: '2', kind: 'return', change: 1, balance: 9, card: id, actor: 'key' },
        { ...none, revision: '1', kind: 'spend', change: -1, balance: 8, card: id, actor: 'key' },
        {
          ...none,
          revision: '0',
          kind: 'purchase',
          change: 9,
          balance: 9,
          reason: 'March',
          reference: 'invoice 1',
          actor: 'operator',
        },
      ]);
      const page = await operator(at(org, '/movements?limit=2'));
      expect([page.rows.length, page.body['has_more'], page.body['next_cursor']]).to.deep.equal([
        2,
        true,
        '1',
      ]);
      const rest = await operator(at(org, '/movements?starting_after=1'));
      expect(rest.rows.map((row) => row['revision'])).to.deep.equal(['0']);
      expect(refusal(await operator(at(org, '/movements?starting_after=3')))).to.deep.equal([
        400,
        'invalid_cursor',
        'starting_after',
      ]);
    });
  });
});
