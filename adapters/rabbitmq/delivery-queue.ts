import { IllegalOperationError, type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { z } from 'zod';
import type { DeliveryId, DeliveryQueue, Hint } from '../../application/ports/deliveries.js';
import type { Clock } from '../../application/ports/system.js';
import { Uuid, type Milliseconds } from '../../domain/ids.js';
import { RabbitConnection } from './connection.js';
import { ConfirmingPublisher, type Outgoing } from './publisher.js';
import { declareHints, topologyOf, type Topology } from './topology.js';

export interface RabbitDeliveryQueueOptions {
  readonly url: string;
  readonly clock: Clock;
  /** The waits between attempts. */
  readonly waits: readonly Milliseconds[];
  readonly namespace?: string;
  readonly onTrouble?: (error: unknown) => void;
  /** The longest that confirms are waited for. */
  readonly patience?: Milliseconds;
}

/**
 * Ids, a number and a time: payload and state stay in the database. The endpoint is what workers claim by,
 * and the time lets a hint wait longer than any one queue holds it; a hint that has been overtaken finds
 * nothing due, so that it carries no generation.
 */
const Message = z.object({
  endpoint: Uuid,
  delivery: z
    .string()
    .transform((id) => id as DeliveryId)
    .nullable(),
  attempt: z.int(),
  due: z.number(),
});

const parse = ({ content }: Pick<ConsumeMessage, 'content'>): Hint | null => {
  try {
    return Message.parse(JSON.parse(content.toString()));
  } catch {
    return null;
  }
};

export const isHint = (message: Pick<ConsumeMessage, 'content'>): boolean => parse(message) !== null;

/** Unacknowledged messages of one consumer. */
const prefetch = 100;
/** A wait may end so much later than asked for, if that spares another wait. */
const tolerance: Milliseconds = 1_000;

const later = (a: Hint, b: Hint): boolean => a.due > b.due;

/** Acknowledging what came over a connection that is gone: it comes again over the next one. */
const unlessGone = (acknowledge: () => void): void => {
  try {
    acknowledge();
  } catch (error) {
    if (!(error instanceof IllegalOperationError)) throw error;
  }
};

/**
 * Hints through RabbitMQ: each is heard by one of the workers that listen, first attempts and retries in
 * lanes of their own, those for later after a wait in one of the queues that hold messages for a fixed time.
 * What can't be sent now is kept, one hint an endpoint, and sent when the broker is back; the rest is the
 * sweep's.
 */
export class RabbitDeliveryQueue implements DeliveryQueue {
  readonly #options: RabbitDeliveryQueueOptions;
  readonly #topology: Topology;
  readonly #publisher: ConfirmingPublisher;
  readonly #unsent = new Map<Uuid, Hint>();
  readonly #consuming = new Set<RabbitConnection>();

  constructor(options: RabbitDeliveryQueueOptions) {
    this.#options = options;
    const { url, clock, waits, namespace, onTrouble, patience } = options;
    this.#topology = topologyOf(waits, namespace);
    this.#publisher = new ConfirmingPublisher({
      url,
      name: 'webhook hints',
      clock,
      mandatory: true,
      declare: (channel) => declareHints(channel, this.#topology),
      onReady: () => void this.#sendUnsent(),
      ...(onTrouble !== undefined && { onTrouble }),
      ...(patience !== undefined && { patience }),
    });
  }

  /** Why hints can't be sent or heard at the moment; null: they can. */
  get down(): string | null {
    return this.#publisher.down ?? [...this.#consuming].find(({ down }) => down !== null)?.down ?? null;
  }

  /** Never rejects, and does not wait for a broker that is away. */
  async announce(hints: readonly Hint[]): Promise<void> {
    try {
      await this.#publisher.publish(hints.map((hint) => this.#message(hint)));
    } catch (error) {
      this.#options.onTrouble?.(error);
      for (const hint of hints) this.#keep(hint);
    }
  }

  async listen(hear: (hint: Hint) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { url, clock, onTrouble } = this.#options;
    const connection = new RabbitConnection({
      url,
      clock,
      name: 'webhook workers',
      setup: (model) => this.#consume(model, hear),
      ...(onTrouble !== undefined && { onTrouble }),
    });
    this.#consuming.add(connection);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.#consuming.delete(connection);
    await connection.close();
  }

  async close(): Promise<void> {
    await this.#publisher.close();
  }

  #keep(hint: Hint): void {
    const known = this.#unsent.get(hint.endpoint);
    if (known === undefined || later(known, hint)) this.#unsent.set(hint.endpoint, hint);
  }

  async #sendUnsent(): Promise<void> {
    const hints = [...this.#unsent.values()];
    this.#unsent.clear();
    if (hints.length > 0) await this.announce(hints);
  }

  #message(hint: Hint): Outgoing {
    const { endpoint, delivery, attempt, due } = hint;
    const { work, retry, waits } = this.#topology;
    const left = due - this.#options.clock.now();
    const wait = waits.findLast(({ time }) => time <= left + Math.min(tolerance, time / 2));
    const place =
      wait === undefined
        ? { exchange: work, key: attempt > 1 ? 'retry' : 'first' }
        : { exchange: retry, key: String(wait.time) };
    const content = JSON.stringify({ endpoint, delivery, attempt, due });
    return { ...place, content, options: { contentType: 'application/json' } };
  }

  async #consume(model: ChannelModel, hear: (hint: Hint) => void): Promise<void> {
    const channel = await model.createChannel();
    const again = () => void model.close().catch(() => undefined);
    channel.on('error', (error) => this.#options.onTrouble?.(error));
    channel.on('close', again);
    await declareHints(channel, this.#topology);
    await channel.prefetch(prefetch);
    for (const lane of Object.values(this.#topology.lanes)) {
      await channel.consume(lane, (message) => {
        if (message === null) again();
        else void this.#receive(channel, message, hear);
      });
    }
  }

  /**
   * What can't be read is nobody's hint: it goes to the dead letters at once. What fails to be heard comes
   * again, a few times.
   */
  async #receive(channel: Channel, message: ConsumeMessage, hear: (hint: Hint) => void): Promise<void> {
    const { clock, onTrouble } = this.#options;
    const hint = parse(message);
    if (hint === null) return unlessGone(() => channel.reject(message, false));
    try {
      const [shortest] = this.#topology.waits;
      if (hint.due - clock.now() > Math.max(tolerance, shortest?.time ?? 0)) await this.announce([hint]);
      else hear(hint);
      unlessGone(() => channel.ack(message));
    } catch (error) {
      onTrouble?.(error);
      unlessGone(() => channel.nack(message, false, true));
    }
  }
}
