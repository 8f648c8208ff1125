import { NamedError } from '../../domain/errors.js';
import { NotLeaderError, UnavailableError } from '@eventstore/db-client';

/**
 * The server's messages for a call that it has not begun, because it starts or looks for its leader. That
 * passes. (docs/engines.md#eventstoredb)
 */
const notReadyDetails = [
  'Server Is Not Ready',
  'Server Is Too Busy',
  'Server Is Busy',
  'No leader info available in response',
];

/** Messages of gRPC, or of the client, for a call that fails before it is sent. */
const unsentDetails = [
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
  'Failed to discover',
];

const detailsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  return 'details' in error && typeof error.details === 'string'
    ? error.details
    : error.message.replace(/^\d+ [A-Z_]+: /, '');
};

const beginsWithOne = (text: string, beginnings: readonly string[]): boolean =>
  beginnings.some((beginning) => text.startsWith(beginning));

/** Whether a server answered that it is not, or not yet, the one to ask. */
export const isNotReady = (error: unknown): boolean =>
  error instanceof NotLeaderError || beginsWithOne(detailsOf(error), notReadyDetails);

/** Whether the call never left this process. */
export const wasUnsent = (error: unknown): boolean => beginsWithOne(detailsOf(error), unsentDetails);

/**
 * Whether no server could be reached, or the connection to it broke. A read whose client was replaced under
 * it can be made again, unless the reason was that the server hangs: then it would wait twice.
 */
export const isAway = (error: unknown): boolean =>
  error instanceof UnavailableError ||
  wasUnsent(error) ||
  (error instanceof Replaced && !(error.cause instanceof Overdue));

/** The server did not respond in time. */
export class Overdue extends NamedError {}

/** The client, with its pending calls, was replaced. `cause`: the last of its failures. */
export class Replaced extends NamedError {}

/**
 * An append that failed. `effect`: `none` if certainly nothing of it is stored and another try may succeed,
 * `refused` if the server will never take it, `open` if it may be stored, now or later.
 */
export class AppendFailed extends NamedError {
  constructor(
    readonly effect: 'none' | 'refused' | 'open',
    override readonly cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause));
  }
}
