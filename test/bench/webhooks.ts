import { unsealed, writeEventKeys } from '../support/fixtures/seal-events.js';
import { connect } from 'amqplib';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { mongoCheckpoints } from '../../adapters/mongodb/records/checkpoints.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoDeliveries } from '../../adapters/mongodb/deliveries/deliveries.js';
import { RabbitDeliveryQueue } from '../../adapters/rabbitmq/delivery-queue.js';
import { topologyOf } from '../../adapters/rabbitmq/topology.js';
import { sqliteDeliveries } from '../../adapters/sqlite/records/deliveries.js';
import { openEventsFile, type EventsFile } from '../../adapters/sqlite/log/events-file.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { UndiciWebhookSender } from '../../adapters/webhook-sender/sender.js';
import { runDeliveries, type DeliveryDeps } from '../../application/webhooks/deliver-webhooks.js';
import type { WriteDeps } from '../../application/writing/execute.js';
import type { Checkpoints } from '../../application/ports/checkpoints.js';
import type { Deliveries } from '../../application/ports/deliveries.js';
import type { DeliveryQueue } from '../../application/ports/delivery-queue.js';
import { runRelay } from '../../application/webhooks/relay.js';
import { Streams } from '../../application/writing/streams.js';
import { disableEndpoint, registerEndpoint, type WebhookDeps } from '../../application/webhooks/webhooks.js';
import { masterKeys } from '../../bin/settings/secret-files.js';
import { card, schedule } from '../../domain/card.js';
import { cardCode, type CardCode } from '../../domain/card-code.js';
import { CommandId, derivedUuid, OrganizationId, streamName, type Milliseconds } from '../../domain/ids.js';
import type { Command } from '../../domain/events.js';
import { signerFrom } from '../../domain/signed-note.js';
import { hostSet, type WebhookUrl } from '../../domain/webhook-url.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { anOrder, letter } from '../support/fixtures/world.js';
import { authority, receiverHost } from '../support/http/receiver.js';
import { removeTopology } from '../support/servers/topology.js';
import { eventually } from '../support/time/eventually.js';
import { aCard } from './a-card.js';
import { load, startService } from './processes.js';
import { hostileManners, type ReceiverReport, type ReceiverStart } from './receiver-thread.js';
import type { Figure } from './report.js';
import { sqliteCheckpoints } from '../../adapters/sqlite/records/records.js';
import { noneSuspended } from '../support/fixtures/webhooks.js';

