import type { Filter } from 'mongodb';
import {
  ReadModelsUnavailable,
  type AgendaQuery,
  type PageAcrossQuery,
  type PageQuery,
  type ReadModels,
  type Stored,
} from '../../application/ports/read-models.js';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import {
  acrossIndex,
  builds,
  documentsName,
  fromRow,
  activeBuildTrusted,
  type DocumentRow,
} from './builds.js';
import { guarded, type MongoDatabase } from './database.js';

interface KnownBuild {
  readonly collection: string;
  readonly until: Milliseconds;
}

/**
 * The read models in MongoDB, as queries see them. Values from outside are compared as strings, and never
 * taken for operators.
 */
export class MongoReadModels implements ReadModels {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownBuild>();

  constructor({ database, clock }: { readonly database: MongoDatabase; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  async get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null> {
    const [found] = await this.#find<Document>(projection, { _id: { $eq: key } }, {}, 1);
    return found ?? null;
  }

  page<Document>(
    projection: Projection<Document>,
    { org, where = {}, before, limit }: PageQuery,
  ): Promise<readonly Stored<Document>[]> {
    const unknown = Object.keys(where).filter((field) => projection.indexes[field] === undefined);
    if (unknown.length > 0)
      return Promise.reject(new Error(`${projection.name} is not indexed by ${unknown.join(', ')}`));
    const fields = Object.entries(where).map(([field, value]) => [`by.${field}`, { $eq: value }] as const);
    const filter = {
      org: { $eq: org },
      ...Object.fromEntries(fields),
      ...(before !== undefined && { created: { $lt: before } }),
    };
    return this.#find<Document>(projection, filter, { created: -1 }, limit);
  }

  pageAcross<Document>(
    projection: Projection<Document>,
    { where, before, limit }: PageAcrossQuery,
  ): Promise<readonly Stored<Document>[]> {
    const fields = Object.keys(where);
    const isThere = projection.across?.some((known) => acrossIndex(known) === acrossIndex(fields)) === true;
    if (!isThere)
      return Promise.reject(
        new Error(`${projection.name} is not listed across organizations by ${fields.join(', ')}`),
      );
    const filter = {
      ...Object.fromEntries(Object.entries(where).map(([field, value]) => [`by.${field}`, { $eq: value }])),
      ...(before !== undefined && { created: { $lt: before } }),
    };
    return this.#find<Document>(projection, filter, { created: -1 }, limit, acrossIndex(fields));
  }

  count(
    projection: Projection<unknown>,
    { org, where }: Required<Pick<PageQuery, 'org' | 'where'>>,
  ): Promise<number> {
    const fields = Object.entries(where).map(([field, value]) => [`by.${field}`, { $eq: value }] as const);
    return guarded(ReadModelsUnavailable, async () => {
      const collection = await this.#collectionOf(projection);
      if (collection === null) return 0;
      const documents = this.#database.collection<DocumentRow>(collection);
      return documents.countDocuments({ org: { $eq: org }, ...Object.fromEntries(fields) });
    });
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
    return this.#find<Document>(projection, { ...range, ...beyond }, { agenda: 1, created: 1 }, limit);
  }

  #find<Document>(
    projection: Projection<unknown>,
    filter: Filter<DocumentRow>,
    sort: Readonly<Record<string, 1 | -1>>,
    limit: number,
    /** The index that must be there: without it, the query would look at every document. */
    hint?: string,
  ): Promise<readonly Stored<Document>[]> {
    return guarded(ReadModelsUnavailable, async () => {
      const collection = await this.#collectionOf(projection);
      if (collection === null || limit < 1) return [];
      const rows = await this.#database
        .collection<DocumentRow>(collection)
        .find(filter, { ...(hint !== undefined && { hint }) })
        .sort({ ...sort })
        .limit(limit)
        .toArray();
      return rows.map((row) => fromRow<Document>(row));
    });
  }

  /** The collection that readers see: of the active build of this version, else of an earlier one. */
  async #collectionOf({ name, version }: Projection<unknown>): Promise<string | null> {
    const now = this.#clock.monotonic();
    const known = this.#known.get(`${name} ${version}`);
    if (known !== undefined && now < known.until) return known.collection;
    const all = await builds(this.#database);
    const [row] = await all
      .find({ name: { $eq: name }, version: { $lte: version }, state: 'active' })
      .sort({ version: -1, generation: -1 })
      .limit(1)
      .toArray();
    if (row === undefined) return null;
    const collection = documentsName(row);
    this.#known.set(`${name} ${version}`, { collection, until: now + activeBuildTrusted });
    return collection;
  }
}
