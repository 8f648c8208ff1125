import type { Filter } from 'mongodb';
import {
  ReadModelNotBuilt,
  ReadModelsUnavailable,
  everyOrganization,
  type CountQuery,
  type ReadModels,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Projection } from '../../../projections/projection.js';
import { acrossIndex, documentsName, fromRow, indexedFields, type DocumentRow } from './builds.js';
import { Batcher } from '../client/batcher.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { SeenBuilds } from './seen-builds.js';

/** A query, and what it needs of a build. */
interface Finding {
  readonly filter: Filter<DocumentRow>;
  /** The fields and the agenda by which it finds documents. */
  readonly fields?: readonly string[];
  readonly isOnAgenda?: boolean;
  /** The index that must be there: without it, the query would look at every document. */
  readonly hint?: string;
}

/** Finds documents by the values of fields. */
const byFields = (where: CountQuery['where']): Filter<DocumentRow> =>
  Object.fromEntries(Object.entries(where).map(([field, value]) => [`by.${field}`, { $eq: value }]));

/** Finds the documents of a list. */
const listed = (projection: Projection<unknown>, { org, where }: CountQuery): Finding => {
  const fields = Object.keys(where);
  if (org === everyOrganization) {
    const hint = acrossIndex(fields);
    if (projection.across?.some((known) => acrossIndex(known) === hint) !== true)
      throw new Error(`${projection.name} is not listed across organizations by ${fields.join(', ')}`);
    return { filter: byFields(where), fields, hint };
  }
  const unknown = fields.filter((field) => projection.indexes[field] === undefined);
  if (unknown.length > 0) throw new Error(`${projection.name} is not indexed by ${unknown.join(', ')}`);
  return { filter: { org: { $eq: org }, ...byFields(where) }, fields };
};

const newestFirst = { created: -1 } as const;

interface MongoReadModelsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Shared with the code that acknowledges writes in this process. */
  readonly seen?: SeenBuilds;
}

/**
 * The read models in MongoDB, as queries see them. Values from outside are compared as strings, and never
 * taken for operators.
 */
export const mongoReadModels = ({
  database,
  clock,
  seen = new SeenBuilds(database, clock),
}: MongoReadModelsOptions): ReadModels => {
  /** Documents of one collection that are asked for at the same time are found by one query. */
  const lookups = new Map<string, Batcher<string, DocumentRow | null>>();
  const lookupsIn = (collection: string): Batcher<string, DocumentRow | null> => {
    const lane =
      lookups.get(collection) ??
      Batcher.lane(clock, async (keys: readonly string[]) => {
        const _id = { $in: [...new Set(keys)] };
        const rows = await findAll(database.collection<DocumentRow>(collection), { _id });
        const found = new Map(rows.map((row) => [row._id, row]));
        return keys.map((key) => found.get(key) ?? null);
      });
    lookups.set(collection, lane);
    return lane;
  };

  /** The name of the collection of the build that readers see, which must support the query. */
  const collectionOf = async (
    projection: Projection<unknown>,
    { fields = [], isOnAgenda = false }: Partial<Finding> = {},
  ): Promise<string> => {
    const row = await seen.toRead(projection);
    if (row === null) throw new ReadModelNotBuilt(projection);
    const indexed = indexedFields(row.shape);
    const isIndexed = fields.every((field) => indexed.fields.includes(field));
    if (isIndexed && (indexed.agenda || !isOnAgenda)) return documentsName(row);
    throw new ReadModelsUnavailable(
      `${projection.name} is being rebuilt, and can't be searched like this yet`,
    );
  };

  const find = async <Document>(
    projection: Projection<Document>,
    finding: Finding,
    sort: Readonly<Record<string, 1 | -1>>,
    limit: number,
  ): Promise<readonly Stored<Document>[]> => {
    const documents = database.collection<DocumentRow>(await collectionOf(projection, finding));
    if (limit < 1) return [];
    const { filter, hint } = finding;
    const options = { sort, limit, ...(hint !== undefined && { hint }) };
    return (await findAll(documents, filter, options)).map((row) => fromRow<Document>(row));
  };

  return guardedPort<ReadModels>(ReadModelsUnavailable, {
    get: async <Document>(projection: Projection<Document>, key: string) => {
      const row = await lookupsIn(await collectionOf(projection)).add(key);
      return row && fromRow<Document>(row);
    },

    page: async (projection, { org, where = {}, before, limit }) => {
      const { filter, ...rest } = listed(projection, { org, where });
      const older = before === undefined ? filter : { ...filter, created: { $lt: before } };
      return find(projection, { filter: older, ...rest }, newestFirst, limit);
    },

    count: async (projection, query) => {
      const finding = listed(projection, query);
      const documents = database.collection<DocumentRow>(await collectionOf(projection, finding));
      const { filter, hint } = finding;
      return documents.countDocuments(filter, { ...(hint !== undefined && { hint }) });
    },

    agenda: async (projection, { upTo, after, limit }) => {
      const range = { agenda: { $gte: after?.agenda ?? '', $lte: upTo } };
      const beyond = after && {
        $or: [
          { agenda: { $gt: after.agenda } },
          { agenda: { $eq: after.agenda }, created: { $gt: after.created } },
        ],
      };
      const order = { agenda: 1, created: 1 } as const;
      return find(projection, { filter: { ...range, ...beyond }, isOnAgenda: true }, order, limit);
    },
  });
};
