import { expect } from 'chai';
import { createHmac } from 'node:crypto';
import { SystemClock } from '../../adapters/system/clock.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

describe('the owner of an endpoint', () => {
  let service: RunningService;
  let tenant: Tenant;
  let receiver: Receiver;
  let endpoint: string;
  let secret: string;

  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '40ms', WEBHOOK_DISABLE_AFTER: '2' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
  });
  after(() => service.stop());
  beforeEach(async () => {
    receiver = await startReceiver();
    tenant = await service.tenant();
    const made = await tenant.api('/api/v1/webhooks', {
      body: { url: receiver.url, description: 'CRM', events: ['card.created'] },
    });
    [endpoint, secret] = [made.id, String(made.body['signing_secret'])];
  });
  afterEach(() => receiver.close());

  const own = (path: string, send: object = {}): Promise<Reply> => tenant.api(`/api/v1/${path}`, send);
  const office = (path: string): Promise<Reply> =>
    service.operator(`/operator/v1/organizations/${tenant.org}/${path}`);
  const send = async () => (await own('cards', { body: aCard() })).id;
  const patch = (body: object) => own(`webhooks/${endpoint}`, { method: 'PATCH', body });
  const post = (path: string, body?: object) => own(path, { method: 'POST', ...(body && { body }) });
  const delivered = (count: number) => () => receiver.received.length === count;

  it('looks it up as in the list, and by an id in any case', async () => {
    const [listed] = (await own('webhooks')).rows;
    for (const id of [endpoint, endpoint.toUpperCase()]) {
      const { status, body } = await own(`webhooks/${id}`);
      expect([status, body]).to.deep.equal([200, listed]);
    }
    for (const id of ['nothing', '00000000-0000-4000-8000-000000000000', '%20', '%zz'])
      expect((await own(`webhooks/${id}`)).code, id).to.equal('not_found');
  });

  it('changes subscription and description, each on its own, from the next event on', async () => {
    const before = (await own(`webhooks/${endpoint}`)).body;
    expect((await patch({ events: ['card.mailed', 'card.mailed'] })).body).to.deep.equal({
      ...before,
      events: ['card.mailed'],
    });
    await send();
    expect((await patch({ description: ' Shop ', events: null })).body).to.deep.equal({
      ...before,
      events: ['card.mailed'],
      description: 'Shop',
    });
    expect((await patch({ description: '', events: [] })).body).to.deep.equal({
      ...before,
      events: [],
      description: null,
    });
    const { position } = (await service.operator('/operator/v1/anchor')).body;
    expect((await patch({ events: [] })).status).to.equal(200);
    expect((await service.operator('/operator/v1/anchor')).body['position']).to.equal(position);
    const card = await send();
    await eventually(delivered(1));
    expect(receiver.received[0]?.body).to.include(card);
    expect((await own('deliveries')).rows.map((row) => row['card'])).to.deep.equal([card]);
  });

  it('gets refusals that name the field', async () => {
    const said = ({ status, code, param }: Reply) => [status, code, param];
    expect(said(await patch({ events: ['card.maild'] }))).to.deep.equal([422, 'invalid_events', 'events']);
    expect(said(await patch({ description: 'x'.repeat(256) }))).to.deep.equal([
      400,
      'invalid_parameter',
      'description',
    ]);
    expect(said(await patch({ description: 5 }))).to.deep.equal([400, 'invalid_parameter', 'description']);
    expect(said(await post(`webhooks/${endpoint}/replay`, { from: 'yesterday' }))).to.deep.equal([
      400,
      'invalid_parameter',
      'from',
    ]);
    expect((await patch({ url: 'https://example.com/' })).headers.get('x-ignored-fields')).to.equal('url');
  });

  it('sends a test event, rotates the secret, and gets both signatures', async () => {
    const tested = await post(`webhooks/${endpoint}/test`);
    expect([tested.status, tested.body['http_status'], tested.body['error']]).to.deep.equal([200, 200, null]);
    const rotated = await post(`webhooks/${endpoint}/rotate`);
    const fresh = String(rotated.body['signing_secret']);
    expect(fresh).to.match(/^whsec_/);
    await send();
    await eventually(delivered(2));
    const [, last] = receiver.received;
    const [, t, ...signed] =
      /^t=(\d+),v1=(\w+),v1=(\w+)$/.exec(String(last?.headers['service-signature'])) ?? [];
    const sign = (key: string) => createHmac('sha256', key).update(`${t}.${last?.body}`).digest('hex');
    expect(signed).to.deep.equal([sign(fresh), sign(secret)]);
  });

  it('sees, filters and retries deliveries as the operator does, and enables and replays', async () => {
    receiver.answer = 500;
    const card = await send();
    await eventually(async () => (await own(`webhooks/${endpoint}`)).body['active'] === false);
    const { rows } = await own(`deliveries?card=${card.toLowerCase()}&status=exhausted&limit=1`);
    expect(rows).to.deep.equal((await office('deliveries')).rows);
    expect(rows[0]).to.deep.include({ endpoint, type: 'card.created', card });
    const id = String(rows[0]?.['id']);
    receiver.answer = 200;
    expect((await post(`webhooks/${endpoint}/enable`)).body).to.deep.include({
      active: true,
      consecutive_failures: 0,
    });
    const retried = await post(`deliveries/${id}/retry`);
    expect([retried.status, retried.body]).to.deep.equal([202, { id }]);
    await eventually(async () => (await own('deliveries?status=delivered')).rows.length === 1);
    expect((await post(`deliveries/${id}/retry`)).code).to.equal('invalid_transition');
    expect((await post('deliveries/dlv_none/retry')).code).to.equal('not_found');
    const replayed = await post(`webhooks/${endpoint}/replay`, { from: '2020-01-01' });
    expect([replayed.status, replayed.body]).to.deep.equal([202, { deliveries: 0 }]);
    expect((await own('deliveries?starting_after=nonsense')).code).to.equal('invalid_cursor');
    for (const get of [own, office]) {
      expect((await get('deliveries?type=card.held')).rows).to.deep.equal([]);
      const { code, param } = await get('deliveries?type=card.delivered');
      expect([code, param]).to.deep.equal(['invalid_parameter', 'type']);
    }
  });

  it('follows deliveries and attempts as they happen, until its key is revoked', async () => {
    const made = await service.operator(`/operator/v1/organizations/${tenant.org}/keys`, {
      body: { scopes: ['webhooks:manage'] },
    });
    const response = await fetch(`${service.baseUrl}/api/v1/deliveries/stream`, {
      headers: { authorization: `Bearer ${String(made.body['key'])}` },
    });
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const card = await send();
    let seen = '';
    for await (const chunk of response.body ?? []) {
      const isFirst = !seen.includes('event: attempt');
      seen += Buffer.from(chunk).toString();
      if (isFirst && seen.includes('event: attempt'))
        await service.operator(`/operator/v1/organizations/${tenant.org}/keys/${made.id}`, {
          method: 'DELETE',
        });
    }
    expect(seen).to.match(/event: delivery\ndata: .*"change":"made".*"service-signature"/);
    const changes = [...seen.matchAll(/^data: (.*)$/gm)].map(
      ([, data]) => JSON.parse(String(data)) as Fields,
    );
    expect(new Set(changes.map(({ delivery }) => (delivery as Fields)['card']))).to.deep.equal(
      new Set([card]),
    );
  });

  it('needs the scope webhooks:manage for all of it', async () => {
    const other = await tenant.withScopes('cards:send', 'cards:read', 'contacts:read', 'contacts:write');
    const asks: readonly (readonly [string, string])[] = [
      ['GET', `webhooks/${endpoint}`],
      ['PATCH', `webhooks/${endpoint}`],
      ...['test', 'enable', 'rotate', 'replay'].map(
        (verb) => ['POST', `webhooks/${endpoint}/${verb}`] as const,
      ),
      ['GET', 'deliveries'],
      ['GET', 'deliveries/stream'],
      ['POST', 'deliveries/dlv_1/retry'],
    ];
    for (const [method, path] of asks)
      expect(
        (await other(`/api/v1/${path}`, { method, ...(method === 'PATCH' && { body: {} }) })).code,
        path,
      ).to.equal('missing_scope');
  });
});