export interface Rig {
  readonly directory: string;
  readonly file: EventsFile;
  readonly clock: SystemClock;
  readonly deliveries: Deliveries;
  readonly orgs: readonly OrganizationId[];
  /**
   * Appends one scheduled card for each of the numbers; the number modulo the count of endpoints decides
   * whose it is.
   */
  readonly appendCards: (numbers: readonly number[], owner?: OrganizationId) => Promise<void>;
  readonly hostileOrgs: readonly OrganizationId[];
  /** Starts relay and workers. */
  readonly start: () => void;
  readonly report: () => Promise<ReceiverReport>;
  /** Makes the deliveries of everything in the log, and sends none. */
  readonly fanOut: () => Promise<void>;
  /** Closes the files; the receiver keeps running. */
  readonly release: () => Promise<void>;
  /** Resolves when this many deliveries have been recorded as delivered. */
  readonly settled: (delivered: number) => Promise<void>;
  /**
   * Resolves when nothing is pending for the first organization. Throws if failures were counted against it.
   */
  readonly settledFirst: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface RigOptions {
  /** Where the files are; a new directory unless given. */
  readonly directory?: string;
  readonly endpoints: number;
  /** How many of the endpoints never respond: the first ones. */
  readonly silent?: number;
  /** How many respond only with 500: the first ones. */
  readonly broken?: number;
  /** One in this many requests gets a 500; 0: none. */
  readonly failEvery?: number;
  readonly timeout?: Milliseconds;
  readonly backoff?: readonly Milliseconds[];
  readonly disableAfter?: number;
  /** All endpoints belong to one organization. */
  readonly ofOne?: boolean;
  /**
   * Other organizations whose receivers are slow, silent, not to be resolved, or send endless 1xx responses.
   */
  readonly hostile?: number;
  /** Deliveries in MongoDB and hints through RabbitMQ, instead of files and this process. */
  readonly servers?: Servers;
}

interface Servers {
  readonly mongo: string;
  readonly rabbit: string;
}

interface Kept {
  readonly deliveries: Deliveries;
  readonly checkpoints: Checkpoints;
  readonly queue: DeliveryQueue;
  readonly close: () => Promise<void>;
}

const keptInFiles = (file: EventsFile): Kept => ({
  deliveries: sqliteDeliveries(file),
  checkpoints: sqliteCheckpoints(file),
  queue: new InProcessDeliveryQueue(),
  close: () => Promise.resolve(),
});

/** Under names of their own, which are removed in the end. */
const keptOnServers = async (
  { mongo, rabbit }: Servers,
  clock: SystemClock,
  waits: readonly Milliseconds[],
): Promise<Kept> => {
  const unique = randomBytes(6).toString('hex');
  const url = `${mongo.replace(/^(mongodb(\+srv)?:\/\/[^/?]+).*$/, '$1')}/bench_${unique}`;
  const namespace = `bench.${unique}.`;
  const database = new MongoDatabase(url, clock);
  const queue = new RabbitDeliveryQueue({ url: rabbit, clock, waits, namespace });
  await eventually(() => queue.down === null, { within: 60_000, what: 'RabbitMQ' });
  return {
    deliveries: mongoDeliveries({ database, clock, entropy: new SystemEntropy() }),
    checkpoints: mongoCheckpoints(database),
    queue,
    close: async () => {
      await queue.close();
      await database.dropAll();
      await database.close();
      const model = await connect(rabbit);
      const channel = await model.createChannel();
      await removeTopology(channel, topologyOf(waits, namespace));
      await channel.close();
      await model.close();
    },
  };
};

const endpointsOfHostile = 20;
const hostileHost = (index: number): string => `127.0.1.${index + 1}`;
/** The names of hostile endpoints never resolve: no name server answers for them. */
const unresolvable = '.unresolvable.test';

const codeOf = (number: number): CardCode =>
  cardCode([25, 20, 15, 10, 5, 0].map((bits) => (number >>> bits) & 31));

const cardOf = (org: OrganizationId, number: number) =>
  schedule(anOrder({ org, request: `request-${number}`, reference: `order-${number}` }), letter);

/**
 * Relay, workers and log over real files, with one HTTPS receiver in a thread of its own that stands for all
 * endpoints, one per organization.
 */
export const openRig = async (options: RigOptions): Promise<Rig> => {
  const {
    endpoints,
    silent = 0,
    broken = 0,
    failEvery = 0,
    timeout = 10_000,
    backoff = [60_000, 300_000],
    disableAfter = 1_000_000,
    ofOne = false,
    hostile = 0,
  } = options;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'cards-bench-')));
  const fail = (error: unknown): void => {
    throw error;
  };
  const clock = new SystemClock();
  const entropy = new SystemEntropy();
  await writeLogKey(directory, signerFrom('bench/log', 'note', entropy.bytes(32)));
  writeEventKeys(directory);
  const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  const paths = Array.from({ length: endpoints }, (_, index) => `/endpoint-${index}`);
  const workerData: ReceiverStart = {
    ...authority.issue([receiverHost, ...Array.from({ length: hostile }, (_, index) => hostileHost(index))]),
    silent: paths.slice(0, silent),
    broken: paths.slice(0, broken),
    failEvery,
  };
  const receiver = new Worker(new URL('./receiver-thread.js', import.meta.url), { workerData });
  const [port] = (await once(receiver, 'message')) as [number];
  const otherReceiver =
    hostile === 0 ? null : new Worker(new URL('./receiver-thread.js', import.meta.url), { workerData });
  const [otherPort] = (otherReceiver === null ? [0] : await once(otherReceiver, 'message')) as [number];

  const orgs = paths.map((_, index) => OrganizationId.parse(derivedUuid('bench', ofOne ? 0 : index)));
  const hostileOrgs = Array.from({ length: hostile }, (_, index) =>
    OrganizationId.parse(derivedUuid('hostile', index)),
  );
  const streams = new Streams(file.eventStore, unsealed);
  const writing: WriteDeps = { store: file.eventStore, streams, clock, entropy };
  const rules = () => ({ ownHosts: hostSet([]), ports: null });
  const sender = new UndiciWebhookSender({
    clock,
    rules,
    allowNetworks: ['127.0.0.0/8'],
    timeout,
    extraCertificates: [authority.cert],
    resolve: () => new Promise(() => undefined),
  });
  const kept =
    options.servers === undefined ? keptInFiles(file) : await keptOnServers(options.servers, clock, backoff);
  const { deliveries, checkpoints, queue } = kept;
  const keys = masterKeys(join(directory, 'secret.key'), entropy, true);
  const policy = { backoff, disableAfter };
  const keeping: WebhookDeps = {
    ...writing,
    deliveries,
    queue,
    sender,
    keys,
    policy,
    keep: 30 * 86_400_000,
    urlRules: rules,
    maxEndpoints: 1_000,
    report: fail,
  };
  const command = (org: OrganizationId): Command => ({
    id: CommandId.parse(entropy.uuid()),
    org,
    actor: { kind: 'key', id: 'a-key' },
    requestId: null,
    at: clock.instant(),
  });
  for (const [index, org] of orgs.entries()) {
    const url = `https://${receiverHost}:${port}${paths[index]}` as WebhookUrl;
    await registerEndpoint(
      keeping,
      org,
      { url, events: { value: [] }, description: { value: null } },
      command(org),
    );
  }

  /** Registration would wait for names that never resolve. */
  const unvetted = {
    vet: () => Promise.resolve(),
    send: () => Promise.resolve('withheld' as const),
    close: () => Promise.resolve(),
  };
  for (const [index, org] of hostileOrgs.entries())
    for (let number = 0; number < endpointsOfHostile; number++) {
      const manner = [...hostileManners, null][number % 4] ?? null;
      const url =
        manner === null
          ? `https://${index}-${number}${unresolvable}/`
          : `https://${hostileHost(index)}:${otherPort}/${manner}-${number}`;
      const wanted = { url: url as WebhookUrl, events: { value: [] }, description: { value: null } };
      await registerEndpoint({ ...keeping, sender: unvetted }, org, wanted, command(org));
    }

  const stop = new AbortController();
  const running: Promise<void>[] = [];
  let delivered = 0;
  const report = async (): Promise<ReceiverReport> => {
    receiver.postMessage('report');
    const [answer] = (await once(receiver, 'message')) as [ReceiverReport];
    return answer;
  };
  let released = false;
  const release = async (): Promise<void> => {
    if (!released) await file.close();
    released = true;
  };
  const relaying = {
    store: file.eventStore,
    deliveries,
    queue,
    checkpoints,
    clock,
    policy,
    keep: 30 * 86_400_000,
  };
  return {
    directory,
    fanOut: async () => {
      const { position } = await file.eventStore.head();
      const enough = new AbortController();
      const relay = runRelay(relaying, enough.signal, fail);
      while (((await checkpoints.load('relay'))?.position ?? 0n) < position) await clock.sleep(20);
      enough.abort();
      await relay;
    },
    release,
    file,
    clock,
    deliveries,
    orgs,
    hostileOrgs,
    appendCards: async (numbers, owner) => {
      const together = 200;
      const appends: Promise<unknown>[] = [];
      for (let first = 0; first < numbers.length; first += together) {
        const writes = numbers.slice(first, first + together).map((number) => {
          const org = owner ?? orgs[number % orgs.length] ?? OrganizationId.parse('none');
          const at = {
            stream: streamName('card', codeOf(number)),
            state: card.initial,
            revision: -1,
            hash: null,
            at: null,
            position: null,
          };
          return streams.write(card, at, [{ event: cardOf(org, number), command: command(org) }]);
        });
        appends.push(file.eventStore.append(writes));
      }
      await Promise.all(appends);
    },
    start: () => {
      const delivering: DeliveryDeps = {
        deliveries,
        queue,
        sender,
        checkpoints,
        clock,
        keys,
        policy,
        suspensions: noneSuspended,
        metrics: {
          attempted: (result) => {
            if (result === 'delivered') delivered++;
          },
        },
        disable: (tripped) => disableEndpoint(keeping, tripped),
      };
      running.push(runRelay(relaying, stop.signal, fail));
      running.push(runDeliveries(delivering, stop.signal, fail));
    },
    report,
    settledFirst: async () => {
      const { position } = await file.eventStore.head();
      while (((await checkpoints.load('relay'))?.position ?? 0n) < position) await clock.sleep(20);
      const [first] = orgs;
      if (first === undefined) return;
      const pending = { endpoint: null, status: 'pending', type: null, card: null } as const;
      while ((await deliveries.log.page(first, pending, { startingAfter: null, limit: 1 }))?.length !== 0)
        await clock.sleep(5);
      for (const { failureCount } of (await deliveries.gates.health(first)).values())
        if (failureCount > 0) throw new Error('failures were counted against the good organization');
    },
    settled: async (wanted) => {
      while (delivered < wanted) await clock.sleep(5);
    },
    close: async () => {
      stop.abort();
      await Promise.all(running);
      await sender.close();
      for (const one of [receiver, otherReceiver].filter((each) => each !== null)) {
        one.postMessage('close');
        await once(one, 'exit');
      }
      await kept.close();
      await release();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

interface Latency {
  readonly p50: Milliseconds;
  readonly p99: Milliseconds;
}

const summary = ({ latencies }: ReceiverReport): Latency => {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
};

const seconds = 8;
const latencyRounds = 3;
const secondsPerRound = 5;
const warmUp: Milliseconds = 3_000;
const endpoints = 50;
/** Divisible by the number of endpoints. */
const fresh = 10_000_000;
const numbersFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);

const measureThroughput = async (count: number): Promise<number> => {
  const rig = await openRig({ endpoints });
  try {
    await rig.appendCards(numbersFrom(0, count));
    const began = performance.now();
    rig.start();
    await rig.settled(count);
    return Math.round(count / ((performance.now() - began) / 1000));
  } finally {
    await rig.close();
  }
};

/** The same deliveries, but all of one organization: each event goes to all of its endpoints. */
const measureOneOrganization = async (count: number): Promise<number> => {
  const rig = await openRig({ endpoints, ofOne: true });
  try {
    await rig.appendCards(numbersFrom(0, count / endpoints));
    const began = performance.now();
    rig.start();
    await rig.settled(count);
    return Math.round(count / ((performance.now() - began) / 1000));
  } finally {
    await rig.close();
  }
};

/** A good organization beside hostile ones, each of which sends all the time. */
const measureBesideHostile = async (
  hostile: number,
  duration: Milliseconds,
  servers?: Servers,
): Promise<Latency> => {
  const rig = await openRig({ endpoints: 1, hostile, ...(servers !== undefined && { servers }) });
  const stop = new AbortController();
  let sent = 0;
  let attacks = 0;
  const attack = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      for (const org of rig.hostileOrgs) await rig.appendCards(numbersFrom(2 * fresh + attacks++, 1), org);
      await rig.clock.sleep(200, stop.signal);
    }
  };
  try {
    rig.start();
    const attacking = hostile === 0 ? Promise.resolve() : attack();
    const goOn = async (time: Milliseconds): Promise<void> => {
      for (const until = performance.now() + time; performance.now() < until; sent++)
        await Promise.all([rig.appendCards([sent]), rig.clock.sleep(20)]);
      await rig.settledFirst();
    };
    await goOn(warmUp);
    await rig.report();
    await goOn(duration);
    const latency = summary(await rig.report());
    stop.abort();
    await attacking;
    return latency;
  } finally {
    stop.abort();
    await rig.close();
  }
};

