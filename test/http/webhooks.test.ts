import { expect } from 'chai';
import { createHmac } from 'node:crypto';
import { SystemClock } from '../../adapters/system/clock.js';
import { eventually } from '../support/time/eventually.js';
import {
  authority,
  receiverSettings,
  startReceiver,
  type Answer,
  type Receiver,
} from '../support/http/receiver.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe('webhooks over HTTP', () => {
  let service: RunningService;
  const receivers: Receiver[] = [];
  const logged: string[] = [];
  before(async () => {
    const settings = {
      ...receiverSettings,
      WEBHOOK_BACKOFF: '40ms,40ms',
      WEBHOOK_DISABLE_AFTER: '5',
      WEBHOOK_TIMEOUT: '2s',
    };
    service = await startTestService(settings, new SystemClock(), [authority.cert], {}, undefined, logged);
  });
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) await receiver.close();
  });
  after(() => service.stop());

  const receiverWith = async (answer: Answer = 200): Promise<Receiver> => {
    const receiver = await startReceiver(answer);
    receivers.push(receiver);
    return receiver;
  };
  const register = (tenant: Tenant, url: unknown, more: object = {}) =>
    tenant.api('/api/v1/webhooks', { body: { url, ...more } });
  const send = async (tenant: Tenant, changes: object = {}) => {
    const reply = await tenant.api('/api/v1/cards', { body: aCard(changes) });
    expect(reply.status).to.equal(201);
    return reply;
  };
  const operate = (tenant: Tenant, path: string, more: object = {}): Promise<Reply> =>
    service.operator(`/operator/v1/organizations/${tenant.org}/${path}`, more);
  const deliveriesOf = async (tenant: Tenant, query = ''): Promise<readonly Fields[]> =>
    (await operate(tenant, `deliveries${query}`)).rows;
  const statusesOf = async (tenant: Tenant) => (await deliveriesOf(tenant)).map((row) => row['status']);
  const listed = async (tenant: Tenant): Promise<Fields> =>
    (await tenant.api('/api/v1/webhooks')).rows[0] ?? {};

  describe('POST and GET /api/v1/webhooks', () => {
    it('responds with 201 and the secret once, and with 200 without it for the same URL', async () => {
      const tenant = await service.tenant();
      const made = await register(tenant, ' https://93.184.215.14:8443/hook#x ', {
        events: ['card.mailed', 'card.mailed'],
        description: ' CRM ',
      });
      expect(made.status).to.equal(201);
      expect(made.body['id']).to.match(uuid);
      expect(made.body['signing_secret']).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const rest = {
        object: 'webhook_endpoint',
        url: 'https://93.184.215.14:8443/hook',
        events: ['card.mailed'],
        active: true,
        description: 'CRM',
      };
      expect(made.body).to.deep.equal({ ...rest, id: made.id, signing_secret: made.body['signing_secret'] });
      const again = await register(tenant, 'https://93.184.215.14:8443/hook', {
        events: ['card.held'],
        description: 'other',
      });
      expect([again.status, again.body]).to.deep.equal([200, { ...rest, id: made.id, signing_secret: null }]);
    });

    it('lists the endpoints, newest first, without secrets', async () => {
      const tenant = await service.tenant();
      const ids = [];
      for (const path of ['a', 'b'])
        ids.unshift((await register(tenant, `https://93.184.215.14/${path}`)).id);
      const reply = await tenant.api('/api/v1/webhooks');
      expect(reply.rows.map((row) => row['id'])).to.deep.equal(ids);
      expect({ ...reply.body, data: [] }).to.deep.equal({
        object: 'list',
        has_more: false,
        next_cursor: null,
        data: [],
      });
      expect(reply.rows[0]).to.deep.equal({
        id: ids[0], object: 'webhook_endpoint', url: 'https://93.184.215.14/b', events: [], active: true, signing_secret: null, description: null,
        failure_count: 0, consecutive_failures: 0, last_success_at: null, disabled_reason: null,
      }); // prettier-ignore
    });

    const refusals: readonly (readonly [object, number, string, string])[] = [
      [{}, 422, 'invalid_url', 'url'],
      [{ url: 7 }, 422, 'invalid_url', 'url'],
      [{ url: '' }, 422, 'invalid_url', 'url'],
      [{ url: 'http://93.184.215.14/' }, 422, 'invalid_url', 'url'],
      [{ url: 'https://127.0.0.1/' }, 422, 'invalid_url', 'url'],
      [{ url: 'https://10.0.0.1/' }, 422, 'invalid_url', 'url'],
      [{ url: 'https://localhost/' }, 422, 'invalid_url', 'url'],
      [{ url: 'https://user:pass@93.184.215.14/' }, 422, 'invalid_url', 'url'],
      [{ url: 'https://93.184.215.14/', events: ['card.delivered'] }, 422, 'invalid_events', 'events'],
      [{ url: 'https://93.184.215.14/', events: 'card.mailed' }, 422, 'invalid_events', 'events'],
      [{ url: 'https://93.184.215.14/', events: [7] }, 422, 'invalid_events', 'events'],
      [{ url: 'https://93.184.215.14/', description: 7 }, 400, 'invalid_parameter', 'description'],
      [{ url: 'nonsense', events: ['card.delivered'] }, 422, 'invalid_url', 'url'],
      [{ url: 'https://10.0.0.1/', events: ['card.delivered'], description: 7 }, 422, 'invalid_url', 'url'],
      [
        { url: 'https://93.184.215.14/', events: ['card.delivered'], description: 7 },
        422,
        'invalid_events',
        'events',
      ],
    ];
    for (const [body, status, code, param] of refusals) {
      it(`refuses ${JSON.stringify(body)}`, async () => {
        const { api } = await service.tenant();
        const reply = await api('/api/v1/webhooks', { body });
        expect([reply.status, reply.code, reply.param]).to.deep.equal([status, code, param]);
      });
    }

    it('accepts null and [] as all events', async () => {
      const tenant = await service.tenant();
      expect(
        (await register(tenant, 'https://93.184.215.14/1', { events: null })).body['events'],
      ).to.deep.equal([]);
      expect(
        (await register(tenant, 'https://93.184.215.14/2', { events: [] })).body['events'],
      ).to.deep.equal([]);
    });

    it('requires the scope webhooks:manage', async () => {
      const tenant = await service.tenant();
      const api = await tenant.withScopes('cards:send');
      expect((await api('/api/v1/webhooks')).code).to.equal('missing_scope');
    });
  });

  describe('DELETE /api/v1/webhooks/{id}', () => {
    for (const id of ['nonsense', '6c0f6a3e-0000-4000-8000-00000000dead', '%zz', 'a%20b', '%20']) {
      it(`responds with 200 to the unknown id ${id}`, async () => {
        const { api } = await service.tenant();
        const reply = await api(`/api/v1/webhooks/${id}`, { method: 'DELETE' });
        expect([reply.status, reply.body['deleted'], reply.body['object']]).to.deep.equal([
          200,
          true,
          'webhook_endpoint',
        ]);
      });
    }

    it('leaves the endpoint of another organization alone', async () => {
      const [owner, other] = [await service.tenant(), await service.tenant()];
      const { id } = await register(owner, 'https://93.184.215.14/');
      expect((await other.api(`/api/v1/webhooks/${id}`, { method: 'DELETE' })).body).to.deep.equal({
        id,
        object: 'webhook_endpoint',
        deleted: true,
      });
      expect((await listed(owner))['id']).to.equal(id);
      await owner.api(`/api/v1/webhooks/${id}`, { method: 'DELETE' });
      expect((await owner.api('/api/v1/webhooks')).rows).to.deep.equal([]);
    });

    it('during an attempt stops the deliveries: nothing more is sent, and waiting ones are dropped', async () => {
      const tenant = await service.tenant();
      let answerFirst: () => void = () => undefined;
      const receiver = await receiverWith((response) => (answerFirst = () => response.writeHead(500).end()));
      const { id } = await register(tenant, receiver.url);
      await send(tenant);
      await eventually(() => receiver.received.length === 1);
      expect((await tenant.api(`/api/v1/webhooks/${id}`, { method: 'DELETE' })).status).to.equal(200);
      await send(tenant);
      answerFirst();
      const rows = await eventually(async () => {
        const found = await deliveriesOf(tenant);
        const attempts: unknown = found.at(-1)?.['attempts'];
        return Array.isArray(attempts) && attempts.length === 1 ? found : null;
      });
      expect(rows.at(-1)).to.deep.include({
        status: 'dropped',
        drop_reason: 'the endpoint was deleted',
        next_attempt_at: null,
      });
      expect(receiver.received).to.have.length(1);
      const retried = await operate(tenant, `deliveries/${String(rows.at(-1)?.['id'])}/retry`, {
        method: 'POST',
      });
      expect([retried.status, retried.code]).to.deep.equal([409, 'invalid_transition']);
    });
  });

  it('delivers the events of a card, signed over the raw bytes', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith();
    const { body: endpoint } = await register(tenant, receiver.url);
    const secret = String(endpoint['signing_secret']);
    const { id: card } = await send(tenant, {
      reference: 'Größe 1',
      recipient: { name: 'Zoë Müller', line1: '1 Main St', city: 'Salem', state: 'OR', zip: '97301' },
    });
    const [first] = await eventually(() => receiver.received.length === 1 && receiver.received);
    if (first === undefined) throw new Error('nothing was received');
    const { headers, body } = first;
    const bytes = Buffer.from(body, 'latin1');
    const event = JSON.parse(bytes.toString('utf8')) as Fields;
    expect(event).to.deep.equal({
      id: event['id'],
      type: 'card.created',
      created: event['created'],
      data: { card, recipient: 'Zoë Müller', reference: 'Größe 1', heldReason: null },
    });
    expect(event['id']).to.match(/^evt_\w+$/);
    expect(event['created']).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['service-signature'])) ?? [];
    expect(v1).to.equal(createHmac('sha256', secret).update(`${t}.`).update(bytes).digest('hex'));
    expect(Math.abs(Number(t) - Date.now() / 1000)).to.be.below(60);
    expect(headers).to.include({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1',
      'service-event': 'card.created',
    });
    expect(headers['service-delivery']).to.equal(headers['webhook-id']);
    const standard = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(`${String(headers['webhook-id'])}.${t}.`)
      .update(bytes)
      .digest('base64');
    expect(headers['webhook-signature']).to.equal(`v1,${standard}`);
    const [row] = await eventually(async () => {
      const rows = await deliveriesOf(tenant, '?status=delivered');
      return rows.length === 1 && rows;
    });
    expect(row).to.deep.include({
      id: headers['service-delivery'],
      event: event['id'],
      type: 'card.created',
      endpoint: endpoint['id'],
      card,
      next_attempt_at: null,
    });
    expect((await listed(tenant))['last_success_at']).to.match(/\+00:00$/);
  });

  it('sends card.created, card.held, card.written and card.mailed, and card.cancelled only for cancels through the API', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith();
    await register(tenant, receiver.url);
    const { id: card } = await send(tenant);
    const act = async (verb: string, body?: object) =>
      expect(
        (await service.operator(`/operator/v1/cards/${card}/${verb}`, { method: 'POST', body: body ?? {} }))
          .status,
      ).to.equal(200);
    await act('hold', { reason: 'Look at the address' });
    await act('release');
    await act('queue');
    for (const step of [
      'card_stock_prepared',
      'card_written',
      'envelope_addressed',
      'packed',
      'stamped',
      'posted',
    ]) {
      await act(`steps/${step}`, { status: 'in_progress' });
      await act(`steps/${step}`, { status: 'completed' });
    }
    const { id: cancelled } = await send(tenant, { reference: 'to cancel' });
    await tenant.api(`/api/v1/cards/${cancelled}`, { method: 'DELETE' });
    const { id: stopped } = await send(tenant);
    await service.operator(`/operator/v1/cards/${stopped}/cancel`, { method: 'POST' });
    const wanted = [
      'card.cancelled',
      'card.created',
      'card.created',
      'card.created',
      'card.created',
      'card.held',
      'card.mailed',
      'card.written',
    ];
    await eventually(() => receiver.received.length >= wanted.length);
    const events = receiver.received.map(({ body }) => JSON.parse(body) as { type: string; data: Fields });
    expect(events.map(({ type }) => type).sort((a, b) => a.localeCompare(b))).to.deep.equal(wanted);
    expect(events.find(({ type }) => type === 'card.held')?.data).to.deep.equal({
      card,
      recipient: 'Ada Lovelace',
      reference: null,
      heldReason: 'Look at the address',
    });
    expect(events.find(({ type }) => type === 'card.cancelled')?.data['card']).to.equal(cancelled);
  });

  it('sends only the events that an endpoint subscribes to, and none from before its registration', async () => {
    const tenant = await service.tenant();
    await send(tenant);
    const [held, all] = [await receiverWith(), await receiverWith()];
    await register(tenant, held.url, { events: ['card.held'] });
    await register(tenant, all.url);
    await send(tenant, { message: 'Hello 😀' });
    await send(tenant);
    await eventually(() => held.received.length + all.received.length === 3);
    expect(held.received.map(({ headers }) => headers['service-event'])).to.deep.equal(['card.held']);
    expect(await eventually(async () => (await deliveriesOf(tenant)).length)).to.equal(3);
  });

  it('retries on the schedule with the same id and bytes, then gives up', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith(503);
    await register(tenant, receiver.url);
    await send(tenant);
    await eventually(async () => (await statusesOf(tenant))[0] === 'exhausted');
    expect(receiver.received).to.have.length(3);
    expect(
      new Set(receiver.received.map(({ headers, body }) => `${String(headers['service-delivery'])} ${body}`))
        .size,
    ).to.equal(1);
    const [row] = await deliveriesOf(tenant);
    const attempts = row?.['attempts'] as readonly Fields[];
    expect(attempts.map(({ http_status, error, body }) => [http_status, error, body])).to.deep.equal(
      Array(3).fill([503, null, '']),
    );
    const times = attempts.map(({ at }) => Date.parse(String(at)));
    expect((times[1] ?? 0) - (times[0] ?? 0)).to.be.at.least(40);
    expect(await listed(tenant)).to.include({ failure_count: 3, consecutive_failures: 3, active: true });
  });

  for (const [status, rest] of [
    ['200 OK', 'content-length: 2\r\ncontent-length: 2\r\n\r\nok'],
    ['204 No Content', 'content-length: 2\r\n\r\nok'],
  ] as const)
    it(`has delivered what a receiver answers with ${status} in broken HTTP, at the first attempt`, async () => {
      const tenant = await service.tenant();
      const receiver = await receiverWith((response) =>
        response.socket?.end(`HTTP/1.1 ${status}\r\n${rest}`),
      );
      await register(tenant, receiver.url);
      await send(tenant);
      await eventually(async () => (await statusesOf(tenant))[0] === 'delivered');
      const [row] = await deliveriesOf(tenant);
      const attempts = row?.['attempts'] as readonly Fields[];
      expect(attempts.map(({ http_status }) => http_status)).to.deep.equal([Number(status.slice(0, 3))]);
      expect(receiver.received).to.have.length(1);
    });

  it('makes one more attempt for an exhausted delivery if an operator retries it, none for a delivered one', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith(500);
    await register(tenant, receiver.url);
    await send(tenant);
    const [row] = await eventually(async () => {
      const rows = await deliveriesOf(tenant, '?status=exhausted');
      return rows.length === 1 && rows;
    });
    const retry = () => operate(tenant, `deliveries/${String(row?.['id'])}/retry`, { method: 'POST' });
    expect((await retry()).status).to.equal(202);
    await eventually(
      async () => receiver.received.length === 4 && (await statusesOf(tenant))[0] === 'exhausted',
    );
    receiver.answer = 204;
    expect((await retry()).status).to.equal(202);
    await eventually(async () => (await statusesOf(tenant))[0] === 'delivered');
    expect([(await retry()).status, (await retry()).code]).to.deep.equal([409, 'invalid_transition']);
    expect((await operate(tenant, 'deliveries/dlv_none/retry', { method: 'POST' })).code).to.equal(
      'not_found',
    );
    expect(receiver.received).to.have.length(5);
  });

  it('disables an endpoint after too many failures in a row, drops later deliveries, and replays them', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith(500);
    const { id } = await register(tenant, receiver.url);
    await send(tenant);
    await eventually(async () => (await statusesOf(tenant))[0] === 'exhausted');
    await send(tenant);
    await eventually(async () => (await listed(tenant))['active'] === false);
    expect((await listed(tenant))['disabled_reason']).to.equal('5 failures in a row, the last one: HTTP 500');
    const line = await eventually(() => logged.find((each) => each.includes('failed too often')) ?? null);
    expect(JSON.parse(line)).to.include({ org: tenant.org, last_failure: 'HTTP 500' });
    await send(tenant);
    const reasons = async () =>
      (await deliveriesOf(tenant, '?status=dropped')).map((row) => row['drop_reason']);
    await eventually(async () =>
      (await reasons()).includes('the endpoint is disabled: 5 failures in a row, the last one: HTTP 500'),
    );
    receiver.answer = 200;
    const enabled = await operate(tenant, `webhooks/${id}/enable`, { method: 'POST' });
    expect([enabled.status, enabled.body['active'], enabled.body['consecutive_failures']]).to.deep.equal([
      200,
      true,
      0,
    ]);
    const replayed = await operate(tenant, `webhooks/${id}/replay`, { body: { from: 0 } });
    expect(replayed.status).to.equal(202);
    await eventually(async () => (await statusesOf(tenant)).every((status) => status === 'delivered'));
    expect(await statusesOf(tenant)).to.have.length(3);
    expect(
      (await operate(tenant, `webhooks/${id}/replay`, { body: { from: '2020-01-01T00:00:00Z' } })).body,
    ).to.deep.equal({ deliveries: 0 });
  });

  it('drops the waiting deliveries of an endpoint that stays disabled beyond the window', async () => {
    const tenant = await service.tenant();
    await register(tenant, (await receiverWith(500)).url);
    await send(tenant);
    await eventually(async () => (await statusesOf(tenant))[0] === 'exhausted');
    await send(tenant);
    const [row] = await eventually(async () => {
      const rows = await deliveriesOf(tenant, '?status=dropped');
      return rows.length === 1 && rows;
    });
    expect([row?.['drop_reason'], row?.['next_attempt_at']]).to.deep.equal([
      'the endpoint stayed disabled until the end of the retry window',
      null,
    ]);
  });

  it('sends dead letters again if an operator redrives them', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith(500);
    await register(tenant, receiver.url);
    await send(tenant);
    await eventually(async () => (await statusesOf(tenant))[0] === 'exhausted');
    receiver.answer = 200;
    expect(
      (await operate(tenant, 'deliveries/redrive', { body: { from: '2100-01-01' } })).body,
    ).to.deep.equal({ deliveries: 0 });
    expect((await operate(tenant, 'deliveries/redrive', { body: { from: 'yesterday' } })).code).to.equal(
      'invalid_parameter',
    );
    const redriven = await operate(tenant, 'deliveries/redrive', { body: { from: '2020-01-01T00:00:00Z' } });
    expect([redriven.status, redriven.body]).to.deep.equal([202, { deliveries: 1 }]);
    await eventually(async () => (await statusesOf(tenant))[0] === 'delivered');
  });

  it('replays older events to a new endpoint', async () => {
    const tenant = await service.tenant();
    await send(tenant);
    await send(tenant);
    const receiver = await receiverWith();
    const { id } = await register(tenant, receiver.url);
    expect((await operate(tenant, `webhooks/${id}/replay`, { body: { from: '0' } })).body).to.deep.equal({
      deliveries: 2,
    });
    await eventually(() => receiver.received.length === 2);
    expect((await operate(tenant, 'webhooks/nonsense/replay', { body: { from: 0 } })).code).to.equal(
      'not_found',
    );
  });

  it('sends a test event that is neither counted nor logged', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith(418);
    const { id } = await register(tenant, receiver.url);
    const tested = await operate(tenant, `webhooks/${id}/test`, { method: 'POST' });
    expect([tested.status, tested.body['http_status'], tested.body['error']]).to.deep.equal([200, 418, null]);
    expect(tested.body['duration_ms']).to.be.a('number');
    const event = JSON.parse(receiver.received[0]?.body ?? '{}') as Fields;
    expect(event['id']).to.match(/^evt_test_/);
    expect(event['type']).to.equal('card.created');
    expect(await listed(tenant)).to.include({ failure_count: 0, consecutive_failures: 0 });
    expect(await deliveriesOf(tenant)).to.deep.equal([]);
  });

  it('signs with both secrets after a rotation', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith();
    const { id, body } = await register(tenant, receiver.url);
    const fresh = String(
      (await operate(tenant, `webhooks/${id}/rotate`, { method: 'POST' })).body['signing_secret'],
    );
    await send(tenant);
    const [received] = await eventually(() => receiver.received.length === 1 && receiver.received);
    const [, t, v1, old] =
      /^t=(\d+),v1=([0-9a-f]{64}),v1=([0-9a-f]{64})$/.exec(String(received?.headers['service-signature'])) ??
      [];
    const sign = (secret: string) =>
      createHmac('sha256', secret).update(`${t}.${received?.body}`).digest('hex');
    expect([v1, old]).to.deep.equal([sign(fresh), sign(String(body['signing_secret']))]);
    expect(String(received?.headers['webhook-signature']).split(' ')).to.have.length(2);
  });

  it('streams deliveries and attempts as they happen', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith();
    await register(tenant, receiver.url);
    const stop = new AbortController();
    const response = await fetch(
      `${service.baseUrl}/operator/v1/organizations/${tenant.org}/deliveries/stream`,
      {
        headers: { authorization: `Bearer ${service.operatorToken}` },
        signal: stop.signal,
      },
    );
    await send(tenant);
    let seen = '';
    for await (const chunk of response.body ?? []) {
      seen += Buffer.from(chunk).toString();
      if (seen.includes('event: attempt')) break;
    }
    stop.abort();
    expect(seen).to.match(/event: delivery\ndata: .*"change":"made".*"service-signature"/);
  });

  it('filters the log of deliveries and returns it in pages', async () => {
    const tenant = await service.tenant();
    const receiver = await receiverWith();
    const { id } = await register(tenant, receiver.url);
    const { id: card } = await send(tenant);
    await send(tenant);
    await eventually(
      async () => (await statusesOf(tenant)).filter((status) => status === 'delivered').length === 2,
    );
    const page = await operate(tenant, 'deliveries?limit=1');
    expect([page.body['has_more'], page.rows.length]).to.deep.equal([true, 1]);
    const next = await operate(
      tenant,
      `deliveries?limit=1&starting_after=${String(page.body['next_cursor'])}`,
    );
    expect(next.rows[0]?.['card']).to.equal(card);
    expect(await deliveriesOf(tenant, `?card=${card.toLowerCase()}`)).to.have.length(1);
    expect(await deliveriesOf(tenant, `?endpoint=${id}&type=card.created&status=delivered`)).to.have.length(
      2,
    );
    expect((await operate(tenant, 'deliveries?status=lost')).code).to.equal('invalid_parameter');
    expect((await operate(tenant, 'deliveries?starting_after=nonsense')).code).to.equal('invalid_cursor');
    expect((await service.operator('/operator/v1/organizations/nobody/deliveries')).code).to.equal(
      'not_found',
    );
  });

  it('reports the depth and age of the queue, attempts by result and latency as metrics', async () => {
    const metrics = async (): Promise<ReadonlyMap<string, number>> => {
      const { text } = await service.anonymous('/metrics');
      const lines = text.split('\n').filter((line) => line.startsWith('webhook_'));
      return new Map(
        lines.map((line) => [
          line.slice(0, line.lastIndexOf(' ')),
          Number(line.slice(line.lastIndexOf(' ') + 1)),
        ]),
      );
    };
    const before = await metrics();
    const [good, bad, silent] = [await service.tenant(), await service.tenant(), await service.tenant()];
    await register(good, (await receiverWith()).url);
    await register(bad, (await receiverWith(500)).url);
    const hanging = await receiverWith(() => undefined);
    await register(silent, hanging.url);
    for (const tenant of [good, bad, silent]) await send(tenant);
    await eventually(
      async () =>
        (await statusesOf(bad))[0] === 'exhausted' &&
        (await statusesOf(good))[0] === 'delivered' &&
        hanging.received.length > 0,
    );
    await eventually(async () => {
      const now = await metrics();
      const grown = (name: string) => (now.get(name) ?? 0) - (before.get(name) ?? 0);
      expect(grown('webhook_attempts_total{result="delivered"}')).to.equal(1);
      expect(grown('webhook_attempts_total{result="exhausted"}')).to.equal(1);
      expect(grown('webhook_attempts_total{result="retrying"}')).to.be.at.least(2);
      expect(grown('webhook_attempt_duration_seconds_count')).to.be.at.least(4);
      expect(grown('webhook_first_delivery_seconds_count')).to.equal(1);
      expect(grown('webhook_dead_letters')).to.equal(1);
      expect(grown('webhook_pending_deliveries')).to.equal(1);
      expect(now.get('webhook_oldest_due_seconds')).to.be.above(0);
      return true;
    });
  });
});
