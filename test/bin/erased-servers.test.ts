import { connect } from 'amqplib';
import { expect } from 'chai';
import { BSON } from 'mongodb';
import { createDecipheriv } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoPersonalKeys } from '../../adapters/mongodb/records/personal-keys.js';
import { topologyOf } from '../../adapters/rabbitmq/topology.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { keyRing, MissingPersonalKey, type KeyRing } from '../../application/personal/key-ring.js';
import type { PersonalKeys, StoredBlock } from '../../application/ports/personal-keys.js';
import type { StoredEvent } from '../../application/ports/raw-log.js';
import { runCommandLine } from '../../bin/cli/program.js';
import { masterKeys } from '../../bin/settings/secret-files.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { streamName } from '../../domain/ids.js';
import { signerFrom, vkeyOf } from '../../domain/signed-note.js';
import {
  echo,
  erasableWords,
  leaveTraces,
  toldCertificates,
  toldSettings,
} from '../support/fixtures/erasable.js';
import { filesBelow } from '../support/fixtures/files-below.js';
import { startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { MemoryPersonalKeys } from '../support/memory/personal-keys.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { eventually } from '../support/time/eventually.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
const signer = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7));
const patient = { within: 60_000 };

/** Every message that waits in a queue. They go back when the channel closes. */
const messagesIn = async (url: string, queues: readonly string[]): Promise<readonly Buffer[]> => {
  const model = await connect(url);
  try {
    const channel = await model.createChannel();
    const found: Buffer[] = [];
    for (const queue of queues)
      for (let message = await channel.get(queue); message !== false; message = await channel.get(queue))
        found.push(message.content, Buffer.from(JSON.stringify(message.properties)));
    await channel.close();
    return found;
  } finally {
    await model.close();
  }
};

