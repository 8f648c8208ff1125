import { setMaxListeners } from 'node:events';
import { EventStoreDBClient } from '@eventstore/db-client';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import type { Milliseconds } from '../../domain/ids.js';

/**
 * Sent with every append: an append that names credentials takes the classic call, which has a deadline of
 * its own. Ignored by servers without TLS.
 */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** So many failures in a row, and the client is thrown away: it remembers some failures for ever. */
const failuresBeforeReplacement = 3;

const namedUser = /^[^:]+:\/\/([^:]+):([^@]+)@/;
const withoutTls = /[?&]tls=false(&|$)/i;

/** The user that a connection string names. Throws where it uses TLS and names none. */
const credentialsOf = (url: string): Credentials => {
  const [, username, password] = namedUser.exec(url) ?? [];
  if (username !== undefined && password !== undefined)
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  if (withoutTls.test(url)) return { username: 'nobody', password: 'nobody' };
  throw new Error(
    'EVENTSTORE_URL uses TLS and names no user. Write esdb://user:password@host, or add ?tls=false for a server without TLS.',
  );
};

/** Calls a method that the client has and does not publish. */
const callHidden = async (client: EventStoreDBClient, method: string): Promise<unknown> => {
  const hidden: unknown = Reflect.get(client, method);
  return typeof hidden === 'function' ? await Reflect.apply(hidden, client, []) : undefined;
};

/** Streams whose server does not answer are not waited for. */
const longestClose: Milliseconds = 2_000;

const usualKeepAliveTimeout: Milliseconds = 10_000;

/**
 * The connection string of the n-th client. gRPC keeps one connection for all channels that are alike, in the
 * whole process, and waits up to two minutes before it tries a lost one again: a keep-alive time of its own
 * gives a new client a connection of its own.
 */
const distinct = (url: string, generation: number): string => {
  const given = Number(/[?&]keepAliveTimeout=(-?\d+)/i.exec(url)?.[1] ?? usualKeepAliveTimeout);
  if (given < 0 || generation === 0) return url;
  return `${url.trim().replace(/\/+$/, '')}${url.includes('?') ? '&' : '?'}keepAliveTimeout=${given + generation}`;
};

const connect = (url: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
  // Nobody awaits the client's own clean-up after an error: where it fails in turn (a cluster without a
  // leader), the process would die of it.
  const cleanUp: unknown = Reflect.get(client, 'handleError');
  if (typeof cleanUp === 'function') {
    Reflect.set(client, 'handleError', async (...args: unknown[]): Promise<void> => {
      try {
        await Reflect.apply(cleanUp, client, args);
      } catch {
        return; // the call that failed has its own error
      }
    });
  }
  return client;
};

const closeChannel = async (client: EventStoreDBClient): Promise<void> => {
  const channel = await callHidden(client, 'getChannel');
  if (
    typeof channel === 'object' &&
    channel !== null &&
    'close' in channel &&
    typeof channel.close === 'function'
  )
    Reflect.apply(channel.close, channel, []);
};

/**
 * Ends the client's streams, then its connection; the latter is not waited for, because a cluster may have to
 * be found first.
 */
const retire = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  closeChannel(client).catch(() => undefined);
};

/**
 * A client for as long as it is used. `replaced` aborts, with an error as its reason, before the client's
 * streams are cancelled.
 */
export interface Session {
  readonly client: EventStoreDBClient;
  readonly replaced: AbortSignal;
}

/** Every read and subscription listens to it, and there may be many. */
const begin = (url: string): { readonly session: Session; readonly end: AbortController } => {
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  return { session: { client: connect(url), replaced: end.signal }, end };
};

/** Holds the client, and replaces it after repeated failures. */
export class Connection {
  readonly credentials: Credentials;
  readonly #url: string;
  readonly #clock: Clock;
  readonly #pause: Milliseconds;
  #generation = 0;
  #replacedAt: Milliseconds;
  #session: Session;
  #end: AbortController;
  #failures = 0;

  /**
   * `url`: `esdb://` or `esdb+discover://`, one host or several, with or without TLS. `pause`: the shortest
   * time between two replacements. Throws where the connection string can't be read.
   */
  constructor(url: string, clock: Clock, pause: Milliseconds) {
    this.#url = url;
    this.#clock = clock;
    this.#pause = pause;
    this.#replacedAt = clock.now();
    this.credentials = credentialsOf(url);
    ({ session: this.#session, end: this.#end } = begin(url));
  }

  get session(): Session {
    return this.#session;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(session: Session): void {
    if (session !== this.#session || session.replaced.aborted) return;
    this.#failures += 1;
    const now = this.#clock.now();
    if (this.#failures < failuresBeforeReplacement || now < this.#replacedAt + this.#pause) return;
    this.#failures = 0;
    this.#replacedAt = now;
    this.#generation += 1;
    const end = this.#end;
    ({ session: this.#session, end: this.#end } = begin(distinct(this.#url, this.#generation)));
    // The order matters: a read whose call is cancelled ends as if it were complete.
    end.abort(new Error('the client was replaced after repeated failures'));
    retire(session.client).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#end.abort(new Error('the event store was closed'));
    await within(this.#clock, longestClose, retire(this.#session.client), () => null);
  }
}
