import { expect } from 'chai';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoLogTiles } from '../../adapters/mongodb/records/log-tiles.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../application/ports/raw-log.js';
import { OtherLog } from '../../application/log/same-log.js';
import { explain } from '../../bin/wiring/exit.js';
import type { Role } from '../../bin/wiring/roles.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { signerFrom } from '../../domain/signed-note.js';
import type { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';
import { recordOf } from '../support/fixtures/records.js';
import { servedManipulations, takesNothingOut } from '../support/fixtures/served-manipulations.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { command } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';
import { eventMacs } from '../../domain/event-mac.js';
import { minted } from '../support/fixtures/minted.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
const signer = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7));
const patient = { within: 60_000 };

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a damaged log on servers', () => {
  let directory: string;
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  let database: MongoDatabase;
  let store: EventStoreDbEventStore;
  let server: EventStoreDbStandIn;
  let tiles: LogTiles;
  let api: Service;
  let events: readonly StoredEvent[];
  const services: Service[] = [];
  const failures: unknown[] = [];
  const logged: string[] = [];

  const settings = (more: Readonly<Record<string, string>> = {}) => ({
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    ...wiring.environment,
    ...more,
  });
  const start = async (role: Role, more: Readonly<Record<string, string>> = {}): Promise<Service> => {
    const service = await startService({
      settings: readSettings(settings(more)),
      role,
      clock,
      entropy,
      log: pino({ level: 'fatal' }, { write: (line: string) => void logged.push(line) }),
      fail: (error) => failures.push(error),
      namespace: wiring.namespace,
      timeouts: { lease: 3_000 },
    });
    services.push(service);
    return service;
  };
  const stop = async (service: Service): Promise<void> => {
    services.splice(services.indexOf(service), 1);
    await service.stop();
  };
  const rebuild = () =>
    command(['log', 'rebuild', '--json'], { ...settings(), EVENTSTORE_PREFIX: wiring.namespace });
  /** What /readyz says of the log. */
  const readiness = async ({ baseUrl }: Service) => {
    const { parts } = (await (await fetch(`${baseUrl}/readyz`)).json()) as {
      readonly parts: readonly { readonly name: string; readonly ready: boolean; readonly detail: string }[];
    };
    return parts.find(({ name }) => name === 'log');
  };
  /** The first event of the log that names a thing which is under another name while `work` runs. */
  const whileRenamed = async (work: (position: bigint) => Promise<void>): Promise<void> => {
    const first = events.find(({ data }) => data.includes('"Everyday"'))?.position;
    if (first === undefined) throw new Error('the catalogue has no such handwriting');
    server.rewrite('"Everyday"', '"Everynay"');
    await work(first).finally(() => server.rewrite('"Everynay"', '"Everyday"'));
  };

  before(async function () {
    this.timeout(180_000);
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
    // Nobody can change an event of a real server.
    if (wiring.eventStore.standIn === null) return this.skip();
    server = wiring.eventStore.standIn;
    database = new MongoDatabase(wiring.environment['MONGODB_URL'] ?? '', clock);
    tiles = mongoLogTiles(database);
    const { EVENTSTORE_URL: url = '' } = wiring.environment;
    store = new EventStoreDbEventStore({ url, prefix: wiring.namespace, clock, entropy });
    await writeLogKey(directory, signer);
    api = await start('api');
    await api.prepared;
    const projector = await start('projector');
    const { api: customer } = await clientsOf(api).tenant();
    const { id } = await customer('/api/v1/cards', { body: aCard() });
    await customer('/api/v1/cards', { body: aCard() });
    await customer(`/api/v1/cards/${id}`, { method: 'DELETE' });
    await clientsOf(api).operator('/operator/v1/organizations', { body: { name: 'The last event' } });
    await stop(projector);
    events = await store.readStored(0n, 10_000);
    const notary = await start('notary');
    await eventually(async () => (await tiles.newest())?.size === events.length, patient);
    await stop(notary);
  });
  after(async () => {
    for (const service of services.toReversed()) await stop(service);
    await store?.close();
    await database?.close();
    await wiring.clear();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(() => {
    failures.length = 0;
    logged.length = 0;
  });

  it('ends the notary with exit code 1, and `api` is not ready and shows no checkpoint, proof or export', () =>
    whileRenamed(async (position) => {
      const notary = await start('notary');
      const [error] = await eventually(() => (failures.length > 0 ? failures : null), patient);
      expect(error).to.include({ name: 'DamagedLog', position });
      expect(explain(error)).to.have.property('code', 1);
      expect(explain(error).message).to.include('Restore the event store');
      await stop(notary);
      expect((await fetch(`${api.baseUrl}/readyz`)).status).to.equal(503);
      expect(await readiness(api)).to.deep.include({ ready: false });
      expect((await readiness(api))?.detail).to.include(`damaged at position ${position}`);
      const { anonymous, operator } = clientsOf(api);
      expect((await anonymous('/log/checkpoint')).code).to.equal('log_damaged');
      for (const path of ['/exports?from=0', '/log/proof?stream=a-b&revision=0'])
        expect([path, (await operator(`/operator/v1${path}`)).code]).to.deep.equal([path, 'log_damaged']);
    })).timeout(150_000);

  it('lets the notary go on with LOG_ON_DAMAGE=report and sign nothing, until it starts on a restored log', async () => {
    const before = await tiles.kept();
    await whileRenamed(async (position) => {
      const notary = await start('notary', { LOG_ON_DAMAGE: 'report' });
      await eventually(() => logged.some((line) => line.includes('the log is damaged')), patient);
      await eventually(async () => (await readiness(notary))?.ready === false, patient);
      expect(await tiles.damage()).to.have.property('position', position);
      expect(failures).to.deep.equal([]);
      expect(await tiles.kept()).to.deep.equal(before);
      await stop(notary);
    });
    const notary = await start('notary');
    await eventually(async () => (await readiness(api))?.ready === true, patient);
    expect(failures).to.deep.equal([]);
    await stop(notary);
  }).timeout(150_000);

  const collections = ['log_tiles', 'log_tree', 'log_checkpoints', 'log_damage'];
  /** Puts other events in place of all while `work` runs; what is kept of the log is then as it was. */
  const whileReplaced = async (by: readonly StoredEvent[], work: () => Promise<void>): Promise<void> => {
    const all = [...server.kept];
    const kept = await Promise.all(collections.map((name) => database.collection(name).find().toArray()));
    const records = by.map((event) => ({ ...recordOf(event), stream: `${wiring.namespace}${event.stream}` }));
    const others = all.filter(({ stream }) => !stream.startsWith(wiring.namespace));
    server.replace([...others, ...records].toSorted((one, other) => (one.commit < other.commit ? -1 : 1)));
    try {
      await work();
    } finally {
      server.replace(all);
      for (const [index, name] of collections.entries()) {
        await database.collection(name).deleteMany({});
        const rows = kept[index] ?? [];
        if (rows.length > 0) await database.collection(name).insertMany(rows);
      }
    }
  };

  for (const [number, what, to, seenAt] of servedManipulations)
    it(`is seen by the next scrub while it is served, nothing is signed after that, and exports are refused: ${number}, ${what}`, async () => {
      const notary = await start('notary', { LOG_SCRUB_EVERY: '100ms', LOG_ON_DAMAGE: 'report' });
      await eventually(async () => (await readiness(notary))?.ready === true, patient);
      const changed = to(events);
      await whileReplaced(changed, async () => {
        const { position } = await eventually(() => tiles.damage(), patient);
        const wrong = seenAt(events)[0]?.position ?? 0n;
        const next = changed.find((event) => event.position >= wrong)?.position;
        expect(position).to.equal(next ?? changed.at(-1)?.position ?? 0n);
        const signed = await tiles.kept();
        await takesNothingOut(clientsOf(api), events);
        await stop(notary);
        expect(await tiles.kept()).to.deep.equal(signed);
      });
      // What had read further sees by itself that it is another log.
      expect(failures.filter((error) => !(error instanceof OtherLog))).to.deep.equal([]);
    }).timeout(150_000);

  const appended = async (mac: (hash: string) => string | undefined): Promise<StoredEvent> => {
    const { stored, event } = minted(events, mac);
    const { stream, revision } = stored;
    const [outcome] = await store.append([{ stream, expected: revision - 1, events: [event] }]);
    expect(outcome).to.have.property('kind', 'appended');
    return stored;
  };

  it('is seen before it is signed, and exports are refused, if another program has appended 1,000 credits', async () => {
    const notary = await start('notary', { LOG_ON_DAMAGE: 'report' });
    await eventually(async () => (await readiness(notary))?.ready === true, patient);
    await whileReplaced(events, async () => {
      const signed = await tiles.kept();
      const { stream, revision } = await appended(() => undefined);
      const damage = await eventually(() => tiles.damage(), patient);
      expect(damage.reason).to.equal(`${stream}@${revision} has no MAC: the service did not write it`);
      expect(damage.position > (events.at(-1)?.position ?? 0n)).to.equal(true);
      await takesNothingOut(clientsOf(api), events);
      await stop(notary);
      expect(await tiles.kept()).to.deep.equal(signed);
    });
    expect(failures.filter((error) => !(error instanceof OtherLog))).to.deep.equal([]);
  }).timeout(150_000);

  it('ends the notary with exit code 78, and the id and the event are named, if EVENT_KEY_FILE lacks a key', () =>
    whileReplaced(events, async () => {
      const signed = await tiles.kept();
      const { stream, revision } = await appended(eventMacs([{ id: 'lost', key: Buffer.alloc(32, 8) }]).sign);
      const notary = await start('notary');
      const [error] = await eventually(() => (failures.length > 0 ? failures : null), patient);
      expect(explain(error).code).to.equal(78);
      expect(explain(error).message).to.include(
        `EVENT_KEY_FILE lacks the key lost, which the event ${stream}@${revision} at position `,
      );
      await stop(notary);
      expect([await tiles.kept(), await tiles.damage()]).to.deep.equal([signed, null]);
    })).timeout(150_000);

  it('is neither written to nor notarized without EVENT_KEY_FILE, which is not made', async () => {
    const path = join(directory, 'none.key');
    for (const role of ['api', 'webhooks', 'reconciler', 'notary'] as const) {
      const error = await start(role, { EVENT_KEY_FILE: path }).catch((refusal: unknown) => refusal);
      expect([role, explain(error)]).to.deep.equal([
        role,
        {
          code: 78,
          message: `EVENT_KEY_FILE ${path} does not exist. Where the log holds events, restore the file from a backup: a new one would not do. Processes on servers share one, which make-secrets makes for a new log.`,
        },
      ]);
    }
    expect(existsSync(path)).to.equal(false);
  });

  it('gets no event from a process that has another key under the same id', async () => {
    const right = await readFile(wiring.environment['EVENT_KEY_FILE'] ?? '', 'utf8');
    const path = join(directory, 'wrong.key');
    await writeFile(
      path,
      right.replace(/:(.)/, (_, first: string) => `:${first === 'A' ? 'B' : 'A'}`),
      {
        mode: 0o600,
      },
    );
    const { position } = await store.head();
    const wrong = await start('api', { EVENT_KEY_FILE: path });
    const made = await clientsOf(wrong).operator('/operator/v1/organizations', { body: { name: 'X' } });
    expect(made.status).to.be.at.least(500);
    expect(explain(failures[0])).to.have.property('code', 78);
    expect(explain(failures[0]).message).to.match(/EVENT_KEY_FILE.*Restore that file/s);
    expect((await store.head()).position).to.equal(position);
    await stop(wrong);
  }).timeout(60_000);

  it('is not made again by `log rebuild`, which names the position; a log that is whole is, and agrees with what was signed', async () => {
    const checkpoint = await tiles.newest();
    await whileRenamed(async (position) => {
      const { code, error } = await rebuild();
      expect([code, error.includes(`damaged at position ${position}`)], error).to.deep.equal([1, true]);
    });
    const all = [...server.kept];
    server.replace(all.filter(({ commit }) => commit !== events.at(-1)?.position));
    const shorter = await rebuild();
    expect([
      shorter.code,
      shorter.error.includes(`a checkpoint of ${events.length} was signed`),
    ]).to.deep.equal([1, true]);
    server.replace(all);
    await database.collection('log_tiles').deleteMany({});
    const { code, out, error } = await rebuild();
    expect([code, out.trim(), error]).to.deep.equal([0, `{"events":${events.length}}`, '']);
    expect(await tiles.tree()).to.have.property('size', events.length);
    expect(await tiles.newest()).to.deep.equal(checkpoint);
  }).timeout(60_000);
});