/** Appends at a steady pace and returns how long the events of all but the stuck endpoint took. */
const measureLatency = async (duration: number, pace: number, stuck: number): Promise<Latency> => {
  const rig = await openRig({ endpoints, silent: stuck > 0 ? 1 : 0 });
  try {
    await rig.appendCards(Array.from({ length: stuck }, (_, index) => index * endpoints));
    await rig.fanOut();
    rig.start();
    let sent = 0;
    const tick = 20;
    const each = Math.max(1, Math.round((pace * tick) / 1000));
    const goOn = async (time: Milliseconds): Promise<void> => {
      for (let round = 0; round < time / tick; round++) {
        await Promise.all([rig.appendCards(numbersFrom(fresh + sent, each)), rig.clock.sleep(tick)]);
        sent += each;
      }
      await rig.settled(stuck > 0 ? sent - Math.ceil(sent / endpoints) : sent);
    };
    await goOn(warmUp);
    await rig.report();
    await goOn(duration * 1000);
    return summary(await rig.report());
  } finally {
    await rig.close();
  }
};

const median = (values: readonly number[]): number =>
  percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );

/**
 * Both take turns, and the median round counts: a machine that is busy for a moment makes any p99 worse.
 */
const measureFairness = async (
  pace: number,
  stuck: number,
): Promise<{ readonly plain: Latency; readonly beside: Latency }> => {
  const rounds: { readonly plain: Latency; readonly beside: Latency }[] = [];
  for (let round = 0; round < latencyRounds; round++) {
    rounds.push({
      plain: await measureLatency(secondsPerRound, pace, 0),
      beside: await measureLatency(secondsPerRound, pace, stuck),
    });
  }
  const middle = (which: 'plain' | 'beside'): Latency => ({
    p50: median(rounds.map((round) => round[which].p50)),
    p99: median(rounds.map((round) => round[which].p99)),
  });
  return { plain: middle('plain'), beside: middle('beside') };
};