const keysOf = (events: readonly StoredEvent[]): string[] =>
  events.flatMap(({ metadata }) => (JSON.parse(metadata) as { readonly keyId: string | null }).keyId ?? []);

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'after an erasure on servers', () => {
  let directory: string;
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  let database: MongoDatabase;
  let store: EventStoreDbEventStore;
  let service: Service | null = null;
  let receiver: Receiver;
  let markers: readonly string[] = erasableWords;
  const logged: string[] = [];
  /** Where words were found before the erasure. */
  let foundBefore: readonly string[];
  /** The records of signing in with a word of a file that was uploaded. */
  let foundWaiting: readonly object[];
  let erased: readonly string[];
  let kept: readonly string[];
  const exported: Record<string, Buffer> = {};

  const settings = () => ({
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    ...toldSettings,
    LOG_ORIGIN: signer.name,
    ...wiring.environment,
  });

  const blocks = (): Promise<readonly StoredBlock[]> => mongoPersonalKeys(database).after(-1, 1_000);

  /** A ring that knows nothing yet. */
  const ringOver = (keys: PersonalKeys): KeyRing =>
    keyRing({
      store: keys,
      masters: masterKeys(join(directory, 'personal.key'), entropy, false, 'PERSONAL_KEY_FILE'),
      clock,
      entropy,
    });
  const areDestroyed = async (ids: readonly string[]): Promise<boolean> => {
    const ring = ringOver(mongoPersonalKeys(database));
    await ring.load(ids);
    return ids.every((id) => ring.keyOf(id) === null);
  };

  /** Whatever servers and files hold, and what the service has logged, by where it lies. */
  const everything = async (): Promise<readonly (readonly [string, readonly Uint8Array[]])[]> => {
    const names = await database.collectionNames('');
    const collections = await Promise.all(
      names.map(async (name) => {
        const documents = await database.collection(name).find({}).toArray();
        return [`collection ${name}`, documents.map((document) => BSON.serialize(document))] as const;
      }),
    );
    const events = await store.readStored(0n, 10_000);
    const records = wiring.eventStore.standIn?.kept ?? [];
    const { workQueues, waitQueues, deadQueue } = topologyOf(
      readSettings(settings()).webhooks.backoff,
      wiring.namespace,
    );
    const queues = [...Object.values(workQueues), ...waitQueues.map(({ queue }) => queue), deadQueue];
    return [
      ...collections,
      ['events', events.map((event) => Buffer.from(Object.values(event).join('\n')))],
      ['records', records.flatMap(({ data, metadata }) => [data, metadata])],
      ['queues', await messagesIn(wiring.environment['RABBITMQ_URL'] ?? '', queues)],
      ...(await filesBelow(directory)).map(([file, bytes]) => [`file ${file}`, [bytes]] as const),
      ['log output', logged.map((line) => Buffer.from(line))],
    ];
  };

  const found = async (): Promise<readonly string[]> =>
    (await everything()).flatMap(([where, held]) =>
      markers
        .filter((marker) => held.some((bytes) => Buffer.from(bytes).includes(marker)))
        .map((marker) => `${where}: ${marker}`),
    );

  before(async function () {
    this.timeout(180_000);
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
    database = new MongoDatabase(wiring.environment['MONGODB_URL'] ?? '', clock);
    store = new EventStoreDbEventStore({
      url: wiring.environment['EVENTSTORE_URL'] ?? '',
      prefix: wiring.namespace,
      clock,
      entropy,
    });
    await writeLogKey(directory, signer);
    receiver = await startReceiver(echo);
    service = await startService({
      extraCertificates: toldCertificates,
      settings: readSettings(settings()),
      role: 'all',
      clock,
      entropy,
      log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
      fail: (error) => {
        throw error;
      },
      namespace: wiring.namespace,
    });
    const { baseUrl, operatorToken } = service;
    await service.prepared;
    const clients = clientsOf(service);
    const { operator } = clients;
    const { org, api } = await clients.tenant();
    const other = await api('/api/v1/cards', { body: aCard() });
    const seen = { ...clients, baseUrl };
    const { cards, contacts, guessable } = await leaveTraces(seen, { org, api }, receiver, async () => {
      const records = await database.collection('sign_in_records').find({}).toArray();
      foundWaiting = records.filter((record) => JSON.stringify(record).includes('Wombatina'));
    });
    markers = [...erasableWords, ...guessable];
    const [code] = cards;

    const takeOut = async (name: string, search: string): Promise<void> => {
      const response = await fetch(`${baseUrl}/operator/v1/exports?${search}&personal=include`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      });
      exported[name] = Buffer.from(await response.arrayBuffer());
    };
    await takeOut('card before', `card=${code}`);
    await takeOut('period before', 'from=0');
    foundBefore = await found();
    const wanted = { cards, contacts, reason: 'a request' };
    const asked = await operator(`/operator/v1/organizations/${org}/erasures`, { body: wanted });
    expect(asked.status).to.equal(202);
    const events = await store.readStored(0n, 10_000);
    const streams: readonly string[] = [
      ...cards.map((id) => streamName('card', id)),
      ...contacts.map((id) => streamName('contact', id)),
    ];
    erased = keysOf(events.filter(({ stream }) => streams.includes(stream)));
    kept = keysOf(events.filter(({ stream }) => stream === streamName('card', other.id)));
    await eventually(async () => expect(await found()).to.deep.equal([]) && true, patient);
    await eventually(() => areDestroyed(erased), patient);
    await takeOut('card after', `card=${code}`);
    await takeOut('period after', 'from=0');
    await service.stop();
    service = null;
  });
  after(async () => {
    await service?.stop();
    await receiver.close();
    await store.close();
    await database.close();
    await wiring.clear();
    await rm(directory, { recursive: true, force: true });
  });

  it('no byte of what was erased is left: in no collection, no event, no queue and no line of the log', async () => {
    const places = (await everything()).map(([where, held]) => [where, held.length] as const);
    expect(Object.fromEntries(places)).to.include.keys(['collection personal_keys', 'events', 'log output']);
    expect(places.filter(([where, count]) => where === 'queues' && count === 0)).to.deep.equal([]);
    expect(foundBefore.filter((line) => line.startsWith('collection'))).to.have.length.greaterThan(
      erasableWords.length,
    );
    expect(foundWaiting).to.deep.equal([]);
    expect(await found()).to.deep.equal([]);
  });

  it('the keys are zeros in MongoDB, and those beside them are as they were', async () => {
    const masters = masterKeys(join(directory, 'personal.key'), entropy, false, 'PERSONAL_KEY_FILE');
    const opened = new Map<number, Buffer>();
    for (const { number, wrappedBy, iv, sealed } of await blocks()) {
      const key = masters.find(({ id }) => id === wrappedBy)?.key ?? Buffer.alloc(32);
      const opening = createDecipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(`personal-keys/${number}`));
      opening.setAuthTag(sealed.subarray(-16));
      opened.set(number, Buffer.concat([opening.update(sealed.subarray(0, -16)), opening.final()]));
    }
    const slot = (id: string): string | undefined => {
      const [block = 0, place = 0] = id.split('.').map(Number);
      return opened.get(block)?.toString('hex', place * 32, place * 32 + 32);
    };
    const zeros = '0'.repeat(64);
    expect(erased).to.have.length.greaterThan(1);
    expect(erased.filter((id) => slot(id) !== zeros)).to.deep.equal([]);
    expect(kept).to.have.length.greaterThan(0);
    expect(kept.filter((id) => slot(id) === zeros || slot(id)?.length !== 64)).to.deep.equal([]);
  });

  it('exports that were taken before and after it are verified', () => {
    const shown = Object.entries(exported).map(([name, file]) => {
      const { report, verified } = verifyExport(file, { keys: [vkeyOf(signer)] });
      const personal = /recorded: (.*)/.exec(report.join('\n'))?.[1] ?? '';
      return [name, verified, /(\d+) shown/.exec(personal)?.[1], /(\d+) erased/.exec(personal)?.[1]];
    });
    expect(shown.map(([name, verified]) => [name, verified])).to.deep.equal(
      ['card before', 'period before', 'card after', 'period after'].map((name) => [name, true]),
    );
    expect(shown[0]?.slice(2)).to.deep.equal(['2', '0']);
    expect(shown[2]?.slice(2)).to.deep.equal(['0', '2']);
  });

  it('the other keys are encrypted anew by `personal rotate`; older copies of them can’t be opened then', async () => {
    const path = join(directory, 'personal.key');
    const inMongo = mongoPersonalKeys(database);
    const was = ringOver(inMongo);
    await was.load(kept);
    const older = new MemoryPersonalKeys();
    for (const block of await blocks()) older.blocks.set(block.number, block);
    const newer = `newest:${Buffer.alloc(32, 9).toString('base64')}\n`;
    writeFileSync(path, `${newer}${readFileSync(path, 'utf8')}`, { mode: 0o600 });
    const rotate = async () => {
      let [out, error] = ['', ''];
      const exit = await runCommandLine(['personal', 'rotate', '--json'], {
        environment: settings(),
        write: (text) => void (out += text),
        complain: (text) => void (error += text),
      });
      expect([exit, error]).to.deep.equal([0, '']);
      return JSON.parse(out) as unknown;
    };
    expect(await rotate()).to.deep.equal({ newest: 'newest', wrapped: older.blocks.size, unreadable: 0 });
    expect(await rotate()).to.include({ wrapped: 0 });
    writeFileSync(path, newer, { mode: 0o600 });
    const now = ringOver(inMongo);
    await now.load([...kept, ...erased]);
    const hex = (ring: typeof now) => kept.map((id) => ring.keyOf(id)?.toString('hex'));
    expect(hex(now)).to.deep.equal(hex(was));
    expect(hex(now)).to.not.include(undefined);
    expect(erased.filter((id) => now.keyOf(id) !== null)).to.deep.equal([]);
    const refused = await ringOver(older)
      .load(kept)
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(MissingPersonalKey);
  });
});
