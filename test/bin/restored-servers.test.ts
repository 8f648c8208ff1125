import { expect } from 'chai';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { MongoClient, type Document } from 'mongodb';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { runCommandLine } from '../../bin/cli/program.js';
import { explain } from '../../bin/wiring/exit.js';
import { giveUpKeysOf } from '../../bin/offline/personal-data.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { aCard, clientOf, clientsOf, type Fields } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { eventually } from '../support/time/eventually.js';

/** Every document of a database, by the name of its collection. */
type Dump = ReadonlyMap<string, readonly Document[]>;

const asStored = { promoteValues: false, promoteLongs: false, promoteBuffers: false } as const;

const dump = async (client: MongoClient): Promise<Dump> => {
  const collections = await client.db().collections();
  const found = collections.map(
    async (each) => [each.collectionName, await each.find({}, asStored).toArray()] as const,
  );
  return new Map(await Promise.all(found));
};

/** Makes collections what they were; those that are named, or all. */
const restore = async (
  client: MongoClient,
  from: Dump,
  names: (name: string) => boolean = () => true,
): Promise<void> => {
  const there = (await client.db().collections()).map(({ collectionName }) => collectionName);
  for (const name of new Set([...there, ...from.keys()]))
    if (names(name)) {
      const collection = client.db().collection(name);
      await collection.deleteMany({});
      const documents = from.get(name) ?? [];
      if (documents.length > 0) await collection.insertMany([...documents]);
    }
};

