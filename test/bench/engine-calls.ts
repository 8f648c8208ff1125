import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'undici';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../adapters/mongodb/database.js';
import { MongoProjectionStore } from '../../adapters/mongodb/projection-store.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { Projector } from '../../application/project.js';
import { masterKeys } from '../../bin/secret-files.js';
import { allProjections } from '../../projections/all.js';
import { authority, receiverSettings, startReceiver } from '../support/http/receiver.js';
import { eventually } from '../support/time/eventually.js';
import { aCard } from './a-card.js';
import { startProduction, startService, startStandIn, type StartedService } from './processes.js';
import type { Figure } from './report.js';

/** How often each call was made, by `{engine} {call}`. */
type Calls = ReadonlyMap<string, number>;

const line = /^engine_calls_total\{engine="([^"]*)",call="([^"]*)"\} (\S+)$/gm;

/** The metrics of the service, as text. */
const metricsOf = async ({ url }: StartedService): Promise<string> => (await fetch(`${url}/metrics`)).text();

const callsOf = async (service: StartedService): Promise<Calls> =>
  new Map(
    [...(await metricsOf(service)).matchAll(line)].map(([, engine = '', call = '', times]) => [
      `${engine} ${call}`,
      Number(times),
    ]),
  );

const since = (before: Calls, after: Calls): Calls =>
  new Map([...after].map(([call, times]) => [call, times - (before.get(call) ?? 0)]));

const sumOf = (calls: Calls, wanted: RegExp): number =>
  [...calls].reduce((sum, [call, times]) => (wanted.test(call) ? sum + times : sum), 0);

/**
 * What a request waits for before its response, beside the event store: counters, claims and reads of rows.
 */
const awaited = /^MongoDB \S+ (rate_counters|idempotency_keys|documents_\S+)$/;
const ofReader = /^MongoDB (find|findOne|aggregate) /;
const ofDeliveries =
  /^MongoDB \S+ (deliveries|delivery_targets|sequences|redrives|relayed_endpoints|progress)$/;
const appends = /^EventStoreDB (batch )?append$/;
/** Not those of `$all`: the metrics read its head. */
const reads = /^EventStoreDB read stream$/;

/** One kind of request, and how often clients make it. */
interface Operation {
  readonly what: string;
  readonly clients: number;
  readonly orgs: number;
  readonly count: number;
  readonly request: (number: number) => {
    readonly method: 'GET' | 'POST' | 'DELETE';
    readonly path: string;
    readonly token: string;
    readonly body?: string;
    readonly key?: string;
  };
  /** Hears the body of each response. */
  readonly hear?: (body: string, number: number) => void;
}

interface Made {
  readonly operation: Operation;
  readonly calls: Calls;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
}

const settled = async (service: StartedService): Promise<void> => {
  const isBehind = /^projection_events_behind\{[^}]*\} [1-9]/m;
  await eventually(async () => !isBehind.test(await metricsOf(service)), { within: 60_000 });
};

const perform = async (service: StartedService, operation: Operation): Promise<Made> => {
  const { clients, count, request, hear = () => undefined } = operation;
  const pool = new Pool(service.url, { connections: clients });
  const times: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const { method, path, token, body, key } = request(number);
      const began = performance.now();
      const response = await pool.request({
        method,
        path,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body !== undefined && { body }),
      });
      const text = await response.body.text();
      times.push(performance.now() - began);
      if (response.statusCode >= 300)
        throw new Error(`${path} responded with ${response.statusCode}: ${text}`);
      hear(text, number);
    }
  };
  const before = await callsOf(service);
  const began = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - began) / 1_000;
  await settled(service);
  const calls = since(before, await callsOf(service));
  await pool.close();
  const sorted = times.toSorted((a, b) => a - b);
  const quantile = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
  return { operation, calls, seconds, p50: quantile(0.5), p99: quantile(0.99) };
};

const none = { ratio: null, comparedWith: null, target: null, met: null };

const figuresOf = ({ operation, calls, seconds, p50, p99 }: Made): readonly Figure[] => {
  const { what, clients, orgs, count } = operation;
  const setting = `${what}, ${clients === 1 ? 'a lone client' : `${clients} clients`}, ${orgs === 1 ? 'one organization' : `${orgs} organizations`}`;
  const row = (of: string, times: number): Figure => ({
    what: `${setting}: ${of}`,
    value: times / count,
    unit: 'calls',
    ...none,
  });
  const isRead = what === 'lookup' || what === 'list';
  const mongo = sumOf(calls, /^MongoDB /);
  const before = isRead
    ? sumOf(new Map([...calls].filter(([call]) => ofReader.test(call))), awaited) +
      sumOf(calls, /^MongoDB \S+ rate_counters$/)
    : sumOf(calls, /^MongoDB (\S+ (rate_counters|idempotency_keys)|find documents_organizations_\S+)$/);
  return [
    { what: setting, value: count / seconds, unit: 'req/s', ...none, p50, p99 },
    row('EventStoreDB, appends', sumOf(calls, appends)),
    row('EventStoreDB, reads', sumOf(calls, reads)),
    row('MongoDB before the response', before),
    row('MongoDB beside it', mongo - before),
    row('RabbitMQ, messages', sumOf(calls, /^RabbitMQ publish$/)),
  ];
};

