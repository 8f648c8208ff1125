import { connect, type ChannelModel, type RecoveringChannelModel } from 'amqplib';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

/**
 * RabbitMQ can't be reached, takes no messages at the moment, or did not confirm them in time. They may have
 * arrived all the same.
 */
export class RabbitUnavailable extends Error {
  override readonly name = 'RabbitUnavailable';
}

export interface RabbitConnectionOptions {
  /** `amqp://` or `amqps://`. */
  readonly url: string;
  /** What the broker's list of connections calls it. */
  readonly name: string;
  readonly clock: Clock;
  /**
   * Runs on every new connection, before it counts as there: declares, and consumes again. Where it fails the
   * connection is made anew.
   */
  readonly setup: (model: ChannelModel) => Promise<void>;
  /** The broker takes messages again that it has held off for a while. */
  readonly onUnblocked?: () => void;
  /** What went wrong and is tried again. */
  readonly onTrouble?: (error: unknown) => void;
}

const connectTimeout: Milliseconds = 5_000;
const heartbeatSeconds = 10;
/** A broker that does not answer is not waited for. */
const longestClose: Milliseconds = 2_000;
const closed = 'RabbitMQ: the connection is closed.';
const recovery = { initialDelay: 100, maxDelay: 5_000, factor: 2, jitter: 0.3 };

/** A broker that falls silent is given up after two missed heartbeats. */
const withHeartbeat = (url: string): string => {
  const parsed = new URL(url);
  if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', String(heartbeatSeconds));
  return parsed.href;
};

/**
 * One connection, made again for ever. It does not wait for the broker: it may be there later than this
 * process.
 */
export class RabbitConnection {
  readonly #options: RabbitConnectionOptions;
  readonly #recovering: Promise<RecoveringChannelModel>;
  #model: ChannelModel | null = null;
  #down: string | null = 'RabbitMQ has not been reached yet.';
  #blocked: string | null = null;

  constructor(options: RabbitConnectionOptions) {
    this.#options = options;
    this.#recovering = this.#open();
    this.#recovering.catch((error: unknown) => this.#lost(error));
  }

  /** Why nothing can be sent at the moment; null: it can. */
  get down(): string | null {
    return this.#down ?? this.#blocked;
  }

  /** Throws the present connection away; a new one is made and set up. */
  reset(reason: string): void {
    this.#lost(new RabbitUnavailable(reason));
    this.#model?.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#down = closed;
    const closing = this.#recovering.then((recovering) => recovering.close()).catch(() => undefined);
    await within(this.#options.clock, longestClose, closing, () => null);
  }

  async #open(): Promise<RecoveringChannelModel> {
    const { url, name } = this.#options;
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
    recovering.on('connect-failed', (error) => this.#lost(error));
    recovering.on('disconnect', (error) => this.#lost(error));
    recovering.on('error', (error) => this.#lost(error));
    recovering.on('blocked', (reason) => {
      this.#blocked = `RabbitMQ takes no messages: ${reason}`;
      this.#trouble(new RabbitUnavailable(this.#blocked));
    });
    recovering.on('unblocked', () => {
      this.#blocked = null;
      this.#options.onUnblocked?.();
    });
    return recovering;
  }

  async #setUp(model: ChannelModel): Promise<void> {
    this.#model = model;
    this.#blocked = null;
    model.on('error', () => undefined); // it closes after this
    await this.#options.setup(model);
  }

  #lost(error: unknown): void {
    if (this.#down === closed) return;
    this.#down = `RabbitMQ: ${messageOf(error)}`;
    this.#trouble(error);
  }

  #trouble(error: unknown): void {
    this.#options.onTrouble?.(error);
  }
}
