import {
  AccessDeniedError,
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  NO_STREAM,
  NotLeaderError,
  StreamDeletedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { noStream, type StreamWrite, type WriteOutcome } from '../../application/ports/event-store.js';
import { within } from '../../application/within.js';
import type { Session } from './connection.js';
import { unavailable, type Context } from './context.js';
import { proposedEvents } from './events.js';
import type { Reads } from './reads.js';
import { Overdue } from './supervision.js';

type Proposed = ReturnType<typeof proposedEvents>;

/** After this many tries that provably never left this process, the server counts as unavailable. */
const unsentTries = 3;
/** How far back `$all` is searched for an append whose response named no position. */
const searchedForPosition = 2_000;

/** Appends to streams, and finds out what came of an append whose response was lost. */
export class Appends {
  readonly #context: Context;
  readonly #reads: Reads;

  constructor(context: Context, reads: Reads) {
    this.#context = context;
    this.#reads = reads;
  }

  /**
   * One write after the other, until one fails. If the outcome of a write is open, its event ids are looked
   * for.
   */
  async append(writes: readonly StreamWrite[]): Promise<readonly WriteOutcome[]> {
    if (new Set(writes.map(({ stream }) => stream)).size < writes.length)
      throw new TypeError('an append may name each stream only once');
    const outcomes: WriteOutcome[] = [];
    for (const { write, proposed } of writes.map((each) => ({
      write: each,
      proposed: proposedEvents(each),
    }))) {
      if (outcomes.some(({ kind }) => kind !== 'appended')) outcomes.push({ kind: 'skipped' });
      else if (outcomes.length === 0) outcomes.push(await this.#settle(write, proposed));
      else outcomes.push(await this.#settleLater(write, proposed));
    }
    return outcomes;
  }

  /** A write after one that is stored: whatever happens now, the first one's outcome must not be lost. */
  async #settleLater(write: StreamWrite, proposed: Proposed): Promise<WriteOutcome> {
    try {
      return await this.#settle(write, proposed);
    } catch (error) {
      this.#context.onError(error);
      return { kind: 'unknown' };
    }
  }

  /** Tries under the same ids until the outcome is known. Throws only if certainly nothing was stored. */
  async #settle(write: StreamWrite, proposed: Proposed): Promise<WriteOutcome> {
    const { clock, connection, times, backoff, onError } = this.#context;
    const deadline = clock.monotonic() + times.settle;
    let mayBeStored = false;
    for (let failures = 0; ; failures += 1) {
      const { session } = connection;
      try {
        const outcome = await this.#tryOnce(session, write, proposed);
        connection.succeeded();
        return outcome;
      } catch (error) {
        onError(error);
        connection.failed(session, error);
        if (!mayBeStored && wasRejected(error))
          throw error instanceof AccessDeniedError ? unavailable(error) : error;
        mayBeStored ||= !wroteNothing(error);
        if (!mayBeStored && failures + 1 >= unsentTries) throw unavailable(error);
      }
      const wait = backoff(failures);
      if (clock.monotonic() + wait >= deadline) return { kind: 'unknown' };
      await clock.sleep(wait);
    }
  }

  async #tryOnce({ client }: Session, write: StreamWrite, proposed: Proposed): Promise<WriteOutcome> {
    const { clock, connection, names, times } = this.#context;
    const options = {
      expectedRevision: write.expected === noStream ? NO_STREAM : BigInt(write.expected),
      credentials: connection.credentials,
      requiresLeader: true,
      deadline: times.append,
    } as const;
    try {
      // The call's own deadline doesn't cover the search for a server: without this time it may stay pending
      // forever.
      const longest = times.append * 2;
      const appending = client.appendToStream(names.nameOf(write.stream), proposed, options);
      const result = await within(clock, longest, appending, () => {
        throw new Overdue(`no response within ${longest} ms`);
      });
      if (result.success)
        return { kind: 'appended', position: result.position?.commit ?? (await this.#positionOf(write)) };
    } catch (error) {
      // A tombstoned stream takes nothing any more, and reads as an empty one.
      if (!(error instanceof WrongExpectedVersionError || error instanceof StreamDeletedError)) throw error;
    }
    return this.#whoseEvents(write);
  }

  /** The stream has passed the expected revision: with our own events, or with somebody else's. */
  async #whoseEvents(write: StreamWrite): Promise<WriteOutcome> {
    const stored = await this.#reads.stream(write.stream, write.expected + 1, write.events.length);
    if (!write.events.every(({ id }, index) => stored[index]?.id === id)) return { kind: 'conflict' };
    return {
      kind: 'appended',
      position: stored[write.events.length - 1]?.position ?? (await this.#positionOf(write)),
    };
  }

  /** The log position of the write's last event; if that lies far back, the head's, which comes after it. */
  async #positionOf(write: StreamWrite): Promise<bigint> {
    const position = await this.#reads.positionOf(write.events.at(-1)?.id, searchedForPosition);
    return position ?? (await this.#reads.head()).position;
  }
}

/**
 * What gRPC says about a call that fails before it is sent, and the server about one that it has not begun.
 * Any other failure leaves the outcome open, even one with the same code. (docs/engines.md#eventstoredb)
 */
const unsentDetails = [
  'Server Is Not Ready',
  'Server Is Too Busy',
  'No leader info available in response',
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
  'Failed to discover',
];

const wroteNothing = (error: unknown): boolean =>
  error instanceof NotLeaderError ||
  unsentDetails.some((beginning) => detailsOf(error).startsWith(beginning));

const detailsOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  return 'details' in error && typeof error.details === 'string'
    ? error.details
    : error.message.replace(/^\d+ [A-Z_]+: /, '');
};

const wasRejected = (error: unknown): boolean =>
  error instanceof AccessDeniedError ||
  error instanceof InvalidArgumentError ||
  error instanceof MaxAppendSizeExceededError;