const details = ({ operation: { what, clients, orgs, count }, calls }: Made) => ({
  what,
  clients,
  orgs,
  count,
  calls: Object.fromEntries(
    [...calls]
      .filter(([, times]) => times > 0)
      .map(([call, times]) => [call, Number((times / count).toFixed(3))]),
  ),
});

interface Customer {
  readonly org: string;
  readonly token: string;
}

const customersOf = async (service: StartedService, count: number): Promise<readonly Customer[]> => {
  const customers: Customer[] = [];
  for (let number = 0; number < count; number += 1) {
    const { id } = await service.operate('/organizations', { name: `Bench ${number}` });
    const org = String(id);
    await service.operate(`/organizations/${org}/credits`, { amount: 10_000_000 });
    await service.operate(`/organizations/${org}/designs`, { name: 'Thanks' });
    const { key } = await service.operate(`/organizations/${org}/keys`, {
      scopes: ['cards:send', 'cards:read', 'webhooks:manage'],
    });
    customers.push({ org, token: String(key) });
  }
  return customers;
};

const mostOrgs = 16;
const appendTime = 2;
const mostListing = 8;

const measureOperations = async (service: StartedService, count: number): Promise<readonly Made[]> => {
  const customers = await customersOf(service, mostOrgs);
  const made: Made[] = [];
  const one = (clients: number, orgs: number): Operation[] => {
    const customer = (number: number): Customer => customers[number % orgs] ?? { org: '', token: '' };
    const codes: string[] = [];
    const hear = (body: string, number: number): void => {
      codes[number] = (JSON.parse(body) as { id: string }).id;
    };
    const many = clients === 1 ? Math.ceil(count / 4) : count;
    const common = { clients, orgs, count: many };
    const send = (number: number) => ({
      method: 'POST' as const,
      path: '/api/v1/cards',
      token: customer(number).token,
      body: aCard,
    });
    const onCard = (method: 'GET' | 'DELETE') => (number: number) => ({
      method,
      path: `/api/v1/cards/${codes[number]}`,
      token: customer(number).token,
    });
    return [
      { what: 'send', ...common, request: send, hear },
      {
        what: 'send with a key',
        ...common,
        request: (number) => ({ ...send(number), key: randomBytes(12).toString('hex') }),
      },
      { what: 'lookup', ...common, request: onCard('GET') },
      // Fewer: a server without indexes that are not unique (mongo-java-server) walks through the collection.
      {
        what: 'list',
        ...common,
        clients: Math.min(clients, mostListing),
        count: Math.ceil(many / mostListing),
        request: (number) => ({
          method: 'GET',
          path: '/api/v1/cards?limit=50',
          token: customer(number).token,
        }),
      },
      { what: 'cancel', ...common, request: onCard('DELETE') },
    ];
  };
  // Once to warm up.
  for (const operation of one(64, mostOrgs)) await perform(service, operation);
  for (const [clients, orgs] of [
    [1, 1],
    [64, 1],
    [1, mostOrgs],
    [64, mostOrgs],
  ] as const)
    for (const operation of one(clients, orgs)) made.push(await perform(service, operation));
  return made;
};

