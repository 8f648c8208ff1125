import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { markIn, setMark } from '../../adapters/mongodb/records/rehearsal.js';
import { markDirectory, markOfDirectory } from '../../bin/settings/rehearsal-mark.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { cheapPasswords } from '../support/fixtures/cheap-passwords.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import {
  aCard,
  built,
  clientOf,
  clientsOf,
  type Client,
  type Fields,
  type Reply,
} from '../support/http/service.js';
import { memberOf, operatorOf } from '../support/http/visitor.js';
import { drawn } from '../support/runner/effort.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring, testWaits } from '../support/runner/wiring.js';
import { run, start as startProgram } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';

/** How many cards there are before the move, and how often each copy is killed. */
const [cards, kills] = [Number(process.env['MOVE_CARDS'] ?? 60), Number(process.env['MOVE_KILLS'] ?? 3)];
/** A copy of a few cards may be through before it is killed again. */
const leastKills = process.env['MOVE_KILLS'] === undefined ? 1 : kills;
const senders = 16;
/** A repeat costs what a send costs. */
const maxRepeated = 2_000;
const within = { within: 60_000 + 20 * cards };

const later = { arrive_on: '2099-03-03' };

/** What a customer knows: its sends by their keys, and those that got no response. */
class Customer {
  readonly codes = new Map<string, string>();
  readonly unanswered: string[] = [];
  #sends = 0;

  constructor(private readonly key: string) {}

  async send(baseUrl: string, key = `send ${(this.#sends += 1)}`): Promise<void> {
    const body = aCard({ ...later, reference: key.slice(-3) });
    try {
      const sent = await clientOf(baseUrl, this.key)('/api/v1/cards', {
        body,
        headers: { 'idempotency-key': key },
      });
      expect([sent.status, key]).to.deep.equal([201, key]);
      const known = this.codes.get(key);
      if (known !== undefined)
        expect([sent.id, sent.headers.get('idempotent-replay')]).to.deep.equal([known, 'true']);
      this.codes.set(key, sent.id);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.unanswered.push(key);
    }
  }

  /** Sends until there is no response. */
  async keepSending(baseUrl: string): Promise<void> {
    while (this.unanswered.length === 0) await this.send(baseUrl);
  }

  /** Repeats each send that got no response, and all others or, of very many, those that are drawn. */
  async repeatSends(baseUrl: string): Promise<void> {
    const keys = [...drawn([...this.codes.keys()], maxRepeated), ...this.unanswered.splice(0)];
    const repeat = async (): Promise<void> => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) await this.send(baseUrl, key);
    };
    await Promise.all(Array.from({ length: senders }, repeat));
    expect(this.unanswered).to.deep.equal([]);
  }
}

/** Without what names places in the log, which each wiring counts in its own way. */
const withoutPositions = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutPositions);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !['position', 'as_of', 'from', 'to', 'wrote'].includes(name))
      .map(([name, of]) => [name, withoutPositions(of)]),
  );
};

/** Reads again if the service has closed an idle connection while this process compared long lists. */
const read = (operator: Client, path: string): Promise<Reply> =>
  built(operator(`/operator/v1${path}`).catch(() => operator(`/operator/v1${path}`)));

const allRows = async (operator: Client, path: string): Promise<readonly Fields[]> => {
  const rows: Fields[] = [];
  for (let cursor = ''; ;) {
    const query = cursor === '' ? '' : `${path.includes('?') ? '&' : '?'}starting_after=${cursor}`;
    const { body } = await read(operator, `${path}${query}`);
    rows.push(...(body['data'] as readonly Fields[]));
    cursor = typeof body['next_cursor'] === 'string' ? body['next_cursor'] : '';
    if (cursor === '') return rows;
  }
};

/** Whether a delivery has failed so far, and is to be tried again. */
const isHalfDone = ({ status, attempts }: Fields): boolean =>
  status === 'pending' && (attempts as readonly unknown[]).length > 0;

/** All that a service shows of an organization. */
const shown = async (service: Service, org: string, hook: string, request: string): Promise<Fields> => {
  const { operator } = clientsOf(service);
  const of = `/organizations/${org}`;
  const lists = {
    cards: `/cards?organization=${org}&limit=200`,
    contacts: `${of}/contacts?limit=200`,
    movements: `${of}/credits/movements?limit=200`,
    keys: `${of}/keys`,
    designs: `${of}/designs`,
    webhooks: `${of}/webhooks`,
    deliveries: `${of}/deliveries?limit=200`,
    hooks: `${of}/hooks`,
    calls: `${of}/hooks/${hook}/calls?limit=200`,
    members: `${of}/members`,
    doNotMail: `${of}/do-not-mail`,
    organizations: '/organizations',
  };
  const found: Record<string, unknown> = {};
  for (const [name, path] of Object.entries(lists)) found[name] = await allRows(operator, path);
  for (const [name, path] of [
    ['credits', `${of}/credits`],
    ['reconciliation', `${of}/reconciliation`],
    ['request', `/requests/${request}`],
  ] as const)
    found[name] = (await read(operator, path)).body;
  const { text } = await read(operator, '/events?until=head&personal=withhold');
  found['events'] = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data:') ? [JSON.parse(line.slice(5)) as Fields] : []))
    .filter(({ type }) => type !== 'AuditExported');
  return withoutPositions(found) as Fields;
};

