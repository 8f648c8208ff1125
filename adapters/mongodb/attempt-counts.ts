import type { MongoDatabase } from './database.js';
import {
  deliveryRows,
  targetRows,
  type DeliveryRow,
  type EndpointRow,
  type TargetRow,
  type Uncounted,
} from './delivery-rows.js';

/** An attempt that stands in its delivery, and what it means for its endpoint. */
export interface Counting {
  readonly delivery: string;
  readonly endpoint: string;
  readonly uncounted: Uncounted;
}

/** What a delivery has still to count, if anything. */
export const countingOf = ({ _id, endpoint, uncounted }: DeliveryRow): Counting[] =>
  uncounted === undefined ? [] : [{ delivery: _id, endpoint, uncounted }];

/** Attempts that a target remembers to have counted: far more than can be under way. */
const countedKept = 500;
const leftoversTogether = 500;

const after = (row: EndpointRow, { at, failure, enabledAt, disableAfter }: Uncounted): EndpointRow => {
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
 * One write for an endpoint: it holds while nothing that is computed from has changed, and none of the
 * attempts has been counted.
 */
const counted = (before: EndpointRow, attempts: readonly Uncounted[]) => {
  const row = attempts.reduce(after, before);
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

/** What has been counted for endpoints; which attempts these were is long, and not read. */
export const readEndpoints = async (
  database: MongoDatabase,
  endpoints: readonly string[],
): Promise<readonly EndpointRow[]> =>
  targetRows(database)
    .find({ _id: { $in: [...new Set(endpoints)] } }, { projection: { counted: 0 } })
    .toArray();

/**
 * Counts attempts for their endpoints in the order given, each once however often it is asked to and whoever
 * else counts, and takes the note off their deliveries. Answers the endpoints as they are then; what is not
 * counted when this throws is a leftover. `known`: the endpoints as they were lately.
 */
export const countAttempts = async (
  database: MongoDatabase,
  countings: readonly Counting[],
  known?: readonly EndpointRow[],
): Promise<ReadonlyMap<string, EndpointRow>> => {
  if (countings.length === 0) return new Map();
  const endpoints = [...new Set(countings.map(({ endpoint }) => endpoint))];
  const rows = await countAll(
    database,
    countings,
    endpoints,
    known ?? (await readEndpoints(database, endpoints)),
  );
  const deliveries = await deliveryRows(database);
  const noted = {
    _id: { $in: countings.map(({ delivery }) => delivery) },
    'uncounted.attempt': { $in: countings.map(({ uncounted }) => uncounted.attempt) },
  };
  await deliveries.updateMany(noted, { $unset: { uncounted: '' } });
  return rows;
};

const countAll = async (
  database: MongoDatabase,
  countings: readonly Counting[],
  endpoints: readonly string[],
  known: readonly EndpointRow[],
): Promise<ReadonlyMap<string, EndpointRow>> => {
  const targets = targetRows(database);
  // Where a write did not hold, what has been counted is read with the attempts that it was.
  for (
    let found: readonly (EndpointRow & Partial<TargetRow>)[] = known;
    ;
    found = await targets.find({ _id: { $in: [...endpoints] } }).toArray()
  ) {
    const rows = new Map<string, EndpointRow>(found.map((row) => [row._id, row]));
    const changes = found.flatMap((row) => {
      const own = countings.filter(({ endpoint }) => endpoint === row._id).map(({ uncounted }) => uncounted);
      const left = own.filter(({ attempt }) => row.counted?.includes(attempt) !== true);
      return left.length === 0 ? [] : [counted(row, left)];
    });
    if (changes.length === 0) return rows;
    const { matchedCount } = await targets.bulkWrite(
      changes.map(({ write }) => write),
      { ordered: false },
    );
    for (const { row } of changes) rows.set(row._id, row);
    if (matchedCount === changes.length) return rows;
  }
};

/** Counts what a process recorded and did not live to count. */
export const countLeftovers = async (database: MongoDatabase): Promise<void> => {
  const deliveries = await deliveryRows(database);
  const left = await deliveries
    .find({ 'uncounted.attempt': { $gt: '' } })
    .limit(leftoversTogether)
    .toArray();
  await countAttempts(
    database,
    left.flatMap(countingOf).toSorted((a, b) => a.uncounted.at - b.uncounted.at),
  );
};
