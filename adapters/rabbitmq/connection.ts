import { connect, type ChannelModel, type RecoveringChannelModel } from 'amqplib';
import type { Clock } from '../../application/ports/system.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import { messageOf, NamedError } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

/**
 * RabbitMQ can't be reached, takes no messages at the moment, or did not confirm them in time. The messages
 * may have arrived all the same.
 */
export class RabbitUnavailable extends NamedError {}

/** A queue that is full, and refuses what comes then, did not take a message. Others may have. */
export class RabbitRefused extends RabbitUnavailable {}

/** Where the broker is. */
export interface Broker {
  /** `amqp://` or `amqps://`. */
  readonly url: string;
  readonly clock: Clock;
  /** Called with failures. The connection is made again automatically. */
  readonly onError?: (error: unknown) => void;
}

export interface RabbitConnectionOptions extends Broker {
  /** Shown in the broker's list of connections. */
  readonly name: string;
  /**
   * Runs on every new connection, before it counts as up: declares queues, starts to consume. If it fails,
   * another connection is made.
   */
  readonly setup: (model: ChannelModel) => Promise<void>;
  /** Called when messages can be sent: after each connect, and at the end of each alarm. */
  readonly onReady?: () => void;
}

export const connectTimeout: Milliseconds = 5_000;
const heartbeatSeconds = 10;
/** Closing waits this long for a broker that doesn't respond. */
const closeTimeout: Milliseconds = 2_000;
const closed = 'RabbitMQ: the connection is closed.';
const recovery = { initialDelay: 100, maxDelay: 5_000, factor: 2, jitter: 0.3 };

/** After two missed heartbeats the connection counts as lost. */
const withHeartbeat = (url: string): string => {
  const parsed = new URL(url);
  if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', String(heartbeatSeconds));
  return parsed.href;
};

/**
 * One connection, made again whenever it is lost. The broker need not be up when the process starts.
 */
export class RabbitConnection {
  readonly #recovering: Promise<RecoveringChannelModel>;
  #model: ChannelModel | null = null;
  #down: string | null = 'RabbitMQ has not been reached yet.';
  #blocked: string | null = null;

  constructor(private readonly options: RabbitConnectionOptions) {
    this.#recovering = this.#open();
    this.#recovering.catch((error: unknown) => this.#wentDown(error));
  }

  /** Why nothing can be sent at the moment, or null if it can. */
  get down(): string | null {
    return this.#down ?? this.#blocked;
  }

  /** Closes the current connection; a new one is made and set up. */
  reset(reason: string): void {
    this.#wentDown(new RabbitUnavailable(reason));
    this.#model?.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#down = closed;
    const closing = this.#recovering.then((recovering) => recovering.close()).catch(() => undefined);
    await withTimeout(this.options.clock, closeTimeout, closing, () => null);
  }

  async #open(): Promise<RecoveringChannelModel> {
    const { url, name } = this.options;
    const recovering = await connect(withHeartbeat(url), {
      recovery: { ...recovery, waitForConnect: false, setup: (model: ChannelModel) => this.#setUp(model) },
      timeout: connectTimeout,
      noDelay: true,
      keepAlive: true,
      clientProperties: { connection_name: name },
    });
    recovering.on('connect', () => {
      this.#down = null;
    });
    recovering.on('connect-failed', (error) => this.#wentDown(error));
    recovering.on('disconnect', (error) => this.#wentDown(error));
    recovering.on('error', (error) => this.#wentDown(error));
    recovering.on('blocked', (reason) => {
      this.#blocked = `RabbitMQ takes no messages: ${reason}`;
      this.options.onError?.(new RabbitUnavailable(this.#blocked));
    });
    recovering.on('unblocked', () => {
      this.#blocked = null;
      this.options.onReady?.();
    });
    return recovering;
  }

  async #setUp(model: ChannelModel): Promise<void> {
    this.#model = model;
    this.#blocked = null;
    // A connection without an error listener ends the process. It closes after this.
    model.on('error', () => undefined);
    await this.options.setup(model);
    setImmediate(() => this.options.onReady?.());
  }

  #wentDown(error: unknown): void {
    if (this.#down === closed) return;
    this.#down = `RabbitMQ: ${messageOf(error)}`;
    this.options.onError?.(error);
  }
}