/** Compares list by list, and row by row, so that a difference can be read. */
const expectSame = (found: Fields, wanted: Fields): void => {
  expect(Object.keys(found)).to.deep.equal(Object.keys(wanted));
  for (const [name, rows] of Object.entries(wanted))
    if (JSON.stringify(found[name]) !== JSON.stringify(rows)) {
      const there = found[name];
      if (!Array.isArray(rows) || !Array.isArray(there)) expect(there, name).to.deep.equal(rows);
      else for (const [at, row] of rows.entries()) expect(there[at], `${name} ${at}`).to.deep.equal(row);
      expect(there, name).to.have.lengthOf((rows as readonly unknown[]).length);
    }
};

/** The events in an export of an organization. The export is recorded itself, so proofs change. */
const exported = async (service: Service, org: string): Promise<readonly unknown[]> => {
  const { text } = await read(clientsOf(service).operator, `/exports?organization=${org}`);
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{"index"') || line.includes('AuditExported')) return [];
    const { proof: _proof, index: _index, ...event } = JSON.parse(line) as Fields;
    return [event];
  });
};

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'a service that moves from files to servers and back',
  () => {
    let directory: string;
    let data: string;
    let wiring: Awaited<ReturnType<typeof distributedWiring>>;
    let receiver: Receiver;
    const running = new Set<Service>();
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'cards-'));
      data = join(directory, 'data');
      await mkdir(data, { mode: 0o700 });
      wiring = await distributedWiring(directory);
      receiver = await startReceiver(500);
    });
    after(async () => {
      for (const service of running) await service.stop();
      await receiver.close();
      await wiring.clear();
      await rm(directory, { recursive: true, force: true });
    });

    const servers = () => ({
      ...wiring.environment,
      SECRET_KEY_FILE: join(data, 'secret.key'),
      EVENT_KEY_FILE: join(data, 'event.key'),
    });
    const start = async (environment: Readonly<Record<string, string>> = {}): Promise<Service> => {
      const service = await startService({
        settings: readSettings({
          PORT: '0',
          DATA_DIR: data,
          DEMO: 'off',
          ...receiverSettings,
          WEBHOOK_BACKOFF: testWaits,
          WEBHOOK_DISABLE_AFTER: '1000000',
          RATE_LIMIT_PER_MINUTE: '1000000000',
          ...environment,
        }),
        role: 'all',
        clock: new SystemClock(),
        entropy: new SystemEntropy(),
        log: pino({ level: 'silent' }),
        extraCertificates: [authority.cert],
        namespace: environment['EVENTSTORE_URL'] === undefined ? '' : wiring.namespace,
        passwordCost: cheapPasswords,
        fail: (error) => {
          throw error;
        },
      });
      running.add(service);
      await service.prepared;
      await eventually(async () => (await fetch(`${service.baseUrl}/readyz`)).status === 200, within);
      return service;
    };
    const stop = async (service: Service): Promise<void> => {
      running.delete(service);
      await service.stop();
    };
    const unfinished = 'it is an unfinished copy';
    /** The mark of the place that is copied to, and how to set it. */
    const markOf = (to: string, database: MongoDatabase) =>
      to === data
        ? {
            why: async () => markOfDirectory(data)?.why,
            set: async (why: string) => markDirectory(data, { why, state: 'unfinished' }),
          }
        : {
            why: async () => (await markIn(database))?.why,
            set: (why: string) => setMark(database, { why, state: 'unfinished' }),
          };
    /** Copies, and is killed on the way: once it has begun, later from time to time. */
    const copy = async (from: string, to: string): Promise<void> => {
      const environment = { DATA_DIR: data, ...servers(), EVENTSTORE_PREFIX: wiring.namespace };
      const args = ['log', 'copy', '--from', from, '--to', to];
      const database = new MongoDatabase(wiring.environment['MONGODB_URL'] ?? '', new SystemClock());
      const mark = markOf(to, database);
      let killed = 0;
      for (let longest = 100; killed < kills; longest = Math.min(2 * longest, 4_000)) {
        const copying = startProgram('cli', args, environment);
        await eventually(async () => (await mark.why()) === unfinished, within);
        const kill = pause(randomInt(longest)).then(() => copying.kill('SIGKILL'));
        const { code, error } = await copying.ended;
        await kill;
        if (code === 0) break;
        expect([code, error.replaceAll(/.* events \.\.\.\n/g, '')]).to.deep.equal([null, '']);
        expect(await mark.why()).to.equal(unfinished);
        // By this, the next one is seen to begin.
        await mark.set('it was killed');
        killed += 1;
      }
      await database.close();
      expect(killed).to.be.at.least(leastKills);
      if (killed < kills) return;
      const began = process.hrtime.bigint();
      const { code, out, error } = await run('cli', args, environment);
      expect([code, error.replaceAll(/.* events \.\.\.\n/g, '')]).to.deep.equal([0, '']);
      if (process.env['MOVE_CARDS'] !== undefined)
        console.log(out, Number(process.hrtime.bigint() - began) / 1e9, 's after', killed, 'kills');
    };

    it('shows the same, keeps keys and webhooks, and loses nothing that was acknowledged', async () => {
      const files = await start();
      const { operator, tenant } = clientsOf(files);
      const { org, key, api, design } = await tenant({ credits: 1_000_000_000 });
      const { body: hook } = await built(
        operator(`/operator/v1/organizations/${org}/hooks`, {
          body: { name: 'Shop', design_id: design, template: 'Thank you!' },
        }),
      );
      const call = await built(
        clientOf(files.baseUrl, null)(new URL(String(hook['url'])).pathname, {
          body: {
            name: 'Ada Lovelace',
            line1: '12 Analytical Way',
            city: 'Springfield',
            state: 'IL',
            zip: '62701',
            ...later,
          },
        }),
      );
      await built(api('/api/v1/webhooks', { body: { url: `${receiver.url}fails` } }));
      await built(
        api('/api/v1/webhooks', { body: { url: `${receiver.url}works`, events: ['card.created'] } }),
      );
      await memberOf({ operator, baseUrl: files.baseUrl }, org, 'owner');
      await operatorOf({ operator, baseUrl: files.baseUrl });
      for (let at = 0; at < 20; at += 1)
        await built(
          api('/api/v1/contacts', {
            body: { name: `Ada ${at}`, external_id: `crm-${at}`, email: `${at}@example.com` },
          }),
        );
      await built(
        operator(`/operator/v1/organizations/${org}/do-not-mail`, { body: { email: '1@example.com' } }),
      );
      const halfAnswers: typeof receiver.answer = (response, { path }) =>
        void response.writeHead(path === '/works' ? 200 : 500).end();
      receiver.answer = halfAnswers;
      const customer = new Customer(key);
      await Promise.all(
        Array.from({ length: senders }, async () => {
          while (customer.codes.size < cards) await customer.send(files.baseUrl);
        }),
      );
      const [cancelled = '', erased = ''] = customer.codes.values();
      for (const code of [cancelled, erased]) await built(api(`/api/v1/cards/${code}`, { method: 'DELETE' }));
      await built(
        operator(`/operator/v1/organizations/${org}/erasures`, {
          body: { cards: [erased], reason: 'Asked to' },
        }),
      );
      const sending = customer.keepSending(files.baseUrl);
      await eventually(() => receiver.received.some(({ path }) => path === '/works'));
      await stop(files);
      await sending;

      const still = { WEBHOOK_DELIVERY: 'off' };
      const request = call.headers.get('x-request-id') ?? '';
      const seen = async (service: Service) => shown(service, org, String(hook['id']), request);
      /** What each part of a service says of itself: projections, how far they have come. */
      const parts = async ({ baseUrl }: Service): Promise<string> =>
        (await fetch(`${baseUrl}/readyz`)).text();
      const settled = (service: Service): Promise<Fields> =>
        eventually(async () => {
          const before = await parts(service);
          if (/"at \d+ of|not known yet/.test(before)) return null;
          const all = await seen(service);
          return (await parts(service)) === before ? all : null;
        }, within);
      const again = await start(still);
      const inFiles = { ...(await settled(again)), exported: await exported(again, org) };
      await stop(again);

      const url = wiring.environment['EVENTSTORE_URL'] ?? '';
      await copy(data, url);
      const quiet = await start({ ...servers(), ...still });
      expectSame({ ...(await settled(quiet)), exported: await exported(quiet, org) }, inFiles);
      await stop(quiet);

      const there = await start(servers());
      await customer.repeatSends(there.baseUrl);
      for (let at = 0; at < 10; at += 1) await customer.send(there.baseUrl);
      receiver.answer = 200;
      const pending = async (service: Service) =>
        (await read(clientsOf(service).operator, `/organizations/${org}/deliveries?status=pending&limit=1`))
          .body['data'];
      await eventually(async () => expect(await pending(there)).to.deep.equal([]), within);
      receiver.answer = halfAnswers;
      const before = receiver.received.length;
      const stillSending = customer.keepSending(there.baseUrl);
      await eventually(() => receiver.received.slice(before).some(({ path }) => path === '/fails'));
      await stop(there);
      await stillSending;
      const still2 = await start({ ...servers(), ...still });
      const onServers = { ...(await settled(still2)), exported: await exported(still2, org) };
      await stop(still2);
      for (const { deliveries, doNotMail } of [inFiles, onServers] as readonly Fields[]) {
        expect(doNotMail).to.have.length(1);
        expect((deliveries as readonly Fields[]).some(isHalfDone), 'a half-finished delivery').to.equal(true);
      }

      await copy(url, data);
      const back = await start(still);
      expectSame({ ...(await settled(back)), exported: await exported(back, org) }, onServers);
      await stop(back);
      receiver.answer = 200;
      const last = await start();
      await customer.repeatSends(last.baseUrl);
      await customer.send(last.baseUrl);
      await eventually(async () => expect(await pending(last)).to.deep.equal([]), within);
      await stop(last);
    }).timeout(0);
  },
);
