import {
  AccessDeniedError,
  InvalidArgumentError,
  jsonEvent,
  MaxAppendSizeExceededError,
  NO_STREAM,
  StreamDeletedError,
  WrongExpectedVersionError,
  type EventStoreDBClient,
} from '@eventstore/db-client';
import { withTimeout } from '../../application/timing/with-timeout.js';
import type { AppendAnswer, ServerWrite } from './batch-appends.js';
import type { Context } from './context.js';
import { AppendFailed, isNotReady, Overdue, wasUnsent } from './failures.js';

/** One append by a call of its own. Rejects with AppendFailed. (docs/engines.md#eventstoredb) */
export const appendClassically = async (
  { connection, clock, times }: Context,
  client: EventStoreDBClient,
  { name, expected, events }: ServerWrite,
): Promise<AppendAnswer> => {
  const proposed = events.map(({ id, type, data, metadata }) =>
    jsonEvent({ id, type, data: parsed(data), metadata: parsed(metadata) }),
  );
  const options = {
    expectedRevision: expected < 0 ? NO_STREAM : BigInt(expected),
    credentials: connection.credentials,
    requiresLeader: true,
    deadline: times.append,
  } as const;
  try {
    // The call's own deadline doesn't cover the search for a server: without this time it may stay pending
    // forever.
    const timeout = times.append * 2;
    const result = await withTimeout(clock, timeout, client.appendToStream(name, proposed, options), () => {
      throw new Overdue(`no response within ${timeout} ms`);
    });
    if (!result.success) return { kind: 'conflict' };
    return {
      kind: 'appended',
      revision: Number(result.nextExpectedRevision),
      position: result.position?.commit ?? null,
    };
  } catch (error) {
    if (error instanceof WrongExpectedVersionError) return { kind: 'conflict' };
    if (error instanceof StreamDeletedError) return { kind: 'tombstoned' };
    throw new AppendFailed(effectOf(error), error);
  }
};

/** Parses the output of JSON.stringify for an object. */
const parsed = (json: Buffer): Record<string, unknown> =>
  JSON.parse(json.toString()) as Record<string, unknown>;

/** For calls that the server refuses, and would refuse again. */
const refusals = [AccessDeniedError, InvalidArgumentError, MaxAppendSizeExceededError];

/** Any failure that proves nothing leaves the outcome open, even one whose code means another elsewhere. */
const effectOf = (error: unknown): AppendFailed['effect'] => {
  if (refusals.some((refusal) => error instanceof refusal)) return 'refused';
  return isNotReady(error) || wasUnsent(error) ? 'none' : 'open';
};
