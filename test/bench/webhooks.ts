import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { SqliteCheckpoints } from '../../adapters/sqlite/checkpoints.js';
import { SqliteDeliveries } from '../../adapters/sqlite/deliveries.js';
import { openEventsFile, type EventsFile } from '../../adapters/sqlite/events-file.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { UndiciWebhookSender } from '../../adapters/webhook-sender/sender.js';
import { runDeliveries, type Delivering } from '../../application/deliver-webhooks.js';
import type { Writing } from '../../application/execute.js';
import { runRelay } from '../../application/relay.js';
import { Streams } from '../../application/streams.js';
import { disableEndpoint, registerEndpoint, type KeepingWebhooks } from '../../application/webhooks.js';
import { card, schedule } from '../../domain/card.js';
import { cardCode, type CardCode } from '../../domain/card-code.js';
import { CommandId, derivedUuid, LocalDate, OrganizationId, streamName, type Milliseconds } from '../../domain/ids.js';
import type { Command } from '../../domain/events.js';
import { hostSet } from '../../domain/webhook-url.js';
import { authority, receiverHost } from '../support/receiver.js';
import type { ReceiverReport, ReceiverStart } from './receiver-thread.js';

export interface Rig {
  readonly file: EventsFile;
  readonly clock: SystemClock;
  readonly deliveries: SqliteDeliveries;
  readonly orgs: readonly OrganizationId[];
  /** Appends one scheduled card for each of the numbers; the remainder by the count of endpoints says whose it is. */
  readonly appendCards: (numbers: readonly number[]) => Promise<void>;
  /** Starts relay and workers. */
  readonly start: () => void;
  readonly report: () => Promise<ReceiverReport>;
  /** Resolves when so many deliveries have been recorded as delivered. */
  readonly settled: (delivered: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface RigOptions {
  readonly endpoints: number;
  /** How many of the endpoints never answer: the first ones. */
  readonly silent?: number;
  readonly failEvery?: number;
  readonly timeout?: Milliseconds;
  readonly backoff?: readonly Milliseconds[];
  readonly disableAfter?: number;
}

const codeOf = (number: number): CardCode => cardCode([25, 20, 15, 10, 5, 0].map((bits) => (number >>> bits) & 31));

const cardOf = (org: OrganizationId, number: number) =>
  schedule(
    {
      org,
      request: `request-${number}`,
      source: { kind: 'api', id: 'a-key' },
      design: { id: derivedUuid('design', number), slug: null, copied: false },
      handwriting: 'Everyday',
      window: { earliest: LocalDate.parse('2030-06-10'), latest: LocalDate.parse('2030-06-14') },
      due: LocalDate.parse('2030-06-05'),
      reference: `order-${number}`,
      contact: null,
    },
    {
      recipient: { name: 'Ada Lovelace', line1: '12 Analytical Way', line2: null, city: 'Springfield', state: 'IL', zip: '62701', country: 'US' },
      message: 'Thank you for everything, Ada.',
    },
  );

/** Relay, workers and log over real files, with one HTTPS receiver in a thread of its own that stands for all endpoints, one an organization. */
export const openRig = async (options: RigOptions): Promise<Rig> => {
  const { endpoints, silent = 0, failEvery = 0, timeout = 10_000, backoff = [60_000, 300_000], disableAfter = 1_000_000 } = options;
  const directory = await mkdtemp(join(tmpdir(), 'cards-bench-'));
  const fail = (error: unknown): void => {
    throw error;
  };
  const clock = new SystemClock();
  const entropy = new SystemEntropy();
  const file = await openEventsFile({ directory, clock, onUnknownOutcome: fail, onDamage: fail });
  const paths = Array.from({ length: endpoints }, (_, index) => `/endpoint-${index}`);
  const workerData: ReceiverStart = { ...authority.issue([receiverHost]), silent: paths.slice(0, silent), failEvery };
  const receiver = new Worker(new URL('./receiver-thread.js', import.meta.url), { workerData });
  const [port] = (await once(receiver, 'message')) as [number];

  const orgs = paths.map((_, index) => OrganizationId.parse(derivedUuid('bench', index)));
  const streams = new Streams(file.eventStore, entropy);
  const writing: Writing = { store: file.eventStore, streams, clock, entropy };
  const rules = () => ({ ownHosts: hostSet([]), ports: null });
  const sender = new UndiciWebhookSender({ clock, rules, allowNetworks: ['127.0.0.0/8'], timeout, extraCertificates: [authority.cert] });
  const deliveries = new SqliteDeliveries(file);
  const queue = new InProcessDeliveryQueue();
  const keys = [{ id: 'bench', key: entropy.bytes(32) }] as const;
  const policy = { backoff, disableAfter };
  const keeping: KeepingWebhooks = { ...writing, deliveries, queue, sender, keys, policy, urlRules: rules, report: fail };
  const command = (org: OrganizationId): Command => ({
    id: CommandId.parse(entropy.uuid()),
    org,
    actor: { kind: 'key', id: 'a-key' },
    requestId: null,
    at: clock.instant(),
  });
  for (const [index, org] of orgs.entries()) {
    const url = `https://${receiverHost}:${port}${paths[index]}`;
    await registerEndpoint(keeping, org, { url, events: [], description: null }, command(org));
  }

  const checkpoints = new SqliteCheckpoints(file.writer, file.database);
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  let delivered = 0;
  const report = async (): Promise<ReceiverReport> => {
    receiver.postMessage('report');
    const [answer] = (await once(receiver, 'message')) as [ReceiverReport];
    return answer;
  };
  return {
    file,
    clock,
    deliveries,
    orgs,
    appendCards: async (numbers) => {
      const together = 200;
      const appends: Promise<unknown>[] = [];
      for (let first = 0; first < numbers.length; first += together) {
        const writes = numbers.slice(first, first + together).map((number) => {
          const org = orgs[number % orgs.length] ?? OrganizationId.parse('none');
          const at = { stream: streamName('card', codeOf(number)), state: card.initial, revision: -1, hash: null };
          return streams.write(card, at, [{ event: cardOf(org, number), command: command(org) }]);
        });
        appends.push(file.eventStore.append(writes));
      }
      await Promise.all(appends);
    },
    start: () => {
      const delivering: Delivering = {
        deliveries,
        queue,
        sender,
        checkpoints,
        clock,
        keys,
        policy,
        metrics: {
          attempted: (result) => {
            if (result === 'delivered') delivered++;
          },
        },
        disable: (tripped) => disableEndpoint(keeping, tripped),
      };
      running.push(runRelay({ store: file.eventStore, deliveries, queue, checkpoints, clock, policy }, stop.signal, fail));
      running.push(runDeliveries(delivering, stop.signal, fail));
    },
    report,
    settled: async (wanted) => {
      while (delivered < wanted) await clock.sleep(5);
    },
    close: async () => {
      stop.abort();
      await Promise.all(running);
      await sender.close();
      receiver.postMessage('close');
      await once(receiver, 'exit');
      await file.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

const percentile = (sorted: readonly number[], share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const summary = ({ latencies }: ReceiverReport) => {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
};

export interface WebhookFigures {
  /** From events in the log to a recorded 2xx, with full durability. */
  readonly deliveriesPerSecond: number;
  /** From the event to its receipt, at a steady pace of `pace` events a second. */
  readonly latency: { readonly p50: Milliseconds; readonly p99: Milliseconds; readonly pace: number };
  /** The same beside an endpoint that never answers and has `stuck` deliveries due. */
  readonly latencyBesideStuck: { readonly p50: Milliseconds; readonly p99: Milliseconds; readonly stuck: number };
}

const endpoints = 50;
/** Divisible by the number of endpoints. */
const fresh = 10_000_000;
const numbersFrom = (first: number, count: number): readonly number[] => Array.from({ length: count }, (_, index) => first + index);

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

/** Appends at a steady pace and tells how long the events of all but the stuck endpoint took. */
export const measureLatency = async (seconds: number, pace: number, stuck: number): Promise<{ readonly p50: Milliseconds; readonly p99: Milliseconds }> => {
  const rig = await openRig({ endpoints, silent: stuck > 0 ? 1 : 0 });
  try {
    await rig.appendCards(Array.from({ length: stuck }, (_, index) => index * endpoints));
    rig.start();
    let sent = 0;
    const tick = 20;
    const each = Math.max(1, Math.round((pace * tick) / 1000));
    for (let round = 0; round < (seconds * 1000) / tick; round++) {
      await Promise.all([rig.appendCards(numbersFrom(fresh + sent, each)), rig.clock.sleep(tick)]);
      sent += each;
    }
    await rig.settled(stuck > 0 ? sent - Math.ceil(sent / endpoints) : sent);
    return summary(await rig.report());
  } finally {
    await rig.close();
  }
};

export const benchWebhooks = async ({ count = 20_000, seconds = 5, pace = 500, stuck = 10_000 } = {}): Promise<WebhookFigures> => ({
  deliveriesPerSecond: await measureThroughput(count),
  latency: { ...(await measureLatency(seconds, pace, 0)), pace },
  latencyBesideStuck: { ...(await measureLatency(seconds, pace, stuck)), stuck },
});
