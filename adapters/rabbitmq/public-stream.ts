import {
  PublicStreamRefused,
  PublicStreamUnavailable,
  type PublicStream,
} from '../../application/ports/public-stream.js';
import { cloudEventAttributes, externalEvent } from '../../application/log/watch-log.js';
import type { LoggedEvent } from '../../domain/events.js';
import type { Uuid } from '../../domain/ids.js';
import { RabbitRefused, RabbitUnavailable } from './connection.js';
import { ConfirmingPublisher, type BrokerMessage, type Sending } from './publisher.js';
import { topologyOf } from './topology.js';

/** (CloudEvents' binding to AMQP, binary mode) */
const inBinaryMode = (attributes: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`cloudEvents:${name}`, value]));

/**
 * The domain events on a topic exchange, with the routing key `{category}.{type}`. An event that no queue is
 * bound for is dropped.
 */
export class RabbitPublicStream implements PublicStream {
  readonly #exchange: string;
  readonly #publisher: ConfirmingPublisher;

  constructor(options: Sending) {
    this.#exchange = topologyOf([], options.namespace).events;
    this.#publisher = new ConfirmingPublisher({
      ...options,
      name: 'public event stream',
      mandatory: false,
      declare: (channel) => channel.assertExchange(this.#exchange, 'topic', { durable: true }),
    });
  }

  /** Why nothing can be published at the moment, or null if it can. */
  get down(): string | null {
    return this.#publisher.down;
  }

  async publish(events: readonly LoggedEvent[], log: Uuid | null): Promise<void> {
    try {
      await this.#publisher.publish(events.map((event) => this.#message(event, log)));
    } catch (error) {
      if (error instanceof RabbitRefused) throw new PublicStreamRefused(error.message, { cause: error });
      if (error instanceof RabbitUnavailable)
        throw new PublicStreamUnavailable(error.message, { cause: error });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#publisher.close();
  }

  #message(event: LoggedEvent, log: Uuid | null): BrokerMessage {
    const { id, type, metadata } = event;
    const attributes = cloudEventAttributes(event, log);
    return {
      exchange: this.#exchange,
      key: attributes.type,
      content: JSON.stringify(externalEvent(event, log)),
      options: {
        contentType: 'application/json',
        messageId: id,
        type,
        headers: inBinaryMode(attributes),
        timestamp: Math.floor(Date.parse(metadata.occurredAt) / 1_000),
      },
    };
  }
}
