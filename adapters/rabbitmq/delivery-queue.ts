import { IllegalOperationError, type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { z } from 'zod';
import type { DeliveryId } from '../../application/ports/delivery-log.js';
import type { DeliveryQueue, Hint } from '../../application/ports/delivery-queue.js';
import { uncounted } from '../../application/ports/tracing.js';
import { Uuid, type Milliseconds } from '../../domain/ids.js';
import { RabbitConnection } from './connection.js';
import { ConfirmingPublisher, type BrokerMessage, type Sending } from './publisher.js';
import { declareHints, topologyOf, type Topology } from './topology.js';

export interface RabbitDeliveryQueueOptions extends Sending {
  readonly waits: readonly Milliseconds[];
}

/**
 * A hint as JSON: ids, a number and a time. Payload and state stay in the database. Workers claim by the
 * endpoint; the time lets a hint wait longer than any one queue holds it. A hint that is out of date finds
 * nothing due, so it needs no generation.
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

/** The hint that a message carries, or null if it can't be read. */
export const hintOf = ({ content }: Pick<ConsumeMessage, 'content'>): Hint | null => {
  try {
    return Message.parse(JSON.parse(content.toString()));
  } catch {
    return null;
  }
};

/** How many unacknowledged messages one consumer may hold. */
const prefetch = 100;
/** A wait may end this much late if that saves another wait. */
const tolerance: Milliseconds = 1_000;

/**
 * Hints through RabbitMQ. Each reaches one of the workers that listen; first attempts and retries go through
 * separate queues. Hints for later wait in queues that hold every message for one fixed time. Hints that
 * can't be sent now are kept, one per endpoint, and sent when the broker is back; the sweep finds the rest.
 */
export class RabbitDeliveryQueue implements DeliveryQueue {
  readonly #topology: Topology;
  readonly #publisher: ConfirmingPublisher;
  readonly #unsent = new Map<Uuid, Hint>();
  readonly #consuming = new Set<RabbitConnection>();

  constructor(private readonly options: RabbitDeliveryQueueOptions) {
    this.#topology = topologyOf(options.waits, options.namespace);
    this.#publisher = new ConfirmingPublisher({
      ...options,
      name: 'webhook hints',
      mandatory: true,
      declare: (channel) => declareHints(channel, this.#topology),
      onReady: () => void this.#sendUnsent(),
    });
  }

  /** Why hints can't be sent or received at the moment, or null if they can. */
  get down(): string | null {
    return this.#publisher.down ?? [...this.#consuming].find(({ down }) => down !== null)?.down ?? null;
  }

  /** Never rejects, and doesn't wait for a broker that is away. */
  async announce(hints: readonly Hint[]): Promise<void> {
    try {
      await this.#publisher.publish(hints.map((hint) => this.#message(hint)));
    } catch (error) {
      this.options.onError?.(error);
      for (const hint of hints) this.#keep(hint);
    }
  }

  async listen(notify: (hint: Hint) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const connection = new RabbitConnection({
      ...this.options,
      name: 'webhook workers',
      setup: (model) => this.#consume(model, notify),
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
    const kept = this.#unsent.get(hint.endpoint);
    if (kept === undefined || hint.due < kept.due) this.#unsent.set(hint.endpoint, hint);
  }

  async #sendUnsent(): Promise<void> {
    const hints = [...this.#unsent.values()];
    this.#unsent.clear();
    if (hints.length > 0) await this.announce(hints);
  }

  #message(hint: Hint): BrokerMessage {
    const { endpoint, delivery, attempt, due } = hint;
    const { workExchange, waitExchange, waitQueues } = this.#topology;
    const untilDue = due - this.options.clock.now();
    const wait = waitQueues.findLast(({ time }) => time <= untilDue + Math.min(tolerance, time / 2));
    const destination =
      wait === undefined
        ? { exchange: workExchange, key: attempt > 1 ? 'retry' : 'first' }
        : { exchange: waitExchange, key: String(wait.time) };
    const content = JSON.stringify({ endpoint, delivery, attempt, due });
    return { ...destination, content, options: { contentType: 'application/json' } };
  }

  async #consume(model: ChannelModel, notify: (hint: Hint) => void): Promise<void> {
    const channel = await model.createChannel();
    const reconnect = () => void model.close().catch(() => undefined);
    channel.on('error', (error) => this.options.onError?.(error));
    channel.on('close', reconnect);
    await declareHints(channel, this.#topology);
    await channel.prefetch(prefetch);
    for (const queue of Object.values(this.#topology.workQueues)) {
      await channel.consume(queue, (message) => {
        // Null: the queue was deleted.
        if (message === null) reconnect();
        else void this.#receive(channel, message, notify);
      });
    }
  }

  /**
   * A message that can't be read goes to the dead letters at once. One whose listener throws comes again, a
   * few times.
   */
  async #receive(channel: Channel, message: ConsumeMessage, notify: (hint: Hint) => void): Promise<void> {
    const { clock, onError, count = uncounted } = this.options;
    count('message received');
    const hint = hintOf(message);
    if (hint === null) return unlessClosed(() => channel.reject(message, false));
    try {
      const [shortest] = this.#topology.waitQueues;
      if (hint.due - clock.now() > Math.max(tolerance, shortest?.time ?? 0)) await this.announce([hint]);
      else notify(hint);
      unlessClosed(() => channel.ack(message));
    } catch (error) {
      onError?.(error);
      unlessClosed(() => channel.nack(message, false, true));
    }
  }
}

/**
 * Acknowledges or rejects a message, unless the connection that it came over is closed: then it comes again
 * over the next one.
 */
const unlessClosed = (acknowledge: () => void): void => {
  try {
    acknowledge();
  } catch (error) {
    if (!(error instanceof IllegalOperationError)) throw error;
  }
};
