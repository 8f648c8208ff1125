import type { Channel, ChannelModel, ConfirmChannel, Options } from 'amqplib';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import type { Milliseconds } from '../../domain/ids.js';
import { RabbitConnection, RabbitUnavailable } from './connection.js';

export interface Outgoing {
  readonly exchange: string;
  readonly key: string;
  readonly content: string;
  readonly options: Omit<Options.Publish, 'persistent' | 'mandatory' | 'messageId'> & {
    readonly messageId?: string;
  };
}

export interface PublisherOptions {
  readonly url: string;
  readonly name: string;
  readonly clock: Clock;
  /** Whether a message that no queue takes is a failure: a confirm alone does not tell. */
  readonly mandatory: boolean;
  readonly declare: (channel: Channel) => Promise<void>;
  /** Runs after every connect and after every alarm, when messages can be sent. */
  readonly onReady?: () => void;
  readonly onTrouble?: (error: unknown) => void;
  /** The longest that confirms are waited for. */
  readonly patience?: Milliseconds;
}

const usualPatience: Milliseconds = 5_000;

/**
 * Sends persistent messages and waits until the broker has them on a majority of its nodes. A connection of
 * its own: an alarm stops publishers, and must not stop consumers.
 */
export class ConfirmingPublisher {
  readonly #connection: RabbitConnection;
  readonly #options: PublisherOptions;
  #channel: ConfirmChannel | null = null;
  readonly #returned = new Set<string>();
  #sent = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
    const { url, name, clock, onReady, onTrouble } = options;
    this.#connection = new RabbitConnection({
      url,
      name,
      clock,
      setup: (model) => this.#setUp(model),
      ...(onReady !== undefined && { onUnblocked: onReady }),
      ...(onTrouble !== undefined && { onTrouble }),
    });
  }

  /** Why nothing can be sent at the moment; null: it can. */
  get down(): string | null {
    return this.#connection.down ?? (this.#channel === null ? 'RabbitMQ: the channel is closed.' : null);
  }

  /**
   * Resolves when all are confirmed. Throws RabbitUnavailable otherwise: some may have arrived, and all are
   * to be sent again.
   */
  async publish(messages: readonly Outgoing[]): Promise<void> {
    if (messages.length === 0) return;
    const channel = this.#channel;
    const { down } = this;
    if (channel === null || down !== null) throw new RabbitUnavailable(down ?? 'RabbitMQ is not there.');
    const { clock, patience = usualPatience } = this.#options;
    const confirmed = Promise.all(messages.map((message) => this.#send(channel, message)));
    await within(clock, patience, confirmed, () => {
      this.#connection.reset(`nothing was confirmed for ${patience} ms`);
      throw new RabbitUnavailable(`RabbitMQ has confirmed nothing for ${patience} ms.`);
    });
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #send(channel: ConfirmChannel, { exchange, key, content, options }: Outgoing): Promise<void> {
    const { mandatory } = this.#options;
    const messageId = options.messageId ?? String((this.#sent += 1));
    return new Promise((resolve, reject) => {
      const settle = (error: unknown): void => {
        if (error !== null && error !== undefined)
          reject(new RabbitUnavailable('RabbitMQ did not take a message.', { cause: error }));
        else if (this.#returned.delete(messageId)) {
          // What it should be bound to is gone: a new connection declares everything again.
          this.#connection.reset(`no queue takes messages of ${exchange}`);
          reject(
            new RabbitUnavailable(`RabbitMQ has no queue for messages of ${exchange} with the key ${key}.`),
          );
        } else resolve();
      };
      try {
        channel.publish(
          exchange,
          key,
          Buffer.from(content),
          { ...options, messageId, persistent: true, mandatory },
          settle,
        );
      } catch (error) {
        settle(error);
      }
    });
  }

  async #setUp(model: ChannelModel): Promise<void> {
    const { declare, onReady, onTrouble } = this.#options;
    const channel = await model.createConfirmChannel();
    channel.on('error', (error) => onTrouble?.(error));
    channel.on('return', ({ properties }) => void this.#returned.add(String(properties.messageId)));
    channel.on('close', () => {
      if (this.#channel !== channel) return;
      this.#channel = null;
      model.close().catch(() => undefined);
    });
    await declare(channel);
    this.#returned.clear();
    this.#channel = channel;
    setImmediate(() => onReady?.());
  }
}
