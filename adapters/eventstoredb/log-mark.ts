import { jsonEvent, NO_STREAM, WrongExpectedVersionError } from '@eventstore/db-client';
import { assertReadable, logFormat } from '../../application/log/log-format.js';
import type { StreamName } from '../../domain/ids.js';
import { unavailable, type Context } from './context.js';
import type { Reads } from './reads.js';

/** Holds the format of the log in its last event. No reader of the log takes it for a stream of ours. */
const markStream = 'cards-log-format' as StreamName;

/**
 * Compares the log's format with that of this version. `marks`: notes this version's if there is none, or an
 * older one. Throws NewerLog and EventStoreUnavailable.
 */
export const compareFormat = async (
  { connection, names }: Context,
  reads: Reads,
  marks: boolean,
): Promise<void> => {
  const last = await reads.ask(markStream);
  const data: unknown = last?.data;
  const format = typeof data === 'object' && data !== null && 'format' in data ? Number(data.format) : 0;
  assertReadable(format);
  if (!marks || format === logFormat) return;
  const event = jsonEvent({ type: 'LogFormat', data: { format: logFormat } });
  const options = {
    expectedRevision: last?.revision ?? NO_STREAM,
    credentials: connection.credentials,
  } as const;
  await connection.session.client
    .appendToStream(names.nameOf(markStream), event, options)
    .catch((error: unknown) => {
      // Another process has just done so.
      if (!(error instanceof WrongExpectedVersionError)) throw unavailable(error);
    });
};
