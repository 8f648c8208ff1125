import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'undici';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { masterKeys } from '../../bin/settings/secret-files.js';
import { authority, receiverSettings, startReceiver } from '../support/http/receiver.js';
import { eventually } from '../support/time/eventually.js';
import { aCard } from './a-card.js';
import { callsOf, metricsShow, settled, since, sumOf } from './engine-calls.js';
import type { EnginePlaces } from './engine-places.js';
import { figuresOf, type Made, type Setting } from './operation-figures.js';
import { caughtUp, processorTimeOf, startService, type StartedService } from './processes.js';
import type { Figure } from './report.js';

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly token: string;
  readonly body?: string;
  readonly key?: string;
}

interface Customer {
  readonly org: string;
  readonly token: string;
}

interface Sent {
  readonly code: string;
  readonly token: string;
}

/** Due long after this is over: a card that goes to the floor meanwhile would be counted, too. */
const laterCard = JSON.stringify({
  ...(JSON.parse(aCard) as object),
  arrive_on: `${new Date().getFullYear() + 5}-06-20`,
});

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

const maxOrgs = 16;
/** Requests of each client before those that are measured: by then movements that share an append do so. */
const warmUpRounds = 8;

/** A service with its organizations, and the cards that were sent last. */
class Party {
  #customers: readonly Customer[] = [];
  #sent: Sent[] = [];

  constructor(readonly service: StartedService) {}

  async prepare(): Promise<void> {
    this.#customers = await customersOf(this.service, maxOrgs);
  }

  async perform(setting: Setting): Promise<Made> {
    const { clients, what } = setting;
    const cards = this.#sent;
    const count = what === 'cancel' ? Math.min(setting.count, cards.length) : setting.count;
    // Lookups and cancellations are of cards that were sent without a key.
    if (what === 'send') this.#sent = [];
    const pool = new Pool(this.service.url, { connections: clients });
    const times: number[] = [];
    let failed = 0;
    const make = async (many: number): Promise<void> => {
      let next = 0;
      const client = async (own: number): Promise<void> => {
        for (let number = next++; number < many; number = next++) {
          const call = this.#call(setting, own, cards[number % cards.length]);
          const began = performance.now();
          const response = await request(pool, call);
          times.push(performance.now() - began);
          if (response === null) failed += 1;
          else if (what === 'send')
            this.#sent.push({ code: (JSON.parse(response) as { id: string }).id, token: call.token });
        }
      };
      await Promise.all(Array.from({ length: clients }, (_, own) => client(own)));
    };
    if (clients > 1 && what.startsWith('send')) {
      await make(clients * warmUpRounds);
      await settled(this.service);
      times.length = 0;
    }
    const before = await callsOf(this.service);
    const used = processorTimeOf(this.service.child) ?? Number.NaN;
    const began = performance.now();
    await make(count);
    const seconds = (performance.now() - began) / 1_000;
    await settled(this.service);
    const processor = (((processorTimeOf(this.service.child) ?? Number.NaN) - used) * 1_000) / count;
    const calls = since(before, await callsOf(this.service));
    await pool.close();
    const sorted = times.toSorted((a, b) => a - b);
    const quantile = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
    const quantiles = { p50: quantile(0.5), p99: quantile(0.99) };
    return { setting: { ...setting, count }, calls, seconds, ...quantiles, failed, processor };
  }

  /** A client belongs to one organization; lookups and cancellations are of a card that was sent. */
  #call({ what, orgs }: Setting, client: number, sent: Sent | undefined): Call {
    const { token } = this.#customers[client % orgs] ?? { token: '' };
    const { code, token: owner } = sent ?? { code: '', token };
    switch (what) {
      case 'send':
        return { method: 'POST', path: '/api/v1/cards', token, body: laterCard };
      case 'send with a key': {
        const key = randomBytes(12).toString('hex');
        return { method: 'POST', path: '/api/v1/cards', token, body: laterCard, key };
      }
      case 'lookup':
        return { method: 'GET', path: `/api/v1/cards/${code}`, token: owner };
      case 'cancel':
        return { method: 'DELETE', path: `/api/v1/cards/${code}`, token: owner };
      case 'list':
        return { method: 'GET', path: '/api/v1/cards?limit=50', token };
    }
  }
}

