import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../../adapters/system/clock.js';
import { EventStoreUnavailable } from '../../application/ports/event-store.js';
import { IdempotencyUnavailable } from '../../application/ports/idempotency-store.js';
import { ReadModelsUnavailable } from '../../application/ports/read-models.js';
import { eventually } from '../support/time/eventually.js';
import type { Interference } from '../support/simulation/interference.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';

/** A card that is not due while a test runs: nothing happens to it by itself. */
const later = { arrive_on: '2099-01-01' };
const aLaterCard = (changes: object = {}): object => aCard({ ...later, ...changes });
const hello = {
  name: 'Ann Lee',
  line1: '1 Main St',
  city: 'Austin',
  state: 'TX',
  zip: '78701',
  message: 'Hello',
  ...later,
};
const messageOf = ({ body }: Reply): unknown => (body['error'] as Fields)['message'];
const refusal = ({ status, code }: Reply): unknown[] => [status, code];

/** A promise, and the function that fulfils it. */
const gate = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
};

const unwritable = () => Promise.reject(new EventStoreUnavailable('the disk is full'));

/** What an organization has, as the API and the log show it. */
const belongings = async (service: RunningService, { api, balance }: Tenant): Promise<unknown> => ({
  head: (await service.operator('/operator/v1/anchor')).body['position'],
  balance: await balance(),
  cards: (await api('/api/v1/cards')).rows,
  contacts: (await api('/api/v1/contacts')).rows,
  endpoints: (await api('/api/v1/webhooks')).rows,
});

