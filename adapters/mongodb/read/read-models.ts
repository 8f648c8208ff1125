import type { Collection, Filter } from 'mongodb';
import {
  ReadModelNotBuilt,
  ReadModelsUnavailable,
  everyOrganization,
  type AgendaQuery,
  type CountQuery,
  type PageQuery,
  type ReadModels,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Projection } from '../../../projections/projection.js';
import { acrossIndex, documentsName, fromRow, indexedFields, type DocumentRow } from './builds.js';
import { Batcher } from '../client/batcher.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { SeenBuilds } from './seen-builds.js';

/** A query's requirements of a build. */
interface Needs {
  /** The fields and the agenda by which it finds documents. */
  readonly fields?: readonly string[];
  readonly agenda?: true;
}

/** A query, and what it needs of a build. */
interface Finding {
  readonly filter: Filter<DocumentRow>;
  readonly needs: Needs;
  /** The index that must be there: without it, the query would look at every document. */
  readonly hint?: string;
}

/** Finds documents by the values of fields. */
const byFields = (where: CountQuery['where']): Filter<DocumentRow> =>
  Object.fromEntries(Object.entries(where).map(([field, value]) => [`by.${field}`, { $eq: value }]));

const olderThan = (before: bigint | undefined): Filter<DocumentRow> =>
  before === undefined ? {} : { created: { $lt: before } };

/** Finds the documents of a list. */
const listed = (projection: Projection<unknown>, { org, where }: CountQuery): Finding => {
  const fields = Object.keys(where);
  if (org === everyOrganization) {
    const hint = acrossIndex(fields);
    if (projection.across?.some((known) => acrossIndex(known) === hint) !== true)
      throw new Error(`${projection.name} is not listed across organizations by ${fields.join(', ')}`);
    return { filter: byFields(where), needs: { fields }, hint };
  }
  const unknown = fields.filter((field) => projection.indexes[field] === undefined);
  if (unknown.length > 0) throw new Error(`${projection.name} is not indexed by ${unknown.join(', ')}`);
  return { filter: { org: { $eq: org }, ...byFields(where) }, needs: { fields } };
};

const newestFirst = { created: -1 } as const;

/**
 * The read models in MongoDB, as queries see them. Values from outside are compared as strings, and never
 * taken for operators.
 */
class MongoReadModels implements ReadModels {
  /** By collection. */
  readonly #lookups = new Map<string, Batcher<string, DocumentRow | null>>();

  constructor(
    private readonly database: MongoDatabase,
    private readonly clock: Clock,
    private readonly seen: SeenBuilds,
  ) {}

  /** Documents of one projection that are asked for at the same time are found by one query. */
  async get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null> {
    const documents = await this.#documentsOf(projection, {});
    const row = await this.#lookupsIn(documents.collectionName).add(key);
    return row && fromRow<Document>(row);
  }

  #lookupsIn(collection: string): Batcher<string, DocumentRow | null> {
    const lookups =
      this.#lookups.get(collection) ??
      Batcher.lane(this.clock, async (keys: readonly string[]) => {
        const _id = { $in: [...new Set(keys)] };
        const rows = await this.database.collection<DocumentRow>(collection).find({ _id }).toArray();
        const found = new Map(rows.map((row) => [row._id, row]));
        return keys.map((key) => found.get(key) ?? null);
      });
    this.#lookups.set(collection, lookups);
    return lookups;
  }

  async page<Document>(
    projection: Projection<Document>,
    { org, where = {}, before, limit }: PageQuery,
  ): Promise<readonly Stored<Document>[]> {
    const { filter, ...rest } = listed(projection, { org, where });
    const finding = { filter: { ...filter, ...olderThan(before) }, ...rest };
    return this.#find<Document>(projection, finding, newestFirst, limit);
  }

  async count(projection: Projection<unknown>, query: CountQuery): Promise<number> {
    const { filter, needs, hint } = listed(projection, query);
    const documents = await this.#documentsOf(projection, needs);
    return documents.countDocuments(filter, { ...(hint !== undefined && { hint }) });
  }

  agenda<Document>(
    projection: Projection<Document>,
    { upTo, after, limit }: AgendaQuery,
  ): Promise<readonly Stored<Document>[]> {
    const range = { agenda: { $gte: after?.agenda ?? '', $lte: upTo } };
    const beyond = after && {
      $or: [
        { agenda: { $gt: after.agenda } },
        { agenda: { $eq: after.agenda }, created: { $gt: after.created } },
      ],
    };
    const order = { agenda: 1, created: 1 } as const;
    const finding: Finding = { filter: { ...range, ...beyond }, needs: { agenda: true } };
    return this.#find<Document>(projection, finding, order, limit);
  }

  async #find<Document>(
    projection: Projection<unknown>,
    { filter, needs, hint }: Finding,
    sort: Readonly<Record<string, 1 | -1>>,
    limit: number,
  ): Promise<readonly Stored<Document>[]> {
    const documents = await this.#documentsOf(projection, needs);
    if (limit < 1) return [];
    const rows = await documents
      .find(filter, { ...(hint !== undefined && { hint }) })
      .sort({ ...sort })
      .limit(limit)
      .toArray();
    return rows.map((row) => fromRow<Document>(row));
  }

  /** The documents of the build that readers see, which must support the query. */
  async #documentsOf(
    projection: Projection<unknown>,
    { fields = [], agenda }: Needs,
  ): Promise<Collection<DocumentRow>> {
    const row = await this.seen.toRead(projection);
    if (row === null) throw new ReadModelNotBuilt(projection);
    const indexed = indexedFields(row.shape);
    const isOnAgenda = agenda === undefined || indexed.agenda;
    if (isOnAgenda && fields.every((field) => indexed.fields.includes(field)))
      return this.database.collection<DocumentRow>(documentsName(row));
    throw new ReadModelsUnavailable(
      `${projection.name} is being rebuilt, and can't be searched like this yet`,
    );
  }
}

interface MongoReadModelsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  /** Shared with the code that acknowledges writes in this process. */
  readonly seen?: SeenBuilds;
}

export const mongoReadModels = ({
  database,
  clock,
  seen = new SeenBuilds(database, clock),
}: MongoReadModelsOptions): ReadModels =>
  guardedPort(ReadModelsUnavailable, new MongoReadModels(database, clock, seen));
