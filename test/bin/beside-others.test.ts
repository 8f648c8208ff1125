import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { signerFrom } from '../../domain/signed-note.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { aCard, clientOf, clientsOf, type Tenant } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { command } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';

const signer = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 7));
const patient = { within: 60_000 };
const million = 1_000_000;
const kinds = [
  { stream: 'invoice-1', type: 'InvoicePaid' },
  { stream: '$ce-invoice', type: '$>' },
  { stream: 'card-of-a-library', type: 'Lent' },
];

describeWithEngines(['MONGODB_URL', 'RABBITMQ_URL'], 'a service on an EventStoreDB that others use', () => {
  let directory: string;
  let wiring: Awaited<ReturnType<typeof distributedWiring>>;
  let service: Service | null = null;
  let tenant: Tenant;
  let store: EventStoreDbEventStore;

  const environment = () => ({
    PORT: '0',
    DATA_DIR: directory,
    DEMO: 'off',
    ...wiring.environment,
  });
  /** Starts it, and returns how long it took until it was ready. The notary has read the log back, too. */
  const start = async (): Promise<number> => {
    const began = performance.now();
    const logged: string[] = [];
    service = await startService({
      settings: readSettings(environment()),
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log: pino({ level: 'info' }, { write: (line: string) => void logged.push(line) }),
      namespace: wiring.namespace,
      fail: (error) => {
        throw error;
      },
    });
    const { baseUrl } = service;
    await eventually(async () => (await fetch(`${baseUrl}/readyz`)).status === 200, patient);
    const took = performance.now() - began;
    await eventually(() => logged.some((line) => line.includes('has been read back')), patient);
    return took;
  };
  const stop = async (): Promise<void> => {
    await service?.stop();
    service = null;
  };
  const others = (count: number): void => wiring.eventStore.standIn?.others({ count, kinds });
  const api = () => clientOf(service?.baseUrl ?? '', tenant.key);
  const operator = (path: string) => clientsOf(service ?? never()).operator(path);
  const view = async (path: string) => {
    const { status, body } = await operator(`/operator/v1/organizations/${tenant.org}/${path}`);
    return { status, body };
  };
  const cli = (...args: string[]) =>
    command(args, {
      ...environment(),
      BASE_URL: service?.baseUrl ?? '',
      EVENTSTORE_PREFIX: wiring.namespace,
    });

  before(async function () {
    this.timeout(120_000);
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    wiring = await distributedWiring(directory);
    if (wiring.eventStore.standIn === null) return this.skip();
    await writeLogKey(directory, signer);
    store = new EventStoreDbEventStore({
      url: wiring.eventStore.url,
      prefix: wiring.namespace,
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
    });
  });
  after(async () => {
    await stop();
    await store.close();
    await wiring.clear();
    await rm(directory, { recursive: true });
  });

  it('is ready as soon, and says the same, with a million events of others before, between and behind its own', async () => {
    others(million);
    await start();
    tenant = await clientsOf(service ?? never()).tenant({ credits: 100 });
    for (let n = 0; n < 5; n += 1) {
      expect((await api()('/api/v1/cards', { body: aCard() })).status).to.equal(201);
      others(10_000);
    }
    const { position } = await store.head();
    // Each start has another port.
    const answers = async (): Promise<Readonly<Record<string, string>>> => {
      const told = {
        cards: (await api()('/api/v1/cards')).body,
        credits: await view(`credits?at=${position}`),
        books: await view(`reconciliation?to=${position}`),
        // An export is an event itself, which the next one holds.
        exported: (await cli('export', 'period', '--from', '0')).out
          .split('\n')
          .filter((line) => line.startsWith('{"index"'))
          .slice(0, 31),
        status: (await cli('log', 'status', '--json')).code,
      };
      const asText = (each: unknown) => JSON.stringify(each).replaceAll(service?.baseUrl ?? '', '');
      return Object.fromEntries(Object.entries(told).map(([name, each]) => [name, asText(each)]));
    };
    await eventually(async () => (await api()('/api/v1/cards')).rows.length === 5, patient);
    await stop();
    const without = await start();
    const before = await answers();

    await stop();
    others(million);
    const beside = await start();
    expect(beside - without).to.be.below(3_000);
    const now = await answers();
    for (const [name, text] of Object.entries(before)) expect([name, now[name]]).to.deep.equal([name, text]);
    // At rest, what others write is not handed over.
    const sent = wiring.eventStore.standIn?.sent ?? 0;
    const calls = wiring.eventStore.standIn?.calls.get('read') ?? 0;
    for (let n = 0; n < 20; n += 1) {
      others(200);
      await eventually(() => (wiring.eventStore.standIn?.calls.get('read') ?? 0) > calls + n, patient);
    }
    expect((wiring.eventStore.standIn?.sent ?? 0) - sent).to.be.below(200);
    expect((await api()('/api/v1/cards', { body: aCard() })).status).to.equal(201);
  }).timeout(180_000);
});

const never = (): never => {
  throw new Error('the service runs');
};