describe('a failure of the service', () => {
  let service: RunningService;
  let tenant: Tenant;
  let office: string;
  let card: string;
  let hook: Fields;
  let endpoint: string;
  const interference: Interference = {};
  before(async () => {
    service = await startTestService({}, new SystemClock(), [], interference);
    tenant = await service.tenant({ credits: 20 });
    office = `/operator/v1/organizations/${tenant.org}`;
    card = (await tenant.api('/api/v1/cards', { body: aLaterCard() })).id;
    hook = (await service.operator(`${office}/hooks`, { body: {} })).body;
    endpoint = (
      await tenant.api('/api/v1/webhooks', {
        body: { url: 'https://93.184.215.14/hook', events: ['card.mailed'] },
      })
    ).id;
    await tenant.api('/api/v1/contacts', { body: { name: 'Ann', external_id: 'known' } });
  });
  afterEach(() => {
    for (const name of ['append', 'readEvents', 'readModels', 'claim'] as const) delete interference[name];
  });
  after(() => service.stop());

  const send = (key: string | null = null): Promise<Reply> =>
    tenant.api('/api/v1/cards', {
      body: aLaterCard(),
      headers: key === null ? {} : { 'idempotency-key': key },
    });
  const fire = (): Promise<Reply> =>
    service.anonymous(`/api/v1/hooks/${String(hook['token'])}`, { body: hello });

  /** Makes a call under interference, and expects that it has changed nothing. */
  const changesNothing = async (way: Interference, ask: () => Promise<Reply>): Promise<Reply> => {
    const before = await belongings(service, tenant);
    Object.assign(interference, way);
    const reply = await ask();
    for (const name of Object.keys(way)) Reflect.deleteProperty(interference, name);
    if (reply.status === 500) expect(messageOf(reply)).to.match(/\b(?:not|nothing)\b.* again\.$/i);
    expect(await belongings(service, tenant)).to.deep.equal(before);
    return reply;
  };

  const unwritten: readonly (readonly [string, string, () => Promise<Reply>])[] = [
    ['a card', 'order_failed', () => send()],
    ['a card with a key', 'order_failed', () => send('a key')],
    [
      'a card that a person must see',
      'order_failed',
      () => tenant.api('/api/v1/cards', { body: aLaterCard({ message: '🎉' }) }),
    ],
    ['a card through a hook', 'order_failed', fire],
    ['a cancel', 'internal_error', () => tenant.api(`/api/v1/cards/${card}`, { method: 'DELETE' })],
    [
      'a new contact',
      'create_failed',
      () => tenant.api('/api/v1/contacts', { body: { name: 'Bo', external_id: 'new' } }),
    ],
    [
      'a contact without an external_id',
      'create_failed',
      () => tenant.api('/api/v1/contacts', { body: { name: 'Bo' } }),
    ],
    [
      'a known contact',
      'update_failed',
      () => tenant.api('/api/v1/contacts', { body: { name: 'Bo', external_id: 'known' } }),
    ],
    [
      'the registration of an endpoint',
      'internal_error',
      () => tenant.api('/api/v1/webhooks', { body: { url: 'https://93.184.215.14/other' } }),
    ],
    [
      'the deletion of an endpoint',
      'internal_error',
      () => tenant.api(`/api/v1/webhooks/${endpoint}`, { method: 'DELETE' }),
    ],
    [
      'a hold',
      'internal_error',
      () => service.operator(`/operator/v1/cards/${card}/hold`, { body: { reason: 'Wait' } }),
    ],
    ['credits', 'internal_error', () => service.operator(`${office}/credits`, { body: { amount: 1 } })],
  ];
  for (const [what, code, ask] of unwritten)
    it(`is ${code} if ${what} can't be written: nothing is made, charged or changed`, async () => {
      expect(refusal(await changesNothing({ append: unwritable }, ask))).to.deep.equal([500, code]);
    });

  it("frees the Idempotency-Key if the card can't be written: the same request then makes it, for one credit", async () => {
    const balance = await tenant.balance();
    interference.append = unwritable;
    expect(refusal(await send('a key again'))).to.deep.equal([500, 'order_failed']);
    delete interference.append;
    const sent = await send('a key again');
    expect([sent.status, sent.headers.get('idempotent-replay'), await tenant.balance()]).to.deep.equal([
      201,
      null,
      balance - 1,
    ]);
  });

  it('is recorded in the call log of the hook', async () => {
    await changesNothing({ append: unwritable }, fire);
    const [call] = (await service.operator(`${office}/hooks/${String(hook['id'])}/calls`)).rows;
    expect([call?.['status'], call?.['code'], call?.['card']]).to.deep.equal([500, 'order_failed', null]);
  });

  it('is read_failed for every list and lookup, except of endpoints and their deliveries, while neither events nor read models can be read', async () => {
    const away = async () => {
      throw new ReadModelsUnavailable('the read models are away');
    };
    const gone = async () => {
      throw new EventStoreUnavailable('the event store is away');
    };
    const paths = operationsOf(await readDocument(service.baseUrl))
      .filter(
        ({ method, security, responses }) =>
          method === 'GET' &&
          security.length > 0 &&
          responses['200']?.content?.['application/json'] !== undefined,
      )
      .map(({ path }) => path);
    const known: Readonly<Record<string, string>> = {
      org: tenant.org,
      card_code: card,
      id: String(hook['id']),
    };
    // The delivery store knows endpoints and deliveries, and no endpoint has the id of the hook.
    const elsewhere: Readonly<Record<string, readonly [number, string | null]>> = {
      '/api/v1/webhooks': [200, null],
      '/api/v1/webhooks/{id}': [404, 'not_found'],
      '/api/v1/deliveries': [200, null],
      '/operator/v1/deliveries': [200, null],
      '/operator/v1/webhooks': [200, null],
      '/api/v1/deliveries/{id}': [404, 'not_found'],
      '/operator/v1/organizations/{org}/deliveries/{id}': [404, 'not_found'],
      '/operator/v1/requests/{request_id}': [404, 'not_found'],
      // It asks for a subject before anything is read, and the request log is in neither store.
      '/operator/v1/requests': [400, 'invalid_parameter'],
    };
    expect(paths.length).to.be.above(15);
    for (const path of paths) {
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? '');
      const client = path.startsWith('/operator/') ? service.operator : tenant.api;
      const reply = await changesNothing({ readModels: away, readEvents: gone }, () => client(address));
      expect(refusal(reply), path).to.deep.equal(elsewhere[path] ?? [500, 'read_failed']);
    }
  });
  it("refuses a send whose Idempotency-Key can't be looked up, and accepts one without a key", async () => {
    const claim = async () => {
      throw new IdempotencyUnavailable('the keys are away');
    };
    const refused = await changesNothing({ claim }, () => send('a key out of reach'));
    expect(refusal(refused)).to.deep.equal([400, 'invalid_idempotency_key']);
    const balance = await tenant.balance();
    interference.claim = claim;
    expect((await send()).status).to.equal(201);
    delete interference.claim;
    const sent = await send('a key out of reach');
    expect([sent.status, sent.headers.get('idempotent-replay'), await tenant.balance()]).to.deep.equal([
      201,
      null,
      balance - 2,
    ]);
  });

  it('does not follow from a slow request: its key gets request_in_progress while it runs, and its replay afterwards', async () => {
    const balance = await tenant.balance();
    const [arrived, released] = [gate(), gate()];
    interference.append = async (writes, append) => {
      arrived.open();
      await released.opened;
      return append(writes);
    };
    const first = send('a slow key');
    await arrived.opened;
    const during = [
      await send('a slow key'),
      await tenant.api('/api/v1/cards', {
        body: aLaterCard({ message: 'Other' }),
        headers: { 'idempotency-key': 'a slow key' },
      }),
    ];
    expect(during.map((reply) => [...refusal(reply), reply.headers.get('retry-after')])).to.deep.equal([
      [409, 'request_in_progress', '1'],
      [422, 'idempotency_key_reused', null],
    ]);
    expect(during[0]?.text).to.include('with this Idempotency-Key is still running. Wait a second');
    released.open();
    const sent = await first;
    delete interference.append;
    expect([sent.status, sent.headers.get('idempotent-replay')]).to.deep.equal([201, null]);
    const replayed = await send('a slow key');
    expect([replayed.status, replayed.text, replayed.headers.get('idempotent-replay')]).to.deep.equal([
      201,
      sent.text,
      'true',
    ]);
    expect(await tenant.balance()).to.equal(balance - 1);
  });
});

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'a card that was paid for but abandoned before it was written',
  () => {
    let service: RunningService;
    let wiring: Awaited<ReturnType<typeof distributedWiring>>;
    let directory: string;
    const interference: Interference = {};
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'cards-'));
      wiring = await distributedWiring(directory);
      const settings = { ...wiring.environment, RECONCILE_AFTER: '1ms' };
      service = await startTestService(settings, new SystemClock(), [], interference);
    });
    afterEach(() => delete interference.append);
    after(async () => {
      await service.stop();
      await wiring.clear();
      await rm(directory, { recursive: true, force: true });
    });

    /**
     * Delays the next card after it was paid for, until the reconciler has abandoned it. Resolves when that
     * has happened.
     */
    const loseNextPlace = (): Promise<void> => {
      const abandoned = gate();
      let held = false;
      interference.append = async (writes, append) => {
        const type = writes[0]?.events[0]?.type;
        if (type === 'CardScheduled' && !held) {
          held = true;
          await abandoned.opened;
        }
        const outcomes = await append(writes);
        if (type === 'CardAbandoned') abandoned.open();
        return outcomes;
      };
      return abandoned.opened;
    };

    it('is refused with production_failed: no card is made, and the credit is returned', async () => {
      const tenant = await service.tenant({ credits: 2 });
      const made = await service.operator(`/operator/v1/organizations/${tenant.org}/hooks`, { body: {} });
      for (const send of [
        () => tenant.api('/api/v1/cards', { body: aLaterCard() }),
        () => service.anonymous(`/api/v1/hooks/${String(made.body['token'])}`, { body: hello }),
      ]) {
        const lost = loseNextPlace();
        expect(refusal(await send())).to.deep.equal([500, 'production_failed']);
        await lost;
        await eventually(async () => (await tenant.balance()) === 2);
        expect((await tenant.api('/api/v1/cards')).rows).to.deep.equal([]);
      }
    });
    it('is made under another code if the request has an Idempotency-Key', async () => {
      const tenant = await service.tenant({ credits: 2 });
      const send = () =>
        tenant.api('/api/v1/cards', { body: aLaterCard(), headers: { 'idempotency-key': 'a key' } });
      const lost = loseNextPlace();
      const sent = await send();
      expect(sent.status).to.equal(201);
      await lost;
      await eventually(async () => (await tenant.balance()) === 1);
      expect((await tenant.api('/api/v1/cards')).rows.map((row) => row['id'])).to.deep.equal([sent.id]);
      expect((await send()).text).to.equal(sent.text);
    });
  },
);