/** A send whose organization has an endpoint, until its webhook has been delivered. */
const measureDeliveries = async (service: StartedService, count: number): Promise<readonly Figure[]> => {
  const [customer = { org: '', token: '' }] = await customersOf(service, 1);
  const receiver = await startReceiver();
  try {
    const registered = await fetch(`${service.url}/api/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url }),
    });
    if (!registered.ok) throw new Error(await registered.text());
    const figures: Figure[] = [];
    for (const clients of [1, 64]) {
      const many = clients === 1 ? Math.ceil(count / 4) : count;
      const expected = receiver.received.length + many;
      const before = await callsOf(service);
      await perform(service, {
        what: 'send',
        clients,
        orgs: 1,
        count: many,
        request: () => ({ method: 'POST', path: '/api/v1/cards', token: customer.token, body: aCard }),
      });
      await eventually(() => receiver.received.length >= expected, { within: 60_000 });
      await eventually(async () => /^webhook_pending_deliveries 0$/m.test(await metricsOf(service)), {
        within: 60_000,
      });
      const calls = since(before, await callsOf(service));
      const setting = `delivery, ${clients === 1 ? 'a lone client' : `${clients} clients`} sending, one organization`;
      figures.push(
        { what: `${setting}: MongoDB`, value: sumOf(calls, ofDeliveries) / many, unit: 'calls', ...none },
        {
          what: `${setting}: RabbitMQ, hints`,
          value: (sumOf(calls, /^RabbitMQ publish$/) - 2 * many) / many,
          unit: 'calls',
          ...none,
        },
      );
    }
    return figures;
  } finally {
    await receiver.close();
  }
};

/**
 * A projector that begins with nothing, over a log of cards in production. `saves`: each of them is a batch
 * of events that were written together.
 */
const measureCatchUp = async (mongo: string, cards: number): Promise<readonly Figure[]> => {
  const production = await startProduction({ cards, moved: 6 });
  const clock = new SystemClock();
  const calls = new Map<string, number>();
  const counter =
    (engine: string) =>
    (call: string, times = 1): void =>
      void calls.set(`${engine} ${call}`, (calls.get(`${engine} ${call}`) ?? 0) + times);
  const store = new EventStoreDbEventStore({
    url: production.url,
    clock,
    entropy: new SystemEntropy(),
    count: counter('EventStoreDB'),
  });
  const database = new MongoDatabase(mongo, clock, {}, counter('MongoDB'));
  const stop = new AbortController();
  try {
    let reached = 0n;
    const began = performance.now();
    const running = new Projector({
      projections: allProjections,
      log: store,
      store: new MongoProjectionStore({ database, clock }),
      clock,
      reports: { status: () => undefined, moved: (position) => void (reached = position) },
      fail: (error) => {
        throw error;
      },
    }).run(stop.signal);
    await eventually(() => reached >= BigInt(production.to), { within: 600_000 });
    const seconds = (performance.now() - began) / 1_000;
    const events = 7 * cards + production.events;
    const asked = sumOf(calls, /^MongoDB (?!createIndexes)/);
    const saves = sumOf(calls, /^MongoDB bulkWrite builds$/);
    stop.abort();
    await running;
    return [
      {
        what: `catching up with ${events.toLocaleString('en-US')} events of EventStoreDB, into MongoDB`,
        value: events / seconds,
        unit: 'events/s',
        ratio: null,
        comparedWith: null,
        target: '≥ 15000 events/s',
        met: events / seconds >= 15_000,
      },
      {
        what: 'MongoDB, for each of these events',
        value: asked / events,
        unit: 'calls',
        ratio: null,
        comparedWith: null,
        target: '≤ 0.2 calls',
        met: asked / events <= 0.2,
      },
      {
        what: 'events that were saved together',
        value: events / saves,
        unit: 'events',
        ratio: null,
        comparedWith: null,
        target: '≥ 200 events',
        met: events / saves >= 200,
      },
    ];
  } finally {
    stop.abort();
    await store.close();
    await database.dropAll();
    await database.close();
    production.stop();
  }
};

/**
 * What is asked of each server, counted: one process in every role, beside a stand-in of EventStoreDB whose
 * appends take 2 ms, MongoDB and RabbitMQ.
 */
export const measureEngineCalls = async (
  directory: string,
  scale: number,
  { mongo, rabbit }: { readonly mongo: string; readonly rabbit: string },
): Promise<readonly Figure[]> => {
  const standIn = await startStandIn(appendTime);
  const dataDir = join(directory, 'calls');
  await mkdir(dataDir, { recursive: true });
  masterKeys(join(dataDir, 'secret.key'), new SystemEntropy(), true);
  const authorityFile = join(dataDir, 'authority.pem');
  await writeFile(authorityFile, authority.cert);
  const service = await startService(dataDir, {
    RATE_LIMIT_PER_MINUTE: '1000000000',
    EVENTSTORE_URL: standIn.url,
    MONGODB_URL: `${mongo}_calls`,
    RABBITMQ_URL: rabbit,
    NODE_EXTRA_CA_CERTS: authorityFile,
    ...receiverSettings,
  });
  try {
    await eventually(async () => (await fetch(`${service.url}/readyz`)).ok, { within: 60_000 });
    const count = Math.max(400, Math.round(2_000 * scale));
    const made = await measureOperations(service, count);
    const deliveries = await measureDeliveries(service, count);
    await mkdir('bench-results', { recursive: true });
    const file = join('bench-results', 'engine-calls.json');
    await writeFile(file, `${JSON.stringify(made.map(details), null, 2)}\n`);
    const caughtUp = await measureCatchUp(`${mongo}_again`, Math.max(500, Math.round(7_000 * scale)));
    return [...made.flatMap(figuresOf), ...deliveries, ...caughtUp];
  } finally {
    await service.stop();
    standIn.stop();
    const database = new MongoDatabase(`${mongo}_calls`, new SystemClock());
    await database.dropAll();
    await database.close();
  }
};