const nothing: Dump = new Map();
const isOfKeys = (name: string): boolean => name.startsWith('personal_key');

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'servers that are restored alone', () => {
  let directory = '';
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  let client: MongoClient;
  let yesterday: Dump;
  let today: Dump;
  let records = 0;
  let key = '';
  let org = '';
  const cards: string[] = [];
  const failures: unknown[] = [];

  const environment = () => ({
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    // What is shown is asked for again and again.
    RATE_LIMIT_PER_MINUTE: '1000000',
    // The notary would end the process, too, when what it reads back goes or is older.
    LOG_ON_DAMAGE: 'report',
    ...wiring.environment,
    EVENTSTORE_PREFIX: wiring.namespace,
  });

  const start = (): Promise<Service> =>
    startService({
      settings: readSettings({ ...environment(), EVENTSTORE_PREFIX: '' }),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'silent' }),
      namespace: wiring.namespace,
      fail: (error) => failures.push(error),
    });

  const running = async (work: (service: Service) => Promise<void>): Promise<void> => {
    failures.length = 0;
    const service = await start();
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  };

  const send = async (service: Service): Promise<void> => {
    const sent = await clientOf(service.baseUrl, key)('/api/v1/cards', { body: aCard() });
    expect(sent.status).to.equal(201);
    cards.push(sent.id);
  };

  /** The names of recipients, as lookups and the list show them; none where nothing is shown. */
  const shown = async (service: Service): Promise<readonly unknown[]> => {
    const api = clientOf(service.baseUrl, key);
    const looked = await Promise.all(cards.map((id) => api(`/api/v1/cards/${id}`)));
    const { rows } = await api('/api/v1/cards');
    return [...looked.map(({ body }) => body), ...rows].flatMap(({ recipient }) =>
      recipient === undefined ? [] : [(recipient as Fields)['name']],
    );
  };

  const allShown = async (service: Service): Promise<void> => {
    await eventually(async () => (await shown(service)).length === 2 * cards.length);
    expect(await shown(service)).to.deep.equal(Array(2 * cards.length).fill('Ada Lovelace'));
  };

  /** How the service ends; until then it shows no card without its recipient. */
  const refusal = async (service: Service): Promise<ReturnType<typeof explain>> => {
    const seen: unknown[] = [];
    await eventually(async () => {
      seen.push(...(await shown(service)));
      return failures.length > 0;
    });
    expect(seen).to.not.include(null);
    return explain(failures[0]);
  };

  const cli = async (args: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    let error = '';
    const code = await runCommandLine(args, {
      environment: { ...environment(), ...more },
      write: () => undefined,
      complain: (text) => void (error += text),
    });
    return { code, error };
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
    client = await new MongoClient(wiring.environment['MONGODB_URL'] ?? '').connect();
    await running(async (service) => {
      await service.prepared;
      ({ org, key } = await clientsOf(service).tenant());
      await send(service);
      await allShown(service);
    });
    yesterday = await dump(client);
    records = wiring.eventStore.standIn?.records ?? 0;
    await running(async (service) => {
      await service.prepared;
      await send(service);
      await send(service);
      await allShown(service);
    });
    today = await dump(client);
  });

  after(async () => {
    await client.close();
    await wiring.clear();
    await rm(directory, { recursive: true, force: true });
  });

  for (const [what, make, events] of [
    ["yesterday's MongoDB", () => restore(client, yesterday), 2],
    ['an empty MongoDB', () => restore(client, nothing), 3],
    [
      'a MongoDB without the blocks of keys',
      () => restore(client, nothing, (name) => name === 'personal_keys'),
      3,
    ],
  ] as const)
    it(`${what}: exit code 78 names the organization, the number of events and what to restore`, async () => {
      await make();
      for (const again of [1, 2])
        await running(async (service) => {
          const { code, message } = await refusal(service);
          expect(code, `start ${again}`).to.equal(78);
          expect(message).to.include(`${events} events`).and.include(`${org} (${events})`);
          expect(message).to.include('personal_keys');
        });
      await restore(client, today);
      await running(allShown);
    }).timeout(60_000);

  it('a MongoDB that is lost while the service runs: exit code 78, and no card without its recipient', async () => {
    await running(async (service) => {
      await allShown(service);
      await restore(client, nothing);
      expect((await refusal(service)).code).to.equal(78);
    });
    await restore(client, today);
    await running(allShown);
  }).timeout(60_000);

  it("yesterday's EventStoreDB beside today's keys and nothing else of MongoDB serves what it holds", async function () {
    const { standIn } = wiring.eventStore;
    if (standIn === null) return this.skip();
    const whole = [...standIn.kept];
    standIn.rewind(records);
    await running(async () => {
      await eventually(() => failures.length > 0);
      expect(explain(failures[0]).code).to.equal(1);
    });
    await restore(client, nothing, (name) => !isOfKeys(name));
    await running(async (service) => {
      await eventually(async () => (await shown(service)).length === 2);
      expect(await shown(service)).to.deep.equal(['Ada Lovelace', 'Ada Lovelace']);
      expect(failures).to.deep.equal([]);
    });
    standIn.replace(whole);
    await restore(client, today);
    await running(allShown);
  }).timeout(60_000);

  it('that were restored in part are not promoted until they are restored again', async () => {
    const copy = join(directory, 'copy');
    expect(await cli(['backup', copy])).to.include({ code: 0, error: '' });
    // Records are copied before secret files.
    const cut = await cli(['restore', copy], { SECRET_KEY_FILE: join(directory, 'none', 'secret.key') });
    expect(cut.code).to.not.equal(0);
    expect(await cli(['promote'])).to.include({
      code: 1,
      error: 'This is an unfinished copy. Run `log copy`, or `restore`, again first.\n',
    });
    expect(await cli(['restore', copy])).to.include({ code: 0, error: '' });
    expect(await cli(['promote'])).to.include({ code: 0, error: '' });
    await running(allShown);
  }).timeout(60_000);

  it('are not restored beside the service, nor backed up as if they were it', async () => {
    // On servers every backup is a folder.
    const copy = join(directory, 'copy.db');
    const keys = join(directory, 'some.keys/');
    for (const to of [copy, keys]) expect(await cli(['backup', to])).to.include({ code: 0, error: '' });
    expect(readdirSync(keys).filter((name) => !/^(artwork|personal_key).*bson$/.test(name))).to.deep.equal([
      'backup.json',
    ]);
    await running(async (service) => {
      await allShown(service);
      const { code, error } = await cli(['restore', copy]);
      expect([code, error.includes('still runs. Stop every process')], error).to.deep.equal([1, true]);
      expect(failures).to.deep.equal([]);
    });
    expect((await cli(['promote'])).error).to.include('is no rehearsal');
    await restore(client, nothing);
    expect(await cli(['restore', copy])).to.include({ code: 0, error: '' });
    expect((await cli(['backup', join(directory, 'of a rehearsal')])).error).to.equal(
      `MONGODB_URL: this is a rehearsal: it was restored from ${copy}. Nothing was backed up: name the place of the service itself.\n`,
    );
    expect(await cli(['promote'])).to.include({ code: 0, error: '' });
    await running(allShown);
  }).timeout(60_000);

  it('leave nothing of a backup that could not be finished', async () => {
    const copy = join(directory, 'unfinished copy');
    expect((await cli(['backup', copy], { EVENT_KEY_FILE: directory })).code).to.not.equal(0);
    expect(existsSync(copy)).to.equal(false);
    expect(await cli(['backup', copy])).to.include({ code: 0, error: '' });
  }).timeout(60_000);

  it('have one backup of two that are made in the same place at once', async () => {
    const copy = join(directory, 'twice');
    const made = await Promise.all([1, 2].map(() => cli(['backup', copy])));
    expect(
      made.toSorted((one, other) => one.code - other.code).map(({ code, error }) => [code, error]),
    ).to.deep.equal([
      [0, ''],
      [1, `${copy} already exists. Name a new one: a backup never replaces another.\n`],
    ]);
    expect(readdirSync(copy)).to.include('backup.json').and.not.include('unfinished');
  }).timeout(60_000);

  it('are left as they are by a backup that was made beside another log', async () => {
    const copy = join(directory, 'of another');
    expect(await cli(['backup', copy])).to.include({ code: 0, error: '' });
    const manifest = join(copy, 'backup.json');
    const { hash, ...others } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly hash: string };
    await writeFile(
      manifest,
      JSON.stringify({ ...others, hash: hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }),
    );
    const { code, error } = await cli(['restore', copy]);
    expect(code).to.equal(1);
    expect(error).to.include(`${copy} was made beside another log`);
    expect((await cli(['promote'])).error).to.include('is no rehearsal');
    await running(allShown);
  }).timeout(60_000);

  it('keys that are given up: KeysLost says of which organization, and the service serves without them', async () => {
    await restore(client, nothing);
    const lost = await giveUpKeysOf(readSettings(environment()), 'Ada');
    expect({ ...lost, newest: null }).to.deep.equal({
      events: 3,
      byOrganization: new Map([[org, 3]]),
      newest: null,
    });
    expect((await giveUpKeysOf(readSettings(environment()), 'Ada')).events).to.equal(0);
    await running(async (service) => {
      await eventually(async () => (await shown(service)).length === 2 * cards.length);
      expect(await shown(service)).to.deep.equal(Array(2 * cards.length).fill(null));
      expect(failures).to.deep.equal([]);
    });
  }).timeout(60_000);
});
