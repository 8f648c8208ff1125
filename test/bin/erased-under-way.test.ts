import { expect } from 'chai';
import { BSON } from 'mongodb';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { toldCertificates } from '../support/fixtures/erasable.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { receiverSettings, startReceiver, type Received } from '../support/http/receiver.js';
import { aCard, built, clientsOf } from '../support/http/service.js';
import { filesBelow } from '../support/fixtures/files-below.js';
import { rounds } from '../support/runner/effort.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { Proxy } from '../support/servers/proxy.js';
import { eventually } from '../support/time/eventually.js';
import { signerFrom } from '../../domain/signed-note.js';

const trials = rounds({ usually: 1, thoroughly: 3, named: 'ERASURE_TRIALS' });
const endpoints = 50;
const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
// A hint that came while a delivery was claimed is made up for once a minute.
const patient = { within: 150_000 };

/** Where a service is started, and what is searched afterwards. */
interface Place {
  readonly environment: Readonly<Record<string, string>>;
  readonly namespace?: string;
  /** Everything that is stored, by where. */
  readonly stored: () => Promise<readonly (readonly [string, Uint8Array])[]>;
  readonly close: () => Promise<void>;
}

const embedded = async (directory: string): Promise<Place> => ({
  environment: {},
  stored: () => filesBelow(directory),
  close: () => Promise.resolve(),
});

/** On servers, with a MongoDB that takes its time. */
const onServers = async (directory: string): Promise<Place> => {
  const wiring = await distributedWiring(directory);
  const url = wiring.environment['MONGODB_URL'] ?? '';
  const proxy = await Proxy.before(url, 27_017);
  proxy.delay = 10;
  await writeLogKey(directory, signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7)));
  const database = new MongoDatabase(url, clock);
  return {
    environment: {
      ...wiring.environment,
      MONGODB_URL: proxy.urlFor(url),
      LOG_ORIGIN: 'cards.example.com/log',
    },
    namespace: wiring.namespace,
    stored: async () => {
      const names = await database.collectionNames('');
      const all = names.map(async (name) => {
        const documents = await database.collection(name).find({}).toArray();
        return documents.map((document) => [name, BSON.serialize(document)] as const);
      });
      const records = wiring.eventStore.standIn?.kept ?? [];
      return [...(await Promise.all(all)).flat(), ...records.map(({ data }) => ['events', data] as const)];
    },
    close: async () => {
      await database.close();
      await proxy.close();
      await wiring.clear();
    },
  };
};

/** Receivers that repeat what they were told, once they are let. Every third request succeeds. */
const slowReceivers = async () => {
  const held: (() => void)[] = [];
  const counts = new Map<string, number>();
  const hold = (response: ServerResponse, { path, body }: Received): void => {
    const count = (counts.get(path) ?? 0) + 1;
    counts.set(path, count);
    held.push(() => void response.writeHead(count % 3 === 0 ? 200 : 503).end(body));
  };
  const receiver = await startReceiver(hold);
  const letGo = (most = Infinity): void => {
    for (const respond of held.splice(0, most)) respond();
  };
  return { receiver, held, letGo };
};

const erasedUnderWay = (open: (directory: string) => Promise<Place>) => async (): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-'));
  const place = await open(directory);
  const { receiver, held, letGo } = await slowReceivers();
  const settings = { PORT: '0', DATA_DIR: directory, DEMO: 'off', RATE_LIMIT_PER_MINUTE: '1000000000' };
  const service = await startService({
    extraCertificates: toldCertificates,
    settings: readSettings({
      ...settings,
      ...receiverSettings,
      WEBHOOK_BACKOFF: '200ms',
      ...place.environment,
    }),
    role: 'all',
    clock,
    entropy,
    log: pino({ level: 'silent' }),
    fail: (error) => {
      throw error;
    },
    ...(place.namespace !== undefined && { namespace: place.namespace }),
  });
  try {
    await service.prepared;
    const clients = clientsOf(service);
    const { org, api } = await clients.tenant({ credits: trials });
    const urls = Array.from({ length: endpoints }, (_, index) => `${receiver.url}${index}`);
    const hooks: string[] = [];
    for (const url of urls) hooks.push((await built(api('/api/v1/webhooks', { body: { url } }))).id);
    const began = new Date(clock.now() - 60_000).toISOString();
    const replaySome = (from: number) =>
      Promise.all(
        hooks
          .slice(from, from + 5)
          .map((id) => api(`/api/v1/webhooks/${id}/replay`, { body: { from: began } })),
      );
    const words: string[] = [];
    for (let trial = 0; trial < trials; trial += 1) {
      const word = `Xanthippe-${trial}-quokka`;
      words.push(word);
      const named = (from = 0): number =>
        receiver.received.slice(from).filter(({ body }) => body.includes(word)).length;
      const recipient = { name: word, line1: '1 Long Road', city: 'Springfield', state: 'IL', zip: '62701' };
      const { id } = await built(api('/api/v1/cards', { body: aCard({ recipient, reference: word }) }));
      await built(api(`/api/v1/cards/${id}`, { method: 'DELETE' }));
      await eventually(() => named() >= 10 && held.length > 0, patient);
      letGo(held.length / 2);
      const wanted = { cards: [id], contacts: [], reason: 'a request' };
      const [erased] = await Promise.all([
        clients.operator(`/operator/v1/organizations/${org}/erasures`, { body: wanted }),
        replaySome(0),
        replaySome(20),
      ]);
      expect(erased.status).to.equal(202);
      const rows = async () => (await api(`/api/v1/deliveries?card=${id}&limit=200`)).rows;
      // Whatever is under way ends, a few responses at a time.
      await eventually(async () => {
        letGo(5);
        const all = await rows();
        return held.length === 0 && all.every(({ status }) => status !== 'pending');
      }, patient);
      await eventually(async () => !JSON.stringify(await rows()).includes(word), patient);
      const before = receiver.received.length;
      const again = (await rows()).filter(({ status }) => status !== 'delivered').slice(0, 10);
      await Promise.all([
        ...again.map((row) => api(`/api/v1/deliveries/${String(row['id'])}/retry`, { method: 'POST' })),
        replaySome(30),
      ]);
      await eventually(() => {
        letGo();
        return receiver.received.length >= before + again.length;
      }, patient);
      expect(named(before), 'sent after the erasure').to.equal(0);
      expect(JSON.stringify(await rows())).to.not.include(word);
    }
    letGo();
    const left = async (): Promise<readonly string[]> => {
      const found = await place.stored();
      return words.flatMap((word) =>
        found.filter(([, bytes]) => Buffer.from(bytes).includes(word)).map(([where]) => `${where}: ${word}`),
      );
    };
    await eventually(async () => {
      letGo();
      return (await left()).length === 0;
    }, patient).catch(async () => expect(await left()).to.deep.equal([]));
  } finally {
    letGo();
    await service.stop();
    await receiver.close();
    await place.close();
    await rm(directory, { recursive: true, force: true });
  }
};

describe('an erasure', () => {
  it(
    'leaves no word in any store and sends none, with attempts and replays to fifty slow receivers under way',
    erasedUnderWay(embedded),
  ).timeout(600_000 + 200_000 * trials);
});

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'an erasure on servers, with a slow MongoDB', () => {
  it(
    'leaves no word in any store and sends none either, whatever is under way when it is asked for',
    erasedUnderWay(onServers),
  ).timeout(600_000 + 400_000 * trials);
});
