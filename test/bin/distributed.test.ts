import { expect } from 'chai';
import { startService } from '../../bin/wiring/service.js';
import { readSettings, WrongSettings } from '../../bin/settings/settings.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { pino } from 'pino';
import { startCluster, type Cluster, type Node } from '../support/servers/cluster.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { rounds, sampleOf } from '../support/runner/effort.js';
import { eventually } from '../support/time/eventually.js';
import { startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, clientOf, type Client, type Reply, type Tenant } from '../support/http/service.js';

const patient = { within: 30_000 };
const sendsWhileAway = rounds({ usually: 20, thoroughly: 200, named: 'SENDS_WHILE_AWAY' });

/** The names of the parts that are not ready; null if /readyz can't be reached. */
const notReady = async (node: Node): Promise<readonly string[] | null> => {
  const answer = await fetch(`${node.baseUrl}/readyz`);
  const body: unknown = await answer.json();
  const parts: unknown = typeof body === 'object' && body !== null && 'parts' in body ? body.parts : null;
  if (!Array.isArray(parts)) return null;
  return parts.flatMap((part: { readonly name: string; readonly ready: boolean }) =>
    part.ready ? [] : [part.name],
  );
};
const isReady = (node: Node): Promise<true> =>
  eventually(async () => (await notReady(node))?.length === 0, { ...patient, what: 'readiness' });

/** How often an append of one of the processes met another one's. */
const conflictsOf = async (nodes: readonly Node[]): Promise<number> => {
  const counter = /^engine_calls_total\{engine="EventStoreDB",call="conflict"\} (\d+)$/m;
  const texts = await Promise.all(nodes.map(async ({ anonymous }) => (await anonymous('/metrics')).text));
  return texts.reduce((sum, text) => sum + Number(counter.exec(text)?.[1] ?? 0), 0);
};

const send = (tenant: Tenant, key: string | null = null, changes: object = {}): Promise<Reply | null> =>
  // A dropped connection: the outcome is unknown.
  tenant
    .api('/api/v1/cards', {
      body: aCard(changes),
      ...(key !== null && { headers: { 'idempotency-key': key } }),
    })
    .catch(() => null);

const sent = async (tenant: Tenant, changes: object = {}): Promise<string> => {
  const reply = await send(tenant, null, changes);
  expect([reply?.status, reply?.text]).to.deep.equal([201, reply?.text]);
  return reply?.id ?? '';
};

const deliveredCards = ({ received }: Receiver): ReadonlySet<string> =>
  new Set(
    received.map(({ body }) => /HC-[0-9A-Z]{7}/.exec(Buffer.from(body, 'latin1').toString())?.[0] ?? ''),
  );

const hasDelivered = (receiver: Receiver, codes: Iterable<string>, within = patient.within): Promise<true> =>
  eventually(() => [...codes].every((code) => deliveredCards(receiver).has(code)), {
    within,
    what: 'webhooks',
  });