/** The body of the response; null if the request was refused, or its connection was closed without one. */
const request = async (pool: Pool, { method, path, token, body, key }: Call): Promise<string | null> => {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  try {
    const response = await pool.request({ method, path, headers, ...(body !== undefined && { body }) });
    const text = await response.body.text();
    return response.statusCode < 300 ? text : null;
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
};

/** Requests of each kind, to the service with servers and, if it is a send, to the embedded one beside it. */
const measureOperations = async (
  service: StartedService,
  embedded: StartedService,
  count: number,
): Promise<readonly Figure[]> => {
  const [distributed, beside] = [new Party(service), new Party(embedded)];
  await distributed.prepare();
  await beside.prepare();
  const kinds = ['send', 'send with a key', 'lookup', 'list', 'cancel'] as const;
  const few = Math.ceil(count / 8);
  const made: { readonly made: Made; readonly besideIt: Made | null }[] = [];
  // The first round warms up.
  for (const [round, [clients, orgs]] of (
    [
      [64, maxOrgs],
      [1, 1],
      [64, 1],
      [1, maxOrgs],
      [64, maxOrgs],
    ] as const
  ).entries())
    for (const what of kinds) {
      const setting = { what, clients, orgs, count: clients === 1 || what === 'list' ? few : count };
      const isSend = what === 'send' || what === 'send with a key';
      const besideIt = isSend ? await beside.perform(setting) : null;
      const one = { made: await distributed.perform(setting), besideIt };
      if (round === 0) continue;
      made.push(one);
      const rate = one.made.setting.count / one.made.seconds;
      process.stderr.write(`${what}, ${clients} clients, ${orgs} organizations: ${rate.toFixed(1)} req/s\n`);
    }
  await mkdir('bench-results', { recursive: true });
  const file = join('bench-results', 'engine-calls.json');
  await writeFile(file, `${JSON.stringify(made.map(details), null, 2)}\n`);
  return made.flatMap(({ made: one, besideIt }) => figuresOf(one, besideIt));
};

const details = ({ made: { setting, calls } }: { readonly made: Made }) => ({
  ...setting,
  calls: Object.fromEntries(
    [...calls]
      .filter(([, times]) => times > 0)
      .map(([call, times]) => [call, Number((times / setting.count).toFixed(3))]),
  ),
});

const ofDeliveries =
  /^MongoDB \S+ (deliveries|delivery_targets|sequences|redrives|relayed_endpoints|progress)$/;
const none = { ratio: null, comparedWith: null, target: null, met: null };

/** Sends of an organization that has an endpoint, until their webhooks have been delivered. */
const measureDeliveries = async (service: StartedService, count: number): Promise<readonly Figure[]> => {
  const [customer = { org: '', token: '' }] = await customersOf(service, 1);
  const receiver = await startReceiver();
  const pool = new Pool(service.url, { connections: 64 });
  try {
    const body = JSON.stringify({ url: receiver.url });
    const { token } = customer;
    const registered = await request(pool, { method: 'POST', path: '/api/v1/webhooks', token, body });
    if (registered === null) throw new Error('the endpoint could not be registered');
    const figures: Figure[] = [];
    for (const clients of [1, 64]) {
      const many = clients === 1 ? Math.ceil(count / 8) : count;
      const expected = receiver.received.length + many;
      const before = await callsOf(service);
      let next = 0;
      const client = async (): Promise<void> => {
        const send: Call = { method: 'POST', path: '/api/v1/cards', token, body: laterCard };
        while (next++ < many)
          if ((await request(pool, send)) === null) throw new Error('a card could not be sent');
      };
      await Promise.all(Array.from({ length: clients }, client));
      await eventually(() => receiver.received.length >= expected, { within: 120_000 });
      await metricsShow(service, (text) => /^webhook_pending_deliveries 0$/m.test(text));
      const calls = since(before, await callsOf(service));
      const setting = `delivery, ${clients === 1 ? 'a lone client' : `${clients} clients`} sending, one organization`;
      const hints = sumOf(calls, /^RabbitMQ publish$/) - 2 * many;
      figures.push(
        { what: `${setting}: MongoDB`, value: sumOf(calls, ofDeliveries) / many, unit: 'calls', ...none },
        { what: `${setting}: RabbitMQ, hints`, value: hints / many, unit: 'calls', ...none },
      );
    }
    return figures;
  } finally {
    await pool.close();
    await receiver.close();
  }
};

/** One process in every role on servers, and an embedded one, which take turns. */
export const measureService = async (
  directory: string,
  places: EnginePlaces,
  scale: number,
): Promise<readonly Figure[]> => {
  const eventStore = await places.eventStore();
  const dataDir = join(directory, 'calls');
  await mkdir(dataDir, { recursive: true });
  masterKeys(join(dataDir, 'secret.key'), new SystemEntropy(), true);
  masterKeys(join(dataDir, 'event.key'), new SystemEntropy(), true, 'EVENT_KEY_FILE');
  const authorityFile = join(dataDir, 'authority.pem');
  await writeFile(authorityFile, authority.cert);
  const unlimited = { RATE_LIMIT_PER_MINUTE: '1000000000' };
  const service = await startService(dataDir, {
    ...unlimited,
    EVENTSTORE_URL: eventStore.url,
    EVENTSTORE_PREFIX: eventStore.prefix,
    MONGODB_URL: places.database('calls'),
    RABBITMQ_URL: places.rabbit,
    NODE_EXTRA_CA_CERTS: authorityFile,
    ...receiverSettings,
  });
  const embedded = await startService(join(directory, 'beside'), unlimited);
  try {
    for (const one of [service, embedded]) await caughtUp(one);
    const count = Math.max(300, Math.round(2_000 * scale));
    const operations = await measureOperations(service, embedded, count);
    return [...operations, ...(await measureDeliveries(service, count))];
  } finally {
    await embedded.stop();
    await service.stop();
    eventStore.stop();
  }
};
