import { PublicStreamUnavailable, type PublicStream } from '../../application/ports/public-stream.js';
import type { Clock } from '../../application/ports/system.js';
import { publishedEvent } from '../../application/watch-log.js';
import type { LoggedEvent } from '../../domain/events.js';
import { categoryOf } from '../../domain/ids.js';
import type { Milliseconds } from '../../domain/ids.js';
import { RabbitUnavailable } from './connection.js';
import { ConfirmingPublisher, type Outgoing } from './publisher.js';
import { declareEvents, topologyOf, type Topology } from './topology.js';

export interface RabbitPublicStreamOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly namespace?: string;
  readonly onTrouble?: (error: unknown) => void;
  /** The longest that confirms are waited for. */
  readonly patience?: Milliseconds;
}

/**
 * The domain events on a topic exchange, with the routing key `{category}.{type}`. Nobody need listen: what
 * no queue is bound for is gone.
 */
export class RabbitPublicStream implements PublicStream {
  readonly #topology: Topology;
  readonly #publisher: ConfirmingPublisher;

  constructor({ url, clock, namespace, onTrouble, patience }: RabbitPublicStreamOptions) {
    this.#topology = topologyOf([], namespace);
    this.#publisher = new ConfirmingPublisher({
      url,
      name: 'public event stream',
      clock,
      mandatory: false,
      declare: (channel) => declareEvents(channel, this.#topology),
      ...(onTrouble !== undefined && { onTrouble }),
      ...(patience !== undefined && { patience }),
    });
  }

  /** Why nothing can be published at the moment; null: it can. */
  get down(): string | null {
    return this.#publisher.down;
  }

  async publish(events: readonly LoggedEvent[]): Promise<void> {
    try {
      await this.#publisher.publish(events.map((event) => this.#message(event)));
    } catch (error) {
      if (error instanceof RabbitUnavailable)
        throw new PublicStreamUnavailable(error.message, { cause: error });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#publisher.close();
  }

  #message(event: LoggedEvent): Outgoing {
    const { id, type, stream, metadata } = event;
    return {
      exchange: this.#topology.events,
      key: `${categoryOf(stream)}.${type}`,
      content: JSON.stringify(publishedEvent(event)),
      options: {
        contentType: 'application/json',
        messageId: id,
        type,
        timestamp: Math.floor(Date.parse(metadata.occurredAt) / 1_000),
      },
    };
  }
}
