import { LazyLru } from '../../../application/memory/lazy-lru.js';
import type { DeliveryId } from '../../../application/ports/delivery-log.js';
import type { Uuid } from '../../../domain/ids.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import {
  deliveryRows,
  endpointRows,
  type DeliveryRow,
  type EndpointRow,
  type Uncounted,
} from './delivery-rows.js';

/** An attempt that was recorded in its delivery, and its effect on its endpoint. */
export interface UncountedAttempt {
  readonly endpoint: Uuid;
  readonly uncounted: Uncounted;
}

/** The attempt of a delivery that is yet to be counted, if any. */
export const uncountedOf = ({ endpoint, uncounted }: DeliveryRow): UncountedAttempt[] =>
  uncounted === undefined ? [] : [{ endpoint, uncounted }];

const withAttempt = (row: EndpointRow, { at, failure, enabledAt, disableAfter }: Uncounted): EndpointRow => {
  const current = row.enabledAt === enabledAt;
  if (failure === null)
    return {
      ...row,
      lastSuccess: Math.max(at, row.lastSuccess ?? at),
      consecutive: current ? 0 : row.consecutive,
    };
  const failures = row.failures + 1;
  if (!current) return { ...row, failures };
  const consecutive = row.consecutive + 1;
  const trips = row.state === 'open' && consecutive >= disableAfter;
  return { ...row, failures, consecutive, lastFailure: failure, state: trips ? 'tripped' : row.state };
};

/** The attempts that the endpoint's row counted last. */
const countedIn = ({ lastCount }: EndpointRow): readonly string[] => lastCount?.attempts ?? [];

/**
 * The write that counts attempts for an endpoint. Its filter matches only while the fields that it computes
 * with are unchanged and nothing else was counted.
 */
const countingWrite = (before: EndpointRow, attempts: readonly Uncounted[]) => {
  const counted = attempts.reduce(withAttempt, before);
  const { state, failures, consecutive, lastFailure, lastSuccess } = counted;
  const ids = attempts.map(({ attempt }) => attempt);
  const [first] = attempts;
  // Each attempt is counted once, so the first of them names the count.
  const lastCount = { id: `${first?.attempt} ${first?.claim}`, attempts: ids };
  const same = {
    _id: { $eq: before._id },
    state: before.state,
    enabledAt: before.enabledAt,
    failures: before.failures,
    consecutive: before.consecutive,
    ...(before.lastCount === undefined
      ? { lastCount: { $exists: false } }
      : { 'lastCount.id': before.lastCount.id }),
  };
  const update = {
    $set: { state, failures, consecutive, lastFailure, lastCount },
    ...(lastSuccess !== null && { $max: { lastSuccess } }),
  };
  return { row: { ...counted, lastCount }, write: { updateOne: { filter: same, update } } };
};

export const readEndpoints = async (
  database: MongoDatabase,
  endpoints: readonly Uuid[],
): Promise<readonly EndpointRow[]> =>
  findAll(endpointRows(database), { _id: { $in: [...new Set(endpoints)] } });

/** An attempt's id begins with that of its delivery. */
const deliveryOfAttempt = (attempt: string) => attempt.slice(0, attempt.lastIndexOf(' ')) as DeliveryId;

/** The attempts whose deliveries still have their notes. */
const stillNoted = async (
  database: MongoDatabase,
  attempts: readonly UncountedAttempt[],
): Promise<readonly UncountedAttempt[]> => {
  const deliveries = await deliveryRows(database);
  const ids = attempts.map(({ uncounted }) => deliveryOfAttempt(uncounted.attempt));
  const rows = await findAll(deliveries, { _id: { $in: ids } }, { projection: { uncounted: 1 } });
  const noted = new Set(rows.map(({ uncounted }) => uncounted?.attempt));
  return attempts.filter(({ uncounted }) => noted.has(uncounted.attempt));
};

const removeNotes = async (database: MongoDatabase, attempts: readonly string[]): Promise<void> => {
  if (attempts.length === 0) return;
  const deliveries = await deliveryRows(database);
  await deliveries.updateMany(
    { _id: { $in: attempts.map(deliveryOfAttempt) }, 'uncounted.attempt': { $in: [...attempts] } },
    { $unset: { uncounted: '' } },
  );
};

/** Counts whose notes this process has removed, the last one of each endpoint. */
const clearedKept = 10_000;
const cleared = new LazyLru<string, string>(clearedKept);

/**
 * Counts attempts for their endpoints in the order given, and removes the notes from their deliveries. Each
 * attempt is counted once, even if several processes count it repeatedly. Returns the endpoints as they are
 * then. If this throws, `countLeftovers` counts the rest. `known`: the endpoints as they were before the
 * notes were written.
 *
 * An endpoint's row names only the attempts of the last count. So their notes are removed before the next
 * count replaces it; and a note that is still there after the row was read was not counted, if the row is
 * unchanged.
 */
export const countAttempts = async (
  database: MongoDatabase,
  attempts: readonly UncountedAttempt[],
  known?: readonly EndpointRow[],
): Promise<ReadonlyMap<Uuid, EndpointRow>> => {
  if (attempts.length === 0) return new Map();
  const collection = endpointRows(database);
  const endpoints = [...new Set(attempts.map(({ endpoint }) => endpoint))];
  let found = known ?? (await readEndpoints(database, endpoints));
  let left = known === undefined ? await stillNoted(database, attempts) : attempts;
  for (;;) {
    const rows = new Map(found.map((row) => [row._id, row]));
    const changes = found.flatMap((row) => {
      const before = countedIn(row);
      const uncounted = left.flatMap((attempt) =>
        attempt.endpoint !== row._id || before.includes(attempt.uncounted.attempt) ? [] : [attempt.uncounted],
      );
      return uncounted.length === 0 ? [] : [{ before: row, ...countingWrite(row, uncounted) }];
    });
    const stale = changes.flatMap(({ before }) =>
      cleared.get(before._id) === before.lastCount?.id ? [] : countedIn(before),
    );
    await removeNotes(database, stale);
    const writes = changes.map(({ write }) => write);
    const { matchedCount } =
      writes.length === 0 ? { matchedCount: 0 } : await collection.bulkWrite(writes, { ordered: false });
    if (matchedCount === writes.length) {
      for (const { row } of changes) rows.set(row._id, row);
      const counted = attempts.map(({ uncounted }) => uncounted.attempt);
      await removeNotes(database, counted);
      for (const { row } of changes) cleared.set(row._id, row.lastCount.id);
      return rows;
    }
    // Another process has counted, or some were counted here: the others still have their note.
    found = await readEndpoints(database, endpoints);
    left = await stillNoted(database, left);
  }
};

const leftoverBatch = 500;

/** Counts attempts whose process died between recording and counting them. */
export const countLeftovers = async (database: MongoDatabase): Promise<void> => {
  const deliveries = await deliveryRows(database);
  const noted = { 'uncounted.attempt': { $gt: '' } };
  const left = await findAll(deliveries, noted, { limit: leftoverBatch });
  const inOrder = left.flatMap(uncountedOf).toSorted((a, b) => a.uncounted.at - b.uncounted.at);
  await countAttempts(database, inOrder);
};
