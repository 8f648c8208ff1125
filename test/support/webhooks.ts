import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { MemoryCheckpoints } from '../../adapters/memory/checkpoints.js';
import { MemoryDeliveries } from '../../adapters/memory/deliveries.js';
import { runDeliveries, type Delivering } from '../../application/deliver-webhooks.js';
import type { Deliveries, Delivery } from '../../application/ports/deliveries.js';
import type { AttemptResult, Outgoing, WebhookSender } from '../../application/ports/webhook-sender.js';
import { isRebuilt, runRelay } from '../../application/relay.js';
import { sendCard } from '../../application/send-card.js';
import { disableEndpoint, registerEndpoint, type KeepingWebhooks } from '../../application/webhooks.js';
import type { Milliseconds } from '../../domain/ids.js';
import { webhookEndpoints, type Endpoint, type WebhookEvent } from '../../domain/webhook-endpoints.js';
import { parseEvent } from '../../domain/events.js';
import { hostSet } from '../../domain/webhook-url.js';
import { makeWorld, org, sendRequest, type World } from './world.js';

/** What a receiver does with a request: answers a status, or never (null). */
export type Manner = (outgoing: Outgoing, attempt: number) => number | null;

export interface Sent {
  readonly at: Milliseconds;
  readonly url: string;
  readonly delivery: string;
  readonly body: string;
  readonly signature: string;
}

const answered = (httpStatus: number): AttemptResult => ({ httpStatus, error: null, body: '', duration: 5 });

/** Receivers within the test. What is never answered hangs until the time of an attempt is over. */
export class FakeSender implements WebhookSender {
  readonly sent: Sent[] = [];
  manner: Manner = () => 200;
  readonly #attempts = new Map<string, number>();

  constructor(
    private readonly world: Pick<World, 'clock'>,
    private readonly timeout: Milliseconds = 10_000,
  ) {}

  vet(): Promise<void> {
    return Promise.resolve();
  }

  async send(outgoing: Outgoing, signal?: AbortSignal): Promise<AttemptResult | 'withheld'> {
    if (!outgoing.mayStart()) return 'withheld';
    const { headers, url, body } = outgoing;
    const delivery = String(headers['service-delivery']);
    const attempt = (this.#attempts.get(delivery) ?? 0) + 1;
    this.#attempts.set(delivery, attempt);
    this.sent.push({ at: this.world.clock.now(), url, delivery, body, signature: String(headers['service-signature']) });
    const status = this.manner(outgoing, attempt);
    if (status !== null) return answered(status);
    await this.world.clock.sleep(this.timeout, signal);
    return signal?.aborted === true ? 'withheld' : { httpStatus: null, error: 'no complete answer within 10 s', body: null, duration: this.timeout };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface Office {
  readonly world: World;
  readonly keeping: KeepingWebhooks;
  readonly sender: FakeSender;
  readonly checkpoints: MemoryCheckpoints;
  deliveries: Deliveries;
  /** Failures that a process reported and went on from. */
  readonly reported: unknown[];
  /** Starts relay and worker; the answer stops them and waits until they have ended. */
  readonly start: (changes?: Partial<Delivering>) => Promise<() => Promise<void>>;
  readonly register: (url: string, events?: readonly string[]) => Promise<Endpoint>;
  readonly send: () => Promise<string>;
  readonly endpoints: () => Promise<readonly Endpoint[]>;
  readonly webhookEvents: () => Promise<readonly WebhookEvent[]>;
  readonly rows: () => Promise<readonly Delivery[]>;
  /** Lets time stand still until the condition holds. */
  readonly until: (condition: () => boolean | Promise<boolean>) => Promise<void>;
}

export const schedule = [60_000, 300_000, 1_500_000, 7_200_000, 36_000_000];

/** Webhooks in memory, on a clock that the test moves. */
export const openOffice = async ({ backoff = schedule, disableAfter = 20, queue = new InProcessDeliveryQueue() } = {}): Promise<Office> => {
  const world = await makeWorld({ atomic: true, embedded: true, credits: 100_000 });
  const sender = new FakeSender(world);
  const checkpoints = new MemoryCheckpoints();
  const keys = [{ id: 'k', key: Buffer.alloc(32, 1) }] as const;
  const policy = { backoff, disableAfter };
  const urlRules = () => ({ ownHosts: hostSet([]), ports: null });
  const reported: unknown[] = [];
  const report = (error: unknown) => void reported.push(error);
  const deliveries = new MemoryDeliveries();
  const keeping = (): KeepingWebhooks => ({ ...world, deliveries: office.deliveries, queue, sender, keys, policy, urlRules, report });
  const office: Office = {
    world,
    sender,
    checkpoints,
    deliveries,
    reported,
    get keeping() {
      return keeping();
    },
    start: async (changes = {}) => {
      const stop = new AbortController();
      const { clock, store } = world;
      const running = [
        runRelay({ store, deliveries: office.deliveries, queue, checkpoints, clock, policy }, stop.signal, report),
        runDeliveries(
          {
            deliveries: office.deliveries,
            queue,
            sender,
            checkpoints,
            clock,
            keys,
            policy,
            metrics: { attempted: () => undefined },
            disable: (tripped) => disableEndpoint(keeping(), tripped),
            ...changes,
          },
          stop.signal,
          report,
        ),
      ];
      // The worker looks now and then whether the relay has seen what was in the log.
      for (let turn = 0; turn < 100 && !(await isRebuilt({ checkpoints: changes.checkpoints ?? checkpoints })); turn++) await clock.advance(0);
      await clock.advance(100);
      return async () => {
        stop.abort();
        for (let turn = 0; turn < 3; turn++) await clock.advance(5_000);
        await Promise.all(running);
      };
    },
    register: async (url, events = []) =>
      (await registerEndpoint(keeping(), org, { url, events: { value: events }, description: { value: null } }, world.command())).endpoint,
    send: async () => (await sendCard(world, sendRequest(world))).code,
    endpoints: async () => (await world.streams.load(webhookEndpoints, org)).state.endpoints,
    webhookEvents: async () => (await world.store.readStream(`webhooks-${org}` as never, 0)).map((event) => parseEvent(webhookEndpoints, event)),
    rows: async () => {
      const found: Delivery[] = [];
      for (let startingAfter: string | null = null; ; startingAfter = found.at(-1)?.id ?? null) {
        const page = await office.deliveries.page(org, { endpoint: null, status: null, type: null, card: null }, { startingAfter, limit: 1_000 });
        found.push(...(page ?? []));
        if ((page ?? []).length < 1_000) return found.reverse();
      }
    },
    until: async (condition) => {
      for (let turn = 0; turn < 2_000; turn++) {
        if (await condition()) return;
        await world.clock.advance(0);
      }
      throw new Error('the condition did not hold');
    },
  };
  return office;
};
