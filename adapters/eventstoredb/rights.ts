import {
  AccessDeniedError,
  BACKWARDS,
  END,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  StreamNotFoundError,
  type ResolvedEvent,
} from '@eventstore/db-client';
import { credentialsOf } from './connection.js';
import { unavailable } from './context.js';

const metadataOfLog = '$$$all';
/** The readers of `$all` on a server without other settings. */
const usualReaders = ['$admins'];

/**
 * Lets a user or a group read `$all`, beside its present readers, and changes nothing else of its metadata.
 * `url`: the connection string of an administrator. Returns all its readers. Throws EventStoreUnavailable,
 * and an Error if the server denies it.
 */
export const grantReadOfAll = async (url: string, user: string): Promise<readonly string[]> => {
  const client = EventStoreDBClient.connectionString(url);
  const credentials = credentialsOf(url);
  try {
    const { revision, json } = await metadataOf(client);
    const acl = isObject(json['$acl']) ? json['$acl'] : {};
    const readers = readersOf(acl['$r']);
    if (readers.includes(user)) return readers;
    const data = { ...json, $acl: { ...acl, $r: [...readers, user] } };
    await client.appendToStream(metadataOfLog, jsonEvent({ type: '$metadata', data }), {
      expectedRevision: revision,
      credentials,
    });
    return [...readers, user];
  } catch (error) {
    if (!(error instanceof AccessDeniedError)) throw unavailable(error);
    throw new Error(
      `EventStoreDB denies the user "${credentials.username}" of EVENTSTORE_URL the metadata of $all. Give the connection string of an administrator.`,
      { cause: error },
    );
  } finally {
    await client.dispose();
  }
};

/**
 * Not by the client's own call: it gives a position where the revision should be, and knows one form of the
 * rights.
 */
const metadataOf = async (client: EventStoreDBClient) => {
  const read = client.readStream(metadataOfLog, { fromRevision: END, direction: BACKWARDS, maxCount: 1 });
  let found: ResolvedEvent['event'];
  try {
    // To its end: a read that was left would hold up the end of the client.
    for await (const { event } of read) found = event;
  } catch (error) {
    if (!(error instanceof StreamNotFoundError)) throw error;
  }
  return { revision: found?.revision ?? NO_STREAM, json: isObject(found?.data) ? found.data : {} } as const;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A single name may lack the list around it. */
const readersOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.map(String) : usualReaders;
};
