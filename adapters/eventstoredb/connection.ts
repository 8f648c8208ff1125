import { setMaxListeners } from 'node:events';
import { AccessDeniedError, EventStoreDBClient } from '@eventstore/db-client';
import streamsService, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import type { Milliseconds } from '../../domain/ids.js';
import { BatchAppends, type BatchCall, type BatchOptions } from './batch-appends.js';
import { AppendFailed, isNotReady, Replaced } from './failures.js';

/**
 * Sent with every classic append: one that names credentials never takes the client's own batch append. A
 * server without TLS ignores them. (docs/engines.md#eventstoredb)
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
  readonly batches: BatchAppends;
  readonly replaced: AbortSignal;
  /** Ends everything that it carries, but not the client. */
  readonly end: (reason: Error) => void;
}

export interface ConnectionTimes {
  /** The shortest time between two replacements of the client. */
  readonly replace: Milliseconds;
  /** How long one try of an append may take. */
  readonly append: Milliseconds;
}

export interface ConnectionOptions extends Pick<BatchOptions, 'clock' | 'entropy' | 'count'> {
  /** `esdb://` or `esdb+discover://`, one host or several, with or without TLS. */
  readonly url: string;
  readonly times: ConnectionTimes;
}

/** The client remembers some failures forever, so after this many in a row it is replaced. */
const failuresBeforeReplacement = 3;
/** Closing waits this long for streams whose server doesn't respond. */
const closeTimeout: Milliseconds = 2_000;

/** Holds the client, and replaces it after repeated failures. */
export class Connection {
  readonly credentials: Credentials;
  /** Whether the connection string names a cluster: another node may answer if one doesn't. */
  readonly isCluster: boolean;
  #generation = 0;
  #replacedAt: Milliseconds;
  session: Session;
  #failures = 0;
  #lastFailure: unknown = null;
  /** Whether the last call that ended was answered. False before the first one. */
  answers = false;

  /** Throws if the connection string can't be read. */
  constructor(private readonly options: ConnectionOptions) {
    this.#replacedAt = options.clock.monotonic();
    this.credentials = credentialsOf(options.url);
    this.isCluster = namesCluster.test(options.url);
    this.session = openSession(options, options.url);
  }

  /** Reports that a call succeeded: the failures before it no longer count. */
  succeeded(): void {
    this.answers = true;
    this.#failures = 0;
  }

  /**
   * Reports that a call of a session failed; one error that ended many appends counts once. A session that
   * was replaced since is ignored. So are a denial and a single server's answer that it is not ready: another
   * client would get the same answer. (In a cluster another node may know the leader.)
   */
  failed(session: Session, error: unknown): void {
    if (session !== this.session || session.replaced.aborted || isDenial(error)) return;
    if (!this.isCluster && isNotReady(error instanceof AppendFailed ? error.cause : error)) return;
    if (error instanceof AppendFailed && error === this.#lastFailure) return;
    this.#lastFailure = error;
    this.answers = false;
    this.#failures += 1;
    const { clock, times, url } = this.options;
    const now = clock.monotonic();
    if (this.#failures < failuresBeforeReplacement || now < this.#replacedAt + times.replace) return;
    this.#failures = 0;
    this.#replacedAt = now;
    this.#generation += 1;
    this.session = openSession(this.options, withOwnConnection(url, this.#generation));
    // The order matters: a read whose call is cancelled ends as if it were complete.
    session.end(new Replaced('the client was replaced after repeated failures', { cause: error }));
    dispose(session.client).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.session.end(new Error('the event store was closed'));
    await withTimeout(this.options.clock, closeTimeout, dispose(this.session.client), () => null);
  }
}

/** A denial, or its explanation for people. */
const isDenial = (error: unknown): boolean =>
  error instanceof AccessDeniedError || (error instanceof Error && error.cause instanceof AccessDeniedError);

const namesCluster = /^\s*[^:]+\+discover:|^\s*[^:]+:\/\/[^/?]*,/;
const namedUser = /^[^:]+:\/\/([^:]+):([^@]+)@/;
const withoutTls = /[?&]tls=false(&|$)/i;

/** The user that a connection string names. Throws if the string asks for TLS and names no user. */
export const credentialsOf = (url: string): Credentials => {
  const [, username, password] = namedUser.exec(url) ?? [];
  if (username !== undefined && password !== undefined)
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  if (withoutTls.test(url)) return { username: 'nobody', password: 'nobody' };
  throw new Error(
    'EVENTSTORE_URL uses TLS but names no user. Write esdb://user:password@host, or add ?tls=false for a server without TLS.',
  );
};

const openSession = (options: ConnectionOptions, url: string): Session => {
  const replacing = new AbortController();
  // Every read and subscription listens, and there may be many.
  setMaxListeners(0, replacing.signal);
  const client = connect(url);
  const open = async (): Promise<BatchCall> => openBatch(client);
  const batches = new BatchAppends({ ...options, open, time: options.times.append });
  const end = (reason: Error): void => {
    replacing.abort(reason);
    batches.close(reason);
  };
  return { client, batches, replaced: replacing.signal, end };
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

const connect = (url: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(url);
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

const closeChannel = async (client: unknown): Promise<void> => {
  if (hasParts(client)) (await client.getChannel()).close();
};

/** The parts from which the client makes its own calls, for extensions. */
interface ClientParts {
  getChannel(): Promise<{ close(): void }>;
  callArguments(
    options: { readonly requiresLeader: boolean },
    callOptions: { readonly deadline: number },
  ): Parameters<StreamsClient['batchAppend']>;
  GRPCStreamCreator(
    service: typeof streamsService.StreamsClient,
    name: string,
    creator: (service: StreamsClient) => BatchCall,
  ): () => Promise<BatchCall>;
}

const parts = ['getChannel', 'callArguments', 'GRPCStreamCreator'];
const hasParts = (client: unknown): client is ClientParts =>
  typeof client === 'object' &&
  client !== null &&
  parts.every((name) => typeof Reflect.get(client, name) === 'function');

/**
 * Opens a call for appends on the client's own connection: with its server, its user, and its way to find the
 * leader again after an error. The client ends it when it is disposed of.
 */
const openBatch = (client: unknown): Promise<BatchCall> => {
  if (!hasParts(client)) throw new TypeError('the client of EventStoreDB has no calls that can be extended');
  const [metadata, options] = client.callArguments({ requiresLeader: true }, { deadline: Infinity });
  const create = client.GRPCStreamCreator(streamsService.StreamsClient, 'batchAppend', (service) =>
    service.batchAppend(metadata, options),
  );
  return create();
};
