import { setMaxListeners } from 'node:events';
import { AccessDeniedError, EventStoreDBClient } from '@eventstore/db-client';
import { uncounted, type CountCall } from '../../application/ports/count-call.js';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import type { Milliseconds } from '../../domain/ids.js';
import { countCalls } from './counted.js';

/**
 * Sent with every append: an append that names credentials takes the classic call, which has a deadline of
 * its own. A server without TLS ignores them. (docs/engines.md#eventstoredb)
 */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/**
 * A client, for as long as it is used. `replaced` aborts, with an error as its reason, before the client's
 * streams are cancelled.
 */
export interface Session {
  readonly client: EventStoreDBClient;
  readonly replaced: AbortSignal;
}

/** The client remembers some failures forever, so after this many in a row it is replaced. */
const failuresBeforeReplacement = 3;
/** Closing waits this long for streams whose server doesn't respond. */
const longestClose: Milliseconds = 2_000;

/** Holds the client, and replaces it after repeated failures. */
export class Connection {
  readonly credentials: Credentials;
  readonly #url: string;
  readonly #clock: Clock;
  readonly #count: CountCall;
  readonly #pause: Milliseconds;
  #generation = 0;
  #replacedAt: Milliseconds;
  #session: Session;
  #replacing: AbortController;
  #failures = 0;

  /**
   * `url`: `esdb://` or `esdb+discover://`, one host or several, with or without TLS. `pause`: the shortest
   * time between two replacements. Throws if the connection string can't be read.
   */
  constructor(url: string, clock: Clock, pause: Milliseconds, count: CountCall = uncounted) {
    this.#url = url;
    this.#clock = clock;
    this.#count = count;
    this.#pause = pause;
    this.#replacedAt = clock.monotonic();
    this.credentials = credentialsOf(url);
    ({ session: this.#session, replacing: this.#replacing } = openSession(url, count));
  }

  get session(): Session {
    return this.#session;
  }

  /** Reports that a call succeeded: the failures before it no longer count. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * Reports that a call of a session failed. A session that was replaced since is ignored. So is a denial: the
   * server answered, and would deny the same to another client.
   */
  failed(session: Session, error: unknown): void {
    if (session !== this.#session || session.replaced.aborted || isDenial(error)) return;
    this.#failures += 1;
    const now = this.#clock.monotonic();
    if (this.#failures < failuresBeforeReplacement || now < this.#replacedAt + this.#pause) return;
    this.#failures = 0;
    this.#replacedAt = now;
    this.#generation += 1;
    const previous = this.#replacing;
    ({ session: this.#session, replacing: this.#replacing } = openSession(
      withOwnConnection(this.#url, this.#generation),
      this.#count,
    ));
    // The order matters: a read whose call is cancelled ends as if it were complete.
    previous.abort(new Error('the client was replaced after repeated failures'));
    dispose(session.client).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#replacing.abort(new Error('the event store was closed'));
    await within(this.#clock, longestClose, dispose(this.#session.client), () => null);
  }
}

/** A denial, or what was made of it for people to read. */
const isDenial = (error: unknown): boolean =>
  error instanceof AccessDeniedError || (error instanceof Error && error.cause instanceof AccessDeniedError);

const namedUser = /^[^:]+:\/\/([^:]+):([^@]+)@/;
const withoutTls = /[?&]tls=false(&|$)/i;

/** The user that a connection string names. Throws if the string asks for TLS and names no user. */
const credentialsOf = (url: string): Credentials => {
  const [, username, password] = namedUser.exec(url) ?? [];
  if (username !== undefined && password !== undefined)
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  if (withoutTls.test(url)) return { username: 'nobody', password: 'nobody' };
  throw new Error(
    'EVENTSTORE_URL uses TLS but names no user. Write esdb://user:password@host, or add ?tls=false for a server without TLS.',
  );
};

const openSession = (
  url: string,
  count: CountCall,
): { readonly session: Session; readonly replacing: AbortController } => {
  const replacing = new AbortController();
  // Every read and subscription listens, and there may be many.
  setMaxListeners(0, replacing.signal);
  return { session: { client: connect(url, count), replaced: replacing.signal }, replacing };
};

const usualKeepAliveTimeout: Milliseconds = 10_000;

/**
 * The connection string of the n-th client. gRPC shares one connection between all equal channels of a
 * process, and waits up to two minutes before it tries a lost one again. A different keep-alive timeout gives
 * a new client a connection of its own.
 */
const withOwnConnection = (url: string, generation: number): string => {
  const given = Number(/[?&]keepAliveTimeout=(-?\d+)/i.exec(url)?.[1] ?? usualKeepAliveTimeout);
  if (given < 0 || generation === 0) return url;
  return `${url.trim().replace(/\/+$/, '')}${url.includes('?') ? '&' : '?'}keepAliveTimeout=${given + generation}`;
};

const connect = (url: string, count: CountCall): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
  countCalls(client, count);
  // After an error the client cleans up, and awaits that nowhere: if it fails too (a cluster without a
  // leader), the process dies of an unhandled rejection.
  const cleanUp: unknown = Reflect.get(client, 'handleError');
  if (typeof cleanUp === 'function') {
    Reflect.set(client, 'handleError', async (...args: unknown[]): Promise<void> => {
      try {
        await Reflect.apply(cleanUp, client, args);
      } catch {
        return; // The call that failed has its own error.
      }
    });
  }
  return client;
};

/**
 * Ends the client's streams, then its connection. Doesn't wait for the connection, because a cluster may have
 * to be found first.
 */
const dispose = async (client: EventStoreDBClient): Promise<void> => {
  await client.dispose();
  closeChannel(client).catch(() => undefined);
};

const closeChannel = async (client: EventStoreDBClient): Promise<void> => {
  const channel = await callPrivate(client, 'getChannel');
  if (
    typeof channel === 'object' &&
    channel !== null &&
    'close' in channel &&
    typeof channel.close === 'function'
  )
    Reflect.apply(channel.close, channel, []);
};

/** Calls a method that the client has but doesn't publish. */
const callPrivate = async (client: EventStoreDBClient, method: string): Promise<unknown> => {
  const found: unknown = Reflect.get(client, method);
  return typeof found === 'function' ? await Reflect.apply(found, client, []) : undefined;
};
