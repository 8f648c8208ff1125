import type { MongoDatabase } from './database.js';
import {
  deliveryRows,
  endpointRows,
  type DeliveryRow,
  type EndpointFields,
  type EndpointRow,
  type Uncounted,
} from './delivery-rows.js';

/** An attempt that was recorded in its delivery, and what it means for its endpoint. */
export interface UncountedAttempt {
  readonly delivery: string;
  readonly endpoint: string;
  readonly uncounted: Uncounted;
}

/** The attempt of a delivery that is yet to be counted, if any. */
export const uncountedOf = ({ _id, endpoint, uncounted }: DeliveryRow): UncountedAttempt[] =>
  uncounted === undefined ? [] : [{ delivery: _id, endpoint, uncounted }];

/** How many counted attempts an endpoint's row remembers: far more than can be under way. */
const countedKept = 500;
const leftoverBatch = 500;

const withAttempt = (
  row: EndpointFields,
  { at, failure, enabledAt, disableAfter }: Uncounted,
): EndpointFields => {
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

/**
 * The write that counts attempts for an endpoint. Its filter matches only while the fields that it computes
 * with are unchanged and none of the attempts has been counted.
 */
const countingWrite = (before: EndpointFields, attempts: readonly Uncounted[]) => {
  const row = attempts.reduce(withAttempt, before);
  const { state, failures, consecutive, lastFailure, lastSuccess } = row;
  const ids = attempts.map(({ attempt }) => attempt);
  const same = {
    _id: { $eq: row._id },
    state: before.state,
    enabledAt: before.enabledAt,
    failures: before.failures,
    consecutive: before.consecutive,
  };
  const update = {
    $set: { state, failures, consecutive, lastFailure },
    ...(lastSuccess !== null && { $max: { lastSuccess } }),
    $push: { counted: { $each: ids, $slice: -countedKept } },
  };
  return { row, write: { updateOne: { filter: { ...same, counted: { $nin: ids } }, update } } };
};

/** The rows of endpoints, without the long list of the attempts that were counted. */
export const readEndpoints = async (
  database: MongoDatabase,
  endpoints: readonly string[],
): Promise<readonly EndpointFields[]> =>
  endpointRows(database)
    .find({ _id: { $in: [...new Set(endpoints)] } }, { projection: { counted: 0 } })
    .toArray();

/**
 * Counts attempts for their endpoints in the order given, and removes the notes from their deliveries. Each
 * attempt is counted once, however often and by whomever. Returns the endpoints as they are then. If this
 * throws, `countLeftovers` counts the rest. `known`: the endpoints as they were a moment ago.
 */
export const countAttempts = async (
  database: MongoDatabase,
  attempts: readonly UncountedAttempt[],
  known?: readonly EndpointFields[],
): Promise<ReadonlyMap<string, EndpointFields>> => {
  if (attempts.length === 0) return new Map();
  const endpoints = [...new Set(attempts.map(({ endpoint }) => endpoint))];
  const rows = await countAll(
    database,
    attempts,
    endpoints,
    known ?? (await readEndpoints(database, endpoints)),
  );
  const deliveries = await deliveryRows(database);
  const noted = {
    _id: { $in: attempts.map(({ delivery }) => delivery) },
    'uncounted.attempt': { $in: attempts.map(({ uncounted }) => uncounted.attempt) },
  };
  await deliveries.updateMany(noted, { $unset: { uncounted: '' } });
  return rows;
};

const countAll = async (
  database: MongoDatabase,
  attempts: readonly UncountedAttempt[],
  endpoints: readonly string[],
  known: readonly EndpointFields[],
): Promise<ReadonlyMap<string, EndpointFields>> => {
  const collection = endpointRows(database);
  // If a write didn't match, the rows are read again, with the attempts that have been counted.
  for (
    let found: readonly (EndpointFields & Partial<EndpointRow>)[] = known;
    ;
    found = await collection.find({ _id: { $in: [...endpoints] } }).toArray()
  ) {
    const rows = new Map<string, EndpointFields>(found.map((row) => [row._id, row]));
    const changes = found.flatMap((row) => {
      const uncounted = attempts
        .filter(({ endpoint }) => endpoint === row._id)
        .map((attempt) => attempt.uncounted)
        .filter(({ attempt }) => row.counted?.includes(attempt) !== true);
      return uncounted.length === 0 ? [] : [countingWrite(row, uncounted)];
    });
    if (changes.length === 0) return rows;
    const { matchedCount } = await collection.bulkWrite(
      changes.map(({ write }) => write),
      { ordered: false },
    );
    for (const { row } of changes) rows.set(row._id, row);
    if (matchedCount === changes.length) return rows;
  }
};

/** Counts attempts whose process died between recording and counting them. */
export const countLeftovers = async (database: MongoDatabase): Promise<void> => {
  const deliveries = await deliveryRows(database);
  const left = await deliveries
    .find({ 'uncounted.attempt': { $gt: '' } })
    .limit(leftoverBatch)
    .toArray();
  await countAttempts(
    database,
    left.flatMap(uncountedOf).toSorted((a, b) => a.uncounted.at - b.uncounted.at),
  );
};
