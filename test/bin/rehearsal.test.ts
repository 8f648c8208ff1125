import { expect } from 'chai';
import { hash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { dueDay, soonestArrival, today } from '../../domain/calendar.js';
import { signerFrom } from '../../domain/signed-note.js';
import { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';
import { cheapPasswords } from '../support/fixtures/cheap-passwords.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import { authority, receiverSettings, startReceiver } from '../support/http/receiver.js';
import { aCard, built, clientOf, clientsOf, startTestService, type Client } from '../support/http/service.js';
import { operatorOf } from '../support/http/visitor.js';
import { rounds } from '../support/runner/effort.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring, testWaits } from '../support/runner/wiring.js';
import { command, type Ended } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';

type Environment = Readonly<Record<string, string>>;

/** A place for a service and one for its copy, in one wiring. */
interface Places {
  readonly original: Environment;
  readonly copy: Environment;
  readonly namespace: string;
  /** Copies what the original holds, while it runs. */
  readonly makeCopy: () => Promise<void>;
  readonly clear: () => Promise<void>;
}

const clock = new SystemClock();

/** How many cards the original sends before what the copy has done is looked at. */
const sendsBeside = rounds({ usually: 0, thoroughly: 200, named: 'REHEARSAL_SENDS' });

/** What changes nothing that lasts, beside what is only read. */
const goesOnInACopy = ['previewLetter', 'makeConsoleLink', 'rebuildProjection'];

/** The fewest days in the mail with which a card is due on the day on which it is sent. */
const mailDays = (): number => {
  const day = today(clock.instant(), 'America/New_York');
  return (
    [0, 1, 2, 3, 4].find((days) => {
      const planning = { productionDays: 0, mailDays: days };
      return dueDay(soonestArrival(day, planning), planning) <= day;
    }) ?? 0
  );
};

const cli = async (line: string, environment: Environment): Promise<Ended> => {
  const ended = await command(line.split(' '), environment);
  expect([ended.code, ended.error], line).to.deep.equal([0, '']);
  return ended;
};

const inFiles = async (directory: string): Promise<Places> => {
  const original = { DATA_DIR: join(directory, 'data') };
  const copy = { DATA_DIR: join(directory, 'copy') };
  return {
    original,
    copy,
    namespace: '',
    makeCopy: async () => {
      await cli(`backup ${join(directory, 'backup')}`, original);
      await cli(`restore ${join(directory, 'backup')}`, copy);
    },
    clear: () => Promise.resolve(),
  };
};

const onServers = async (directory: string): Promise<Places> => {
  const data = join(directory, 'data');
  await mkdir(data, { mode: 0o700 });
  const { environment, namespace, eventStore, clear } = await distributedWiring(data);
  await writeLogKey(data, signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
  const other = await EventStoreDbStandIn.start(clock);
  const original = { ...environment, DATA_DIR: data };
  const [mongo = '', options] = (environment['MONGODB_URL'] ?? '').split('?');
  const copied = join(directory, 'copy');
  const copy = {
    ...environment,
    DATA_DIR: copied,
    EVENTSTORE_URL: other.url,
    MONGODB_URL: `${mongo}copy${options === undefined ? '' : `?${options}`}`,
    SECRET_KEY_FILE: join(copied, 'secret.key'),
    EVENT_KEY_FILE: join(copied, 'event.key'),
  };
  const prefix = { EVENTSTORE_PREFIX: namespace };
  return {
    original,
    copy,
    namespace,
    makeCopy: async () => {
      const [records, keys] = [join(directory, 'backup'), join(directory, 'backup.keys')];
      await mkdir(copied, { mode: 0o700 });
      await cli(`backup ${records}`, { ...original, ...prefix });
      other.replace(eventStore.standIn?.kept ?? []);
      await cli(`backup ${keys}`, { ...original, ...prefix });
      const token = join(copied, 'operator.token');
      await writeFile(token, 't'.repeat(32), { mode: 0o600 });
      const { out } = await cli(`restore ${records}`, { ...copy, ...prefix });
      expect(out).to.include(`${token} is not the backup's, and was kept.`);
      await cli(`restore ${keys}`, { ...copy, ...prefix });
    },
    clear: async () => {
      other.down();
      await clear();
    },
  };
};

const rehearses = (placesIn: (directory: string) => Promise<Places>, isEmbedded: boolean): void => {
  let directory: string;
  let places: Places;
  const running = new Set<Service>();
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    places = await placesIn(directory);
    for (const name of ['data', 'copy']) await mkdir(join(directory, `${name}-anchors`));
  });
  after(async () => {
    for (const service of running) await service.stop();
    await places.clear();
    await rm(directory, { recursive: true, force: true });
  });

  const start = async (environment: Environment): Promise<Service> => {
    const service = await startService({
      settings: readSettings({
        PORT: '0',
        DEMO: 'off',
        ...receiverSettings,
        WEBHOOK_BACKOFF: testWaits,
        WEBHOOK_DISABLE_AFTER: '1000000',
        FLOOR_SIMULATION: '1s',
        PRODUCTION_DAYS: '0',
        MAIL_DAYS: String(mailDays()),
        RATE_LIMIT_PER_MINUTE: '1000000',
        LOG_ANCHOR_DIR: `${environment['DATA_DIR'] ?? ''}-anchors`,
        ...environment,
      }),
      role: 'all',
      clock,
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      extraCertificates: [authority.cert],
      namespace: places.namespace,
      passwordCost: cheapPasswords,
      fail: (error) => {
        throw error;
      },
    });
    running.add(service);
    await service.prepared;
    return service;
  };
  const stop = async (service: Service): Promise<void> => {
    running.delete(service);
    await service.stop();
  };
  const promote = (environment: Environment): Promise<Ended> =>
    command(['promote'], { ...environment, EVENTSTORE_PREFIX: places.namespace });
  const acceptRestore = (environment: Environment): Promise<Ended> =>
    command(['log', 'accept-restore', '--by', 'Ada Lovelace'], environment);
  const parts = async ({ baseUrl }: Service) => {
    const { parts: all } = (await (await fetch(`${baseUrl}/readyz`)).json()) as {
      readonly parts: readonly { readonly name: string; readonly ready: boolean; readonly detail: string }[];
    };
    return all;
  };
  const rehearsal = async (service: Service) =>
    (await parts(service)).find(({ name }) => name === 'rehearsal');
  const isReady = async (service: Service): Promise<boolean> =>
    (await parts(service)).every(({ ready }) => ready);
  /** What must not change in a copy. */
  const stateOf = async (service: Service, org: string, environment: Environment) => {
    const { operator } = clientsOf(service);
    const { body: anchor } = await operator('/operator/v1/anchor');
    const { rows: deliveries } = await operator(`/operator/v1/organizations/${org}/deliveries?limit=200`);
    const data = environment['DATA_DIR'] ?? '';
    return {
      head: [anchor['position'], anchor['hash'], anchor['checkpoint']],
      deliveries,
      signed: await readFile(join(data, 'log.head'), 'utf8'),
      anchors: await readdir(`${data}-anchors`),
    };
  };
  const statusOf = async (api: Client, code: string) => (await api(`/api/v1/cards/${code}`)).body['status'];
  const send = async (api: Client): Promise<string> =>
    (await built(api('/api/v1/cards', { body: aCard() }))).id;

  it('reads, refuses and does nothing beside its original under load, until it is promoted', async () => {
    const receiver = await startReceiver(500);
    let isOver = false;
    try {
      const original = await start(places.original);
      const { org, api, key } = await clientsOf(original).tenant({ credits: 1_000_000 });
      await built(api('/api/v1/webhooks', { body: { url: receiver.url } }));
      const office = `/operator/v1/organizations/${org}`;
      const { body: hook } = await clientsOf(original).operator(`${office}/hooks`, { body: {} });
      const sent: string[] = [];
      const load = (async () => {
        for (; !isOver; await api('/api/v1/cards')) sent.push(await send(api));
      })();
      await eventually(() => sent.length > 20 && receiver.received.length > 5);
      await places.makeCopy();
      const copied = sent[10] ?? '';

      const copy = await start(places.copy);
      const [mine, operator] = [clientOf(copy.baseUrl, key), clientsOf(copy).operator];
      await eventually(() => isReady(copy));
      expect(await rehearsal(copy)).to.deep.equal({
        name: 'rehearsal',
        ready: true,
        detail: `it was restored from ${join(directory, isEmbedded ? 'backup' : 'backup.keys')}`,
      });
      expect(await rehearsal(original)).to.equal(undefined);
      const found = await mine(`/api/v1/cards/${copied}`);
      expect([found.status, found.body['recipient']]).to.have.nested.property('1.name', 'Ada Lovelace');
      const listed = await mine('/api/v1/cards?limit=200');
      expect([listed.status, listed.code]).to.deep.equal([200, null]);
      expect(listed.rows.map(({ id }) => id)).to.include(copied);
      expect((await mine('/api/v1/previews', { body: { message: 'Dear Ada,' } })).status).to.equal(200);
      const rebuilt = await operator('/operator/v1/projections/cards/rebuild', { method: 'POST' });
      expect(rebuilt.status).to.equal(202);
      const before = await stateOf(copy, org, places.copy);
      expect(before.deliveries.some(({ status }) => status === 'pending')).to.equal(true);
      expect(before.signed).to.equal(await readFile(join(directory, 'backup', 'log.head'), 'utf8'));
      expect(before.anchors).to.deep.equal([]);

      const names: Readonly<Record<string, string>> = { org, code: copied, token: String(hook['token']) };
      const changing: string[] = [];
      for (const { method, path, operationId } of operationsOf(await readDocument(copy.baseUrl))) {
        if ((method === 'GET' && operationId !== 'exportEvents') || goesOnInACopy.includes(operationId))
          continue;
        const ask = path.startsWith('/operator') ? operator : mine;
        const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? 'x');
        const { status, code } = await ask(address, { method, ...(method !== 'GET' && { body: {} }) });
        expect([operationId, status, code]).to.deep.equal([operationId, 503, 'rehearsal']);
        changing.push(operationId);
      }
      expect(changing.length).to.be.above(40);
      const visitor = await operatorOf({ operator, baseUrl: copy.baseUrl });
      const contacts = `/console/${org}/contacts`;
      expect((await visitor.get(contacts)).text).to.include('This is a copy of the service, for rehearsal');
      const saving = await visitor.submit(contacts, 'make', { first_name: 'Summer' });
      expect([saving.status, saving.text.includes('nothing is changed or sent from here')]).to.deep.equal([
        503,
        true,
      ]);

      await eventually(() => sent.length > sendsBeside, { within: 1_800_000 });
      // As long as the original takes to queue what was sent since, and to sign it.
      const later = [await send(api), await send(api)];
      await eventually(async () => (await statusOf(api, later[1] ?? '')) !== 'pending', { within: 60_000 });
      const now = await stateOf(original, org, places.original);
      expect([now.anchors.length > 0, now.signed === before.signed]).to.deep.equal([true, false]);
      expect(await stateOf(copy, org, places.copy)).to.deep.equal(before);

      await stop(copy);
      if (isEmbedded) {
        const { code, error } = await promote(places.copy);
        expect([code, error.includes('is in use by another process')], error).to.deep.equal([1, true]);
      }
      isOver = true;
      await load;
      await stop(original);
      const { out } = await promote(places.copy);
      expect(out).to.include('is the service from the next start on.');
      expect(await promote(places.copy)).to.include({ code: 1 });
      // The original signed more than the backup holds; on servers it has a head of its own.
      if (isEmbedded) expect(await acceptRestore(places.copy)).to.include({ code: 0 });
      const attempts = receiver.received.length;
      const promoted = await start(places.copy);
      expect(await rehearsal(promoted)).to.equal(undefined);
      await send(clientOf(promoted.baseUrl, key));
      await eventually(() => receiver.received.length > attempts + 1);
      await eventually(async () => (await stateOf(promoted, org, places.copy)).signed !== before.signed);
      if (!isEmbedded) return;
      const replaced = await start(places.original);
      expect(await rehearsal(replaced)).to.deep.include({
        detail: `it was replaced by ${places.copy['DATA_DIR']}`,
      });
      const refused = await clientOf(replaced.baseUrl, key)('/api/v1/cards', { body: aCard() });
      expect([refused.status, refused.code]).to.deep.equal([503, 'rehearsal']);
    } finally {
      isOver = true;
      await receiver.close();
    }
  }).timeout(1_800_000);
};

