import { NamedError } from '../../domain/errors.js';
import type { Projection } from '../../projections/projection.js';
import type { EventMark } from './event-store.js';

/**
 * A document with the position of the event that created it, by which lists are ordered, and of the last
 * event that changed it.
 */
export interface Stored<Document> {
  readonly key: string;
  readonly created: bigint;
  readonly position: bigint;
  readonly document: Document;
}

/** All organizations together, for the operator alone. Not a text, so that no id can be taken for it. */
export const everyOrganization: unique symbol = Symbol('every organization');

/**
 * A page, newest first. `where` compares fields that the projection indexes, exactly. `before`: only
 * documents created before that position.
 */
export interface PageQuery {
  /**
   * The organization whose documents are wanted; null if the projection's documents belong to none. For
   * `everyOrganization`, `where` must name a combination of fields that the projection has in `across`; the
   * query fails while the build that readers see is of a version without the index.
   */
  readonly org: string | null | typeof everyOrganization;
  readonly where?: Readonly<Record<string, string>>;
  readonly before?: bigint | undefined;
  readonly limit: number;
}

export type CountQuery = Required<Pick<PageQuery, 'org' | 'where'>>;

/** `after`: only documents that come after this one in the order of agenda and creation. */
export interface AgendaQuery {
  readonly upTo: string;
  readonly after?: { readonly agenda: string; readonly created: bigint };
  readonly limit: number;
}

export class ReadModelsUnavailable extends NamedError {}

/** The projector, which may have started a moment ago, is yet to finish the first build of a read model. */
export class ReadModelNotBuilt extends ReadModelsUnavailable {
  constructor({ name }: Projection<unknown>) {
    super(`${name} is being built: it can't be read yet`);
  }
}

/**
 * The queries. Readers follow the switch to a rebuilt projection within 5 s. All throw ReadModelsUnavailable.
 */
export interface ReadModels {
  get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null>;
  page<Document>(projection: Projection<Document>, query: PageQuery): Promise<readonly Stored<Document>[]>;
  /** How many documents there are. Takes as long as there are many, and gives way to others meanwhile. */
  count(projection: Projection<unknown>, query: CountQuery): Promise<number>;
  /**
   * The documents of every organization whose agenda is at most `upTo`, ordered by agenda and then by age,
   * oldest first.
   */
  agenda<Document>(
    projection: Projection<Document>,
    query: AgendaQuery,
  ): Promise<readonly Stored<Document>[]>;
}

/** A page of a list as readers ask for it: after an entry, as they write it; null: the first page. */
export interface Page {
  readonly startingAfter: string | null;
  readonly limit: number;
}

/** All rows of a query, a page at a time. `rest` is awaited between two pages. */
export async function* pagesOf<Document>(
  readModels: Pick<ReadModels, 'page'>,
  projection: Projection<Document>,
  query: PageQuery,
  rest: () => Promise<void>,
): AsyncGenerator<readonly Stored<Document>[], void, undefined> {
  for (let { before } = query; ;) {
    const rows = await readModels.page(projection, { ...query, before });
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < query.limit) return;
    before = last.created;
    await rest();
  }
}

/**
 * A build of a projection, and how far it has come. `generation` grows with every rebuild; readers see the
 * active build.
 */
export interface BuildState {
  readonly generation: number;
  readonly checkpoint: bigint;
  /** The event at the checkpoint; absent at the beginning. */
  readonly event?: EventMark;
  /** No reader sees it yet. */
  readonly hidden?: true;
}

/**
 * The read models as the projector writes them. A build belongs to a projection's name and version. Readers
 * of a version see its active build. Until it has one they see the active build of an earlier version as it
 * is, which may be fed no longer; if there is none, they get ReadModelsUnavailable. Documents and checkpoint
 * of one `save` become visible together, or the documents first. Every write is guarded by position: a
 * repeated or late save changes nothing, and a checkpoint never goes back.
 */
export interface ProjectionStore {
  /**
   * Returns the active build of this version. If there is none, its newest unfinished build, or else a new
   * one, which is active at once if nothing has been projected into the store yet.
   */
  active(projection: Projection<unknown>): Promise<BuildState>;
  /** Starts a build beside the active one, from position 0. An unfinished build is discarded. */
  startBuild(projection: Projection<unknown>): Promise<BuildState>;
  /** Makes a build the active one. Older ones are removed once no process reads them any more. */
  activate(projection: Projection<unknown>, generation: number): Promise<void>;
  load<Document>(
    projection: Projection<Document>,
    generation: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, Stored<Document>>>;
  save(batches: readonly ProjectedBatch[]): Promise<void>;
}

export interface ProjectedBatch {
  readonly projection: Projection<unknown>;
  readonly generation: number;
  readonly documents: readonly Stored<unknown>[];
  readonly checkpoint: bigint;
  /** The event at the checkpoint. */
  readonly event?: EventMark;
}