const atLeast = (value: number, target: number, unit: string) => ({
  target: `≥ ${target}${unit}`,
  met: value >= target,
});

const measureDeliveries = async (): Promise<readonly Figure[]> => {
  const count = 30_000;
  const perSecond = await measureThroughput(count);
  const [pace, stuck] = [500, 10_000];
  const { plain, beside } = await measureFairness(pace, stuck);
  const ratio = beside.p99 / Math.max(1, plain.p99);
  const ofOne = await measureOneOrganization(count);
  const none = { ratio: null, comparedWith: null, target: null, met: null };
  return [
    {
      what: `webhooks: deliveries of ${count.toLocaleString('en-US')} events to ${endpoints} HTTPS endpoints, from the log to a recorded 2xx`,
      value: perSecond,
      unit: '/s',
      ratio: null,
      comparedWith: null,
      ...atLeast(perSecond, 2_000, '/s'),
    },
    {
      what: `webhooks: the same with all ${endpoints} endpoints of one organization`,
      value: ofOne,
      unit: '/s',
      ratio: ofOne / perSecond,
      comparedWith: 'an organization for each',
      ...atLeast(ofOne, 2_000, '/s'),
    },
    {
      what: `webhooks: event to receipt, at ${pace} events/s`,
      value: plain.p50,
      unit: 'ms',
      ...none,
      p50: plain.p50,
      p99: plain.p99,
    },
    {
      what: `webhooks: the same beside an endpoint that never answers, with ${stuck.toLocaleString('en-US')} due`,
      value: beside.p50,
      unit: 'ms',
      ratio,
      comparedWith: 'the p99 without it',
      target: '≤ 1.5',
      met: ratio <= 1.5,
      p50: beside.p50,
      p99: beside.p99,
    },
  ];
};

