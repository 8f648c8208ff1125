import type { Projection } from '../../projections/projection.js';

/**
 * A document with the position of the stream's first event (its creation order) and of the last event that
 * changed it.
 */
export interface Stored<Document> {
  readonly key: string;
  readonly created: bigint;
  readonly position: bigint;
  readonly document: Document;
}

/**
 * Newest first. `where` compares fields that the projection indexes, exactly. `before`: only documents
 * created before that position.
 */
export interface PageQuery {
  /** The organization whose documents are wanted; null where the projection belongs to none. */
  readonly org: string | null;
  readonly where?: Readonly<Record<string, string>>;
  readonly before?: bigint;
  readonly limit: number;
}

/** `after`: only documents that come after this one, by agenda and creation. */
export interface AgendaQuery {
  readonly upTo: string;
  readonly after?: { readonly agenda: string; readonly created: bigint };
  readonly limit: number;
}

export class ReadModelsUnavailable extends Error {
  override readonly name = 'ReadModelsUnavailable';
}

/**
 * The queries. A reader follows the switch to a rebuilt projection within 5 s. All throw
 * ReadModelsUnavailable.
 */
export interface ReadModels {
  get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null>;
  page<Document>(projection: Projection<Document>, query: PageQuery): Promise<readonly Stored<Document>[]>;
  /**
   * Documents of every organization whose agenda is at most `upTo`, smallest first, those of one agenda
   * oldest first.
   */
  agenda<Document>(
    projection: Projection<Document>,
    query: AgendaQuery,
  ): Promise<readonly Stored<Document>[]>;
}

/**
 * Where a build of a projection stands. `generation` grows with every rebuild; the active one is the one that
 * readers see.
 */
export interface BuildState {
  readonly generation: number;
  readonly checkpoint: bigint;
}

/**
 * The projector's side. Builds belong to a projection's name and version. While the build of a new version is
 * not active, readers go on with the active build of the version before, if there is one.
 * Documents and checkpoint of one `save` become visible together, or the documents first.
 * Every write is guarded by position, so that a repeated or late save changes nothing; a checkpoint never
 * goes back.
 */
export interface ProjectionStore {
  /**
   * The active build of this version. Where there is none: its newest unfinished build, else a new one,
   * active at once if no earlier version has an active build.
   */
  active(projection: Projection<unknown>): Promise<BuildState>;
  /** Starts a build beside the active one, from position 0. An unfinished build is thrown away. */
  startBuild(projection: Projection<unknown>): Promise<BuildState>;
  /** Makes a build the active one. The old documents go later. */
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
}
