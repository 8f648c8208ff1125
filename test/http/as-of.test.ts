import { expect } from 'chai';
import {
  aCard,
  startTestService,
  type Client,
  type Fields,
  type Reply,
  type RunningService,
} from '../support/http/service.js';

const nowhere = '00000000-0000-4000-8000-000000000000';
const refusal = ({ status, code, param }: Reply): unknown[] => [status, code, param];

describe('what the operator is shown as of then', () => {
  let service: RunningService;
  let operator: Client;
  before(async () => {
    service = await startTestService();
    ({ operator } = service);
  });
  after(() => service.stop());

  const headOf = async (): Promise<string> =>
    String((await operator('/operator/v1/anchor')).body['position']);
  const asOf = ({ body }: Reply) => body['as_of'] as Fields;

  /** An organization with one of everything, the head of the log then, and all of it changed since. */
  const changedSince = async () => {
    const tenant = await service.tenant({ credits: 9 });
    const { org, api, keyId, design } = tenant;
    const base = `/operator/v1/organizations/${org}`;
    const { id: code } = await api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const hook = await operator(`${base}/hooks`, { body: { label: 'then' } });
    const other = await operator(`${base}/hooks`, { body: { label: 'gone' } });
    const endpoint = await api('/api/v1/webhooks', { body: { url: `https://example.com/${org}` } });
    const invite = (name: string) =>
      operator(`${base}/members`, { body: { email: `${name}@example.com`, name, role: 'viewer' } });
    await invite('then');
    const save = (name: string) =>
      api('/api/v1/contacts', { body: { name, external_id: 'c-1', email: `${name}@example.com` } });
    const contact = await save('Then');
    const head = await headOf();
    await save('Now');
    await api('/api/v1/contacts', { body: { name: 'Later' } });
    await invite('later');
    const [member] = (await operator(`${base}/members`)).rows;
    await operator(`${base}/members/${String(member?.['id'])}`, { method: 'DELETE' });
    await operator(`${base}/hooks`, { body: { label: 'later' } });
    await operator(`${base}/hooks/${hook.id}`, { method: 'PATCH', body: { paused: true, label: 'now' } });
    await operator(`${base}/hooks/${other.id}`, { method: 'DELETE' });
    await api(`/api/v1/webhooks/${endpoint.id}`, { method: 'DELETE' });
    await operator(`${base}/designs/${design}`, { method: 'DELETE' });
    await operator(`${base}/credits`, { body: { amount: 5 } });
    await operator(`/operator/v1/cards/${code}/hold`, { body: { reason: 'why' } });
    await operator(`${base}/keys/${keyId}`, { method: 'DELETE' });
    return {
      ...tenant,
      base,
      code,
      head,
      contact: contact.id,
      hook: hook.id,
      other: other.id,
      endpoint: endpoint.id,
    };
  };

  it('is what it was, on every route that takes `at`', async () => {
    const { base, code, head, contact, hook, other, endpoint, keyId, design } = await changedSince();
    const then = (path: string) => operator(`${path}?at=${head}`);
    const card = await then(`/operator/v1/cards/${code}`);
    expect([card.body['status'], asOf(card)['revision']]).to.deep.equal(['pending', '0']);
    const history = await then(`/operator/v1/cards/${code}/history`);
    expect(history.rows.map(({ type }) => type)).to.deep.equal(['CardScheduled']);
    const { at, ...place } = asOf(history);
    const [row] = history.rows;
    expect({ ...place, at }).to.deep.equal({ position: row?.['position'], revision: '0', at: row?.['at'] });

    const credits = await then(`${base}/credits`);
    expect([credits.body['balance'], (credits.body['last_movement'] as Fields)['kind']]).to.deep.equal([
      8,
      'spend',
    ]);
    expect(asOf(credits)['revision']).to.equal('1');
    const keys = await then(`${base}/keys`);
    expect(
      keys.rows.map(({ id, revoked_at: revoked, last_used_at: used }) => [id, revoked, used]),
    ).to.deep.equal([[keyId, null, null]]);
    expect(asOf(keys)['revision']).to.equal('0');
    const designs = await then(`${base}/designs`);
    expect(designs.rows.map(({ id }) => id)).to.deep.equal([design]);
    const webhooks = await then(`${base}/webhooks`);
    expect(webhooks.rows.map(({ id, active, failure_count: failed }) => [id, active, failed])).to.deep.equal([
      [endpoint, true, null],
    ]);
    const hooks = await then(`${base}/hooks`);
    expect(
      hooks.rows.map(({ id, label, paused, fire_count: fired }) => [id, label, paused, fired]),
    ).to.deep.equal([
      [other, 'gone', false, null],
      [hook, 'then', false, null],
    ]);
    const members = await then(`${base}/members`);
    expect(members.rows.map(({ email, invited }) => [email, invited])).to.deep.equal([
      ['then@example.com', true],
    ]);
    expect(asOf(members)['revision']).to.equal('0');
    const contacts = await then(`${base}/contacts`);
    expect(contacts.rows.map(({ id, name }) => [id, name])).to.deep.equal([[contact, 'Then']]);
    for (const [filter, ids] of [
      ['email=THEN@example.com', [contact]],
      ['email=now@example.com', []],
      ['external_id=c-1', [contact]],
      ['external_id=c-2', []],
    ] as const) {
      const found = await operator(`${base}/contacts?at=${head}&${filter}`);
      expect(
        found.rows.map(({ id }) => id),
        filter,
      ).to.deep.equal(ids);
    }
    const page = await operator(`${base}/hooks?at=${head}&limit=1`);
    expect([page.rows.length, page.body['next_cursor']]).to.deep.equal([1, other]);
    const rest = await operator(`${base}/hooks?at=${head}&limit=1&starting_after=${other}`);
    expect(rest.rows.map(({ id }) => id)).to.deep.equal([hook]);

    for (const path of [
      `/operator/v1/cards/${code}`,
      `${base}/credits`,
      `${base}/hooks`,
      `${base}/designs`,
      `${base}/members`,
      `${base}/contacts`,
    ]) {
      expect((await operator(path)).body, path).not.to.have.property('as_of');
      const now = await operator(`${path}?at=${await headOf()}`);
      expect(now.body['as_of'], path).to.be.an('object');
      if (!path.endsWith('hooks')) expect(now.body, path).to.deep.include((await operator(path)).body);
    }
    expect((await operator(`${base}/designs?at=2999-01-01`)).rows).to.deep.equal([]);
  });

  it('is nothing before there was anything, and is refused for a moment that is none', async () => {
    const early = await headOf();
    const { base, code } = await changedSince();
    const paths = [
      [`/operator/v1/cards/${code}`, 'card_not_found'],
      [`/operator/v1/cards/${code}/history`, 'card_not_found'],
      ...['credits', 'keys', 'designs', 'webhooks', 'hooks', 'members', 'contacts'].map((list) => [
        `${base}/${list}`,
        'not_found',
      ]),
    ];
    const beyond = (BigInt(await headOf()) + 1_000_000n).toString();
    for (const [path = '', wanted] of paths) {
      for (const at of ['0', early, '2001-01-01', '2001-01-01T00:00:00Z'])
        expect(refusal(await operator(`${path}?at=${at}`)), `${path} ${at}`).to.deep.equal([
          404,
          wanted,
          null,
        ]);
      for (const at of ['yesterday', '2026-13-01', '2026-02-30', '9999-12-31T23:59-01:00', '-1', beyond])
        expect(refusal(await operator(`${path}?at=${at}`)), `${path} ${at}`).to.deep.equal([
          400,
          'invalid_parameter',
          'at',
        ]);
    }
    for (const list of ['credits', 'keys', 'designs', 'webhooks', 'hooks', 'members', 'contacts'])
      expect(
        refusal(await operator(`/operator/v1/organizations/${nowhere}/${list}?at=2999-01-01`)),
      ).to.deep.equal([404, 'not_found', null]);
  });
});