describe('a restored copy in files', () => rehearses(inFiles, true));
describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a restored copy on servers', () =>
  rehearses(onServers, false),
);

describe('a raw copy', () => {
  it('is a rehearsal with REHEARSAL=on, which no promotion ends', async () => {
    const service = await startTestService({ REHEARSAL: 'on' });
    try {
      const { status, code } = await service.operator('/operator/v1/organizations', {
        body: { name: 'Acme' },
      });
      expect([status, code]).to.deep.equal([503, 'rehearsal']);
    } finally {
      await service.stop();
    }
    const { code, error } = await command(['promote'], { REHEARSAL: 'on' });
    expect([code, error.includes('REHEARSAL is on')], error).to.deep.equal([1, true]);
  });

  it('is not changed, signed or moved with REHEARSAL=on by commands that work without the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'cards-'));
    try {
      const data = join(directory, 'data');
      const settings = readSettings({ PORT: '0', DEMO: 'off', DATA_DIR: data });
      const log = pino({ level: 'silent' });
      const failed = (error: unknown): never => {
        throw error;
      };
      const entropy = new SystemEntropy();
      const service = await startService({ settings, role: 'all', clock, entropy, log, fail: failed });
      await service.stop();
      await rm(join(data, 'log.head'), { force: true });
      const files = async () => {
        const entries = await readdir(data, { withFileTypes: true });
        const names = entries
          .filter((each) => each.isFile() && !each.name.endsWith('-shm'))
          .map(({ name }) => name);
        return Promise.all(
          names.map(async (name) => [name, hash('sha256', await readFile(join(data, name)))]),
        );
      };
      const before = await files();
      const nowhere = {
        EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
        MONGODB_URL: 'mongodb://127.0.0.1:1',
        RABBITMQ_URL: 'amqp://127.0.0.1:1',
      };
      const refused = async (line: string, environment: Environment): Promise<void> => {
        const raw = { DATA_DIR: data, REHEARSAL: 'on', ...environment };
        const { code, out, error } = await command(line.split(' '), raw);
        expect([code, out], line).to.deep.equal([1, '']);
        expect(error, line).to.match(
          /This is a copy of the service|this is not the service, REHEARSAL is on/,
        );
        expect(await files(), line).to.deep.equal(before);
      };
      const accept = 'log accept-restore --by Ada --begin-anew';
      for (const line of [accept, 'personal give-up --by Ada --yes']) await refused(line, {});
      await refused(accept, nowhere);
      await refused(`log copy --from ${data} --to esdb://127.0.0.1:2?tls=false`, nowhere);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
