import { Duplex } from 'node:stream';
import type { Channel, ChannelModel, ConfirmChannel, Options } from 'amqplib';
import { uncounted, type CountCall } from '../../application/ports/tracing.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import {
  RabbitConnection,
  RabbitRefused,
  RabbitUnavailable,
  type Broker,
  type RabbitConnectionOptions,
} from './connection.js';

/** A message and where it goes. */
export interface BrokerMessage {
  readonly exchange: string;
  readonly key: string;
  readonly content: string;
  readonly options: Pick<Options.Publish, 'contentType' | 'messageId' | 'type' | 'headers' | 'timestamp'>;
}

/** The broker, and how messages are sent to it. */
export interface Sending extends Broker {
  /** A prefix for the names of exchanges and queues. */
  readonly namespace?: string;
  /** Counts messages, and their confirms. */
  readonly count?: CountCall;
  /** How long to wait for the broker's confirms. */
  readonly confirmTimeout?: Milliseconds;
}

export interface PublisherOptions extends Sending, Omit<RabbitConnectionOptions, 'setup'> {
  /** Whether it is an error if no queue takes a message: a confirm alone doesn't tell. */
  readonly mandatory: boolean;
  readonly declare: (channel: Channel) => Promise<unknown>;
}

const channelClosed = 'RabbitMQ: the channel is closed.';
const usualConfirmTimeout: Milliseconds = 5_000;

/**
 * amqplib writes each message to the socket by itself, in the next turn of the event loop. Messages that are
 * published together go out in one write: a write costs more than all else of a message.
 * (docs/engines.md#rabbitmq)
 */
const writeTogether = ({ connection }: { readonly connection: object }): void => {
  const socket = 'stream' in connection ? connection.stream : null;
  if (!(socket instanceof Duplex)) return;
  socket.cork();
  setImmediate(() => setImmediate(() => socket.uncork()));
};

/**
 * Sends persistent messages and waits until a majority of the broker's nodes has them. It has a connection of
 * its own, because an alarm blocks a publisher's connection and must not block consumers.
 * (docs/engines.md#rabbitmq)
 */
export class ConfirmingPublisher {
  readonly #connection: RabbitConnection;
  #channel: ConfirmChannel | null = null;
  readonly #returned = new Set<string>();
  #sent = 0;

  constructor(private readonly options: PublisherOptions) {
    this.#connection = new RabbitConnection({ ...options, setup: (model) => this.#setUp(model) });
  }

  /** Why nothing can be sent at the moment, or null if it can. */
  get down(): string | null {
    return this.#connection.down ?? (this.#channel === null ? channelClosed : null);
  }

  /**
   * Resolves when all messages are confirmed. Otherwise throws RabbitUnavailable: some may have arrived; send
   * all of them again.
   */
  async publish(messages: readonly BrokerMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const channel = this.#channel;
    if (channel === null || this.down !== null) throw new RabbitUnavailable(this.down ?? channelClosed);
    const { clock, confirmTimeout = usualConfirmTimeout } = this.options;
    writeTogether(channel);
    const confirmed = Promise.all(messages.map((message) => this.#send(channel, message)));
    await withTimeout(clock, confirmTimeout, confirmed, () => {
      this.#connection.reset(`nothing was confirmed for ${confirmTimeout} ms`);
      throw new RabbitUnavailable(`RabbitMQ has confirmed nothing for ${confirmTimeout} ms.`);
    });
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #send(channel: ConfirmChannel, { exchange, key, content, options }: BrokerMessage): Promise<void> {
    const { mandatory, count = uncounted } = this.options;
    const messageId = options.messageId ?? String((this.#sent += 1));
    return new Promise((resolve, reject) => {
      const settle = (error: unknown): void => {
        if (error !== null && error !== undefined) reject(notTaken(error));
        else if (this.#returned.delete(messageId)) {
          // A queue or binding is gone: a new connection declares everything again.
          this.#connection.reset(`no queue takes messages from ${exchange}`);
          reject(
            new RabbitUnavailable(`RabbitMQ has no queue for messages to ${exchange} with the key ${key}.`),
          );
        } else {
          count('confirm');
          resolve();
        }
      };
      try {
        count('publish');
        const sent = { ...options, messageId, persistent: true, mandatory };
        channel.publish(exchange, key, Buffer.from(content), sent, settle);
      } catch (error) {
        settle(error);
      }
    });
  }

  async #setUp(model: ChannelModel): Promise<void> {
    const { declare, onError } = this.options;
    const channel = await model.createConfirmChannel();
    channel.on('error', (error) => onError?.(error));
    channel.on('return', ({ properties }) => void this.#returned.add(String(properties.messageId)));
    channel.on('close', () => {
      if (this.#channel !== channel) return;
      this.#channel = null;
      model.close().catch(() => undefined);
    });
    await declare(channel);
    this.#returned.clear();
    this.#channel = channel;
  }
}

/** amqplib tells by its text alone that the broker has refused a message. */
const notTaken = (error: unknown): RabbitUnavailable =>
  messageOf(error) === 'message nacked'
    ? new RabbitRefused('A queue refused a message: it is full, and its overflow is reject-publish.', {
        cause: error,
      })
    : new RabbitUnavailable('RabbitMQ did not accept a message.', { cause: error });