const hostileCount = 10;

/** What hostile organizations cost a good one: its p99 may be half as much again, and 50 ms. */
const measureHostileWith = async (where: string, servers?: Servers): Promise<Figure> => {
  const alone = await measureBesideHostile(0, secondsPerRound * 2_000, servers);
  const beside = await measureBesideHostile(hostileCount, secondsPerRound * 4_000, servers);
  const most = alone.p99 * 1.5 + 50;
  return {
    what: `hostile organizations${where}: event to receipt of a good one beside ${hostileCount} whose receivers are slow, silent, unresolvable or send endless 1xx`,
    value: beside.p99,
    unit: 'ms',
    ratio: beside.p99 / Math.max(1, alone.p99),
    comparedWith: 'the p99 alone',
    target: `≤ ${most} ms`,
    met: beside.p99 <= most,
    p50: beside.p50,
    p99: beside.p99,
  };
};

/** With files, and with the servers that MONGODB_URL and RABBITMQ_URL name. */
export const measureHostile = async (): Promise<Figure[]> => {
  const { MONGODB_URL: mongo = '', RABBITMQ_URL: rabbit = '' } = process.env;
  const onServers =
    mongo === '' || rabbit === ''
      ? []
      : [await measureHostileWith(' with MongoDB and RabbitMQ', { mongo, rabbit })];
  return [...onServers, await measureHostileWith('')];
};

