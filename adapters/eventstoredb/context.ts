import { AccessDeniedError } from '@eventstore/db-client';
import { EventStoreUnavailable } from '../../application/ports/event-store.js';
import type { Clock, Entropy } from '../../application/ports/system.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Connection, ConnectionTimes } from './connection.js';
import type { Recognition } from './events.js';
import { isAway, isNotReady } from './failures.js';

/** The defaults fit a server in the same network; tests shorten them. */
export interface EventStoreDbTimes extends ConnectionTimes {
  /** How long the outcome of an append is looked for before it counts as `unknown`. */
  readonly settle: Milliseconds;
  /**
   * How long to retry calls that certainly had no effect, while another node, or the same, may soon answer.
   */
  readonly patience: Milliseconds;
  /** The longest silence in the middle of a read. */
  readonly read: Milliseconds;
  /** How long a subscription may be silent before it is compared with the log. */
  readonly watchdog: Milliseconds;
  /** The wait before the first repetition. It doubles each time, up to the longest; half of it is random. */
  readonly backoff: { readonly first: Milliseconds; readonly max: Milliseconds };
}

export const usualTimes: EventStoreDbTimes = {
  append: 3_000,
  settle: 8_000,
  patience: 3_000,
  read: 3_000,
  watchdog: 10_000,
  replace: 1_000,
  backoff: { first: 50, max: 5_000 },
};

/** Shared by all parts of the adapter. */
export interface Context extends Recognition {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly times: EventStoreDbTimes;
  /** How long to wait after this number of failures in a row. */
  readonly backoff: (failures: number) => Milliseconds;
  /** Called with every failure, even if it is dealt with. */
  readonly onError: (error: unknown) => void;
}

export const backoffOf =
  ({ first, max }: EventStoreDbTimes['backoff'], entropy: Entropy) =>
  (failures: number): Milliseconds => {
    const wait = Math.min(first * 2 ** Math.min(failures, 20), max);
    return wait - entropy.below(Math.ceil(wait / 2));
  };

/** The longest interval between attempts to reach a server. */
export const maxRetryInterval: Milliseconds = 250;

/**
 * Returns for each failure of a call that certainly had no effect how long to wait before it is tried again;
 * null: give up. A server that is starting or has lost its leader, and a cluster with a node less, are given
 * their time. So is a server that was starting and can't be reached now: each of its refusals makes the
 * client close its connection, also under calls that other requests are about to make. A single server that
 * is gone is asked once more at once, because the client learns from the first failure that it has to connect
 * again. (docs/engines.md#a-server-that-is-away)
 */
export const pausesOf = ({ connection, clock, times, backoff }: Context) => {
  const began = clock.monotonic();
  let failures = 0;
  let wasStarting = false;
  return (error: unknown): Milliseconds | null => {
    const isFirst = failures === 0;
    const pause = Math.min(backoff(failures), maxRetryInterval);
    failures += 1;
    const isPassing = isNotReady(error) || ((connection.isCluster || wasStarting) && isAway(error));
    wasStarting ||= isNotReady(error);
    if (isPassing) return clock.monotonic() + pause - began < times.patience ? pause : null;
    return isAway(error) && isFirst ? 0 : null;
  };
};

export const unavailable = (error: unknown): EventStoreUnavailable =>
  error instanceof EventStoreUnavailable
    ? error
    : new EventStoreUnavailable(`EventStoreDB: ${messageOf(error)}`, { cause: error });

/** The code of gRPC for a wrong user or password; the client has the same error for a missing right. */
const unauthenticated = 16;

/**
 * Explains a denied call, by default a read of `$all`; any other error stays unchanged. `what`: the denied
 * action.
 */
export const explainDenial = (
  error: unknown,
  { connection }: Pick<Context, 'connection'>,
  what?: string,
): unknown => {
  if (!(error instanceof AccessDeniedError)) return error;
  const { username } = connection.credentials;
  const explained = (message: string) => new EventStoreUnavailable(message, { cause: error });
  if (error.code === unauthenticated)
    return explained(`EventStoreDB refuses the user "${username}" of EVENTSTORE_URL, or its password.`);
  if (what !== undefined)
    return explained(
      `EventStoreDB does not let the user "${username}" ${what}. The $acl in the metadata of that stream, or the server's default, gives the right to others.`,
    );
  const acl = JSON.stringify({ $acl: { $r: ['$admins', username] } });
  return explained(
    `EventStoreDB does not let the user "${username}" read $all. With the connection string of an administrator as EVENTSTORE_URL, run "npm run -s cli -- eventstore grant --user ${username}"; it writes ${acl} into the metadata of $all.`,
  );
};