describe('a role on its own', () => {
  it('refuses to start without servers, and names their settings', async () => {
    const settings = readSettings({});
    const options = {
      settings,
      role: 'relay',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
    } as const;
    const refused = await startService({ ...options, fail: () => undefined }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(WrongSettings);
    expect(refused instanceof WrongSettings ? refused.problems : []).to.deep.equal([
      'The role relay works with other processes through servers: set EVENTSTORE_URL, MONGODB_URL, RABBITMQ_URL too, or start the role all.',
    ]);
  });
});

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'the distributed deployment', () => {
  let cluster: Cluster;
  const receivers: Receiver[] = [];
  beforeEach(async () => {
    cluster = await startCluster({ timeouts: { lease: 3_000 } });
  });
  afterEach(async () => {
    await cluster.close();
    for (const receiver of receivers.splice(0)) await receiver.close();
  });

  const listening = async (tenant: Tenant): Promise<Receiver> => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    expect((await tenant.api('/api/v1/webhooks', { body: { url: receiver.url } })).status).to.equal(201);
    return receiver;
  };

  it('starts every role before its engines, says what it waits for, and works when they are available', async () => {
    const nodes: Node[] = [];
    const roles = ['api', 'projector', 'relay', 'webhooks', 'reconciler'] as const;
    for (const role of roles) nodes.push(await cluster.start(role, 'down'));
    const tellingOfOpenWork: (string | undefined)[] = [];
    for (const [index, node] of nodes.entries()) {
      expect((await node.anonymous('/healthz')).status).to.equal(200);
      expect(await notReady(node)).to.include.members(['event store', 'mongodb', 'rabbitmq']);
      const { status, text } = await node.anonymous('/metrics');
      expect(status).to.equal(200);
      if (text.includes('# TYPE open_work_oldest_seconds')) tellingOfOpenWork.push(roles[index]);
    }
    expect(tellingOfOpenWork).to.deep.equal(['api', 'reconciler']);
    const [api, ...others] = nodes;
    if (api === undefined) throw new Error('no api');
    for (const node of others) expect((await node.anonymous('/api/v1/account')).status).to.equal(404);
    for (const node of nodes) for (const proxy of Object.values(node.proxies)) await proxy.set('up');
    for (const node of nodes) await isReady(node);
    await api.prepared;
    const tenant = await api.tenant({ credits: 5 });
    const receiver = await listening(tenant);
    const code = await sent(tenant);
    expect((await tenant.api('/api/v1/cards')).rows.map((row) => row['id'])).to.deep.equal([code]);
    expect(await tenant.balance()).to.equal(4);
    await hasDelivered(receiver, [code]);
  }).timeout(240_000);

  it('refuses keys and lists while MongoDB is unavailable, sends without a key, and shows everything later', async () => {
    const node = await cluster.start('all');
    await isReady(node);
    await node.prepared;
    const tenant = await node.tenant();
    const receiver = await listening(tenant);
    const before = await sent(tenant);
    await hasDelivered(receiver, [before]);
    await node.proxies.MONGODB_URL.set('down');
    await eventually(async () => (await notReady(node))?.includes('mongodb') === true, patient);
    const began = performance.now();
    const keyed = await send(tenant, 'a-key');
    expect([keyed?.status, keyed?.code]).to.deep.equal([400, 'invalid_idempotency_key']);
    const list = await tenant.api('/api/v1/cards');
    expect([list.status, list.code]).to.deep.equal([500, 'read_failed']);
    const during = await sent(tenant);
    // A write waits 5 s for read models; a request that MongoDB never answers ends after 24 s.
    expect(performance.now() - began).to.be.below(20_000);
    await node.proxies.MONGODB_URL.set('up');
    await eventually(async () => (await tenant.api('/api/v1/cards')).rows.length === 2, patient);
    await hasDelivered(receiver, [during]);
    expect((await send(tenant, 'a-key'))?.status).to.equal(201);
    expect(await tenant.balance()).to.equal(97);
  }).timeout(240_000);

  it('shows no process a card or a balance older than what another has answered while the projector is away for many sends and comes back slowly, and says that lists are late', async () => {
    const [api, other] = [await cluster.start('api'), await cluster.start('api')];
    const projector = await cluster.start('projector');
    for (const node of [api, other]) await isReady(node);
    await api.prepared;
    const tenant = await api.tenant({ credits: sendsWhileAway + 1_000 });
    const elsewhere = clientOf(other.baseUrl, tenant.key);
    const late = async () => (await elsewhere('/api/v1/cards')).headers.get('x-read-model-late');
    const codes = [await sent(tenant), await sent(tenant)];
    await eventually(async () => (await late()) === null, { ...patient, what: 'lists that are not late' });

    await projector.proxies.MONGODB_URL.set('down');
    await eventually(async () => (await late()) !== null, { ...patient, what: 'lists that are late' });
    const flows = Array.from({ length: 10 }, async (_, flow) => {
      for (let n = flow; n < sendsWhileAway; n += 10) await sent(tenant);
    });
    await Promise.all(flows);
    const living = new Set(codes);
    const cancelled = new Set<string>();
    /** One process cancels and sends, and the other shows it at once; then the other way round. */
    const ask = async (here: Client, there: Client): Promise<void> => {
      const [first = ''] = living;
      expect((await here(`/api/v1/cards/${first}`, { method: 'DELETE' })).status).to.equal(200);
      living.delete(first);
      cancelled.add(first);
      living.add((await here('/api/v1/cards', { body: aCard() })).id);
      const wrong: string[] = [];
      for (const code of [...living, ...[...cancelled].slice(-5)]) {
        const { status } = (await there(`/api/v1/cards/${code}`)).body;
        if (status !== (living.has(code) ? 'pending' : 'cancelled')) wrong.push(`${code} ${String(status)}`);
      }
      const { balance } = (await there('/api/v1/credits')).body;
      const list = await there('/api/v1/cards?limit=1');
      const isNewest = list.rows[0]?.['id'] === [...living].at(-1);
      const isTold = list.headers.get('x-read-model-late') !== null;
      expect({ wrong, balance, list: isNewest || isTold }).to.deep.equal({
        wrong: [],
        balance: 1_000 - living.size,
        list: true,
      });
    };
    await ask(tenant.api, elsewhere);
    projector.proxies.MONGODB_URL.delay = 200;
    await projector.proxies.MONGODB_URL.set('up');
    const isBack = async (): Promise<boolean> => {
      await ask(elsewhere, tenant.api);
      await ask(tenant.api, elsewhere);
      return (await late()) === null;
    };
    const catchesUp = patient.within + 20 * sendsWhileAway;
    await eventually(isBack, { within: catchesUp, what: 'lists that are not late again' });
    expect((await elsewhere('/api/v1/cards?limit=2')).rows.map((row) => row['id'])).to.deep.equal(
      [...living].toReversed(),
    );
  }).timeout(240_000 + 200 * sendsWhileAway);

  for (const role of sampleOf(['projector', 'relay', 'reconciler'] as const, 1)) {
    it(`has one ${role} at work and another that takes over if its machine is gone`, async () => {
      const api = await cluster.start('api');
      const rest = ['projector', 'relay', 'reconciler', 'webhooks'] as const;
      for (const other of rest) if (other !== role) await cluster.start(other);
      const first = await cluster.start(role);
      await isReady(api).catch(() => undefined);
      await api.prepared;
      const tenant = await api.tenant();
      const receiver = await listening(tenant);
      const before = await sent(tenant);
      await hasDelivered(receiver, [before]);
      await cluster.start(role);
      await first.isolate();
      const codes = [await sent(tenant), await sent(tenant)];
      await hasDelivered(receiver, codes);
      await eventually(async () => (await tenant.api('/api/v1/cards')).rows.length === 3, patient);
      expect(await tenant.balance()).to.equal(97);
      const deliveries = (await api.operator(`/operator/v1/organizations/${tenant.org}/deliveries`)).rows;
      expect(deliveries.map((row) => row['status'])).to.deep.equal(['delivered', 'delivered', 'delivered']);
    }).timeout(240_000);
  }

  it('accounts for every card if all connections are cut repeatedly under load', async () => {
    const node = await cluster.start('all', 'up', { CLAIM_TIMEOUT: '1s', RECONCILE_AFTER: '1s' });
    await isReady(node);
    await node.prepared;
    const tenant = await node.tenant({ credits: 1_000 });
    const receiver = await listening(tenant);
    const proxies = Object.values(node.proxies);
    const total = 60;
    const codes = new Set<string>();
    const worker = async (from: number): Promise<void> => {
      for (let number = from; number < total; number += 4) {
        // Repeats the key until a response settles it, as a client should.
        const code = await eventually(
          async () => {
            const reply = await send(tenant, `order-${number}`, { reference: `order-${number}` });
            return reply?.status === 201 ? reply.id : null;
          },
          { within: 40_000, what: `order ${number}` },
        );
        codes.add(code);
        if (number % 7 === 0) proxies[number % 3]?.cut();
      }
    };
    await Promise.all([0, 1, 2, 3].map(worker));
    expect(codes.size).to.equal(total);
    const listed = await eventually(async () => {
      const { rows } = await tenant.api('/api/v1/cards?limit=200');
      return rows.length >= total ? rows : null;
    }, patient);
    expect(new Set(listed.map((row) => row['id']))).to.deep.equal(codes);
    await eventually(async () => (await tenant.balance()) === 1_000 - total, {
      ...patient,
      what: 'the balance',
    });
    // A claim whose response was lost expires after a minute, and the next sweep makes up for a lost hint.
    await hasDelivered(receiver, codes, 140_000);
  }).timeout(240_000);
});

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'two processes of the distributed deployment', () => {
  let cluster: Cluster;
  let first: Node;
  let second: Node;
  before(async function () {
    this.timeout(240_000);
    cluster = await startCluster();
    [first, second] = [await cluster.start('all'), await cluster.start('api')];
    for (const node of [first, second]) await isReady(node);
    await first.prepared;
  });
  after(() => cluster.close());

  it('spend every credit of an organization once, for 64 clients, and count their conflicts', async () => {
    const { key, balance } = await first.tenant({ credits: 150 });
    const nodes = [first, second];
    const apis = nodes.map(({ baseUrl }) => clientOf(baseUrl, key));
    const send = (number: number) => apis[number % 2]?.('/api/v1/cards', { body: aCard() });
    expect([(await send(0))?.status, (await send(1))?.status]).to.deep.equal([201, 201]);
    const before = await conflictsOf(nodes);
    const client = async (number: number): Promise<readonly (string | undefined)[]> => {
      const replies = [await send(number), await send(number), await send(number)];
      return replies.map((reply) => reply?.code ?? String(reply?.status));
    };
    const outcomes = (await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)))).flat();
    const count = (wanted: string): number => outcomes.filter((outcome) => outcome === wanted).length;
    expect([count('201'), count('no_credits')]).to.deep.equal([148, 192 - 148]);
    expect(await balance()).to.equal(0);
    expect((await conflictsOf(nodes)) - before).to.be.at.least(1);
  }).timeout(120_000);

  it('give the next card the house hand that was chosen last, whichever process responds', async () => {
    const { org, key } = await first.tenant();
    const apis = [first, second].map(({ baseUrl }) => clientOf(baseUrl, key));
    const chosen = async (api: Client): Promise<unknown> => {
      const { id } = await api('/api/v1/cards', { body: aCard() });
      const { rows } = await api('/api/v1/handwriting');
      const houseHands = rows.filter((row) => row['house_hand']).map((row) => row['name']);
      return [(await api(`/api/v1/cards/${id}`)).body['handwriting'], ...houseHands];
    };
    for (const [node, house_hand] of [[first, 'Everyday'], [first, 'Elegant'], [second, 'Architect']] as const) {
      await node.operator(`/operator/v1/organizations/${org}`, { method: 'PATCH', body: { house_hand } });
      for (const api of apis) expect(await chosen(api)).to.deep.equal([house_hand, house_hand]);
    } // prettier-ignore
  }).timeout(240_000);

  it('tell each other at once what one of them did: credits bought, a design saved, a suspension begun and ended', async () => {
    const { org, key } = await first.tenant({ credits: 2 });
    const api = clientOf(second.baseUrl, key);
    const send = async (): Promise<unknown> => {
      const { status, code } = await api('/api/v1/cards', { body: aCard() });
      return status === 201 ? status : code;
    };
    const change = (place: string, body: object, method = 'POST') =>
      first.operator(`/operator/v1/organizations/${org}${place}`, { method, body });
    expect([await send(), await send(), await send()]).to.deep.equal([201, 201, 'no_credits']);
    for (let round = 0; round < 3; round += 1) {
      await change('/credits', { amount: 2 });
      expect(await send()).to.equal(201);
      const design = await change('/designs', { name: `Design ${round}` });
      const { id } = await api('/api/v1/cards', { body: aCard() });
      const { body } = await first.operator(`/operator/v1/cards/${id}`);
      expect(body['design_id']).to.equal(design.id);
      await change('', { suspended: true }, 'PATCH');
      expect(await send()).to.equal('suspended');
      await change('', { suspended: false }, 'PATCH');
      expect(await send()).to.equal('no_credits');
    }
  }).timeout(90_000);
});