/**
 * Sends while a backlog drains: a service started over files that hold the events, against one that has
 * nothing to deliver.
 */
const measureSendsBesideBacklog = async (directory: string): Promise<readonly Figure[]> => {
  const backlog = 100_000;
  const sendsPerSecond = async (
    prepare: (files: string) => Promise<Readonly<Record<string, string>>>,
  ): Promise<number> => {
    const files = await mkdtemp(join(directory, 'sends-'));
    const service = await startService(files, {
      RATE_LIMIT_PER_MINUTE: '1000000000',
      ...(await prepare(files)),
    });
    try {
      const { id } = await service.operate('/organizations', { name: 'Bench' });
      await service.operate(`/organizations/${String(id)}/credits`, { amount: 100_000_000 });
      await service.operate(`/organizations/${String(id)}/designs`, { name: 'Thanks' });
      const { key } = await service.operate(`/organizations/${String(id)}/keys`, { scopes: ['cards:send'] });
      const done = await load({
        method: 'POST',
        url: `${service.url}/api/v1/cards`,
        token: String(key),
        body: aCard,
        connections: 64,
        seconds,
      });
      return done.requestsPerSecond;
    } finally {
      await service.stop();
    }
  };
  const idle = await sendsPerSecond(() => Promise.resolve({}));
  const rig = await openRig({ endpoints, directory: join(directory, 'backlog') });
  await rig.appendCards(numbersFrom(0, backlog));
  await rig.fanOut();
  await rig.release();
  const busy = await sendsPerSecond(async (files) => {
    await cp(rig.directory, files, { recursive: true });
    const certificate = join(files, 'authority.pem');
    await writeFile(certificate, authority.cert);
    return {
      NODE_EXTRA_CA_CERTS: certificate,
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      WEBHOOK_ALLOW_PORTS: '*',
    };
  });
  const { received } = await rig.report();
  await rig.close();
  if (received >= backlog) throw new Error('the backlog was gone before the end of the measurement');
  const ratio = busy / idle;
  return [
    {
      what: `POST /cards while a backlog of ${backlog.toLocaleString('en-US')} deliveries drains (${received.toLocaleString('en-US')} were)`,
      value: busy,
      unit: 'req/s',
      ratio,
      comparedWith: 'without a backlog',
      ...atLeast(ratio, 0.5, ''),
    },
  ];
};

/**
 * Deliveries to real HTTPS receivers with full durability, what a dead endpoint does to the others, and what
 * a backlog does to sends.
 */
export const measureWebhooks = async (directory: string): Promise<Figure[]> => [
  ...(await measureDeliveries()),
  ...(await measureSendsBesideBacklog(directory)),
];
