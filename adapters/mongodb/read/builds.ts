import type { Collection, IndexDescription } from 'mongodb';
import type { LogReading } from '../../../application/log/same-log.js';
import type { EventMark } from '../../../application/ports/event-store.js';
import type { Stored } from '../../../application/ports/read-models.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Projection } from '../../../projections/projection.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import { mongoCheckpoints } from '../records/checkpoints.js';

/** One build of a projection. Releases that have it in common feed the same one. */
export interface BuildRow {
  readonly _id: string;
  readonly name: string;
  readonly version: number;
  readonly generation: number;
  readonly checkpoint: bigint;
  /**
   * The event of the save that came last, which may be a late one: it counts only if its position is the
   * checkpoint. Absent before the first save.
   */
  readonly event?: EventMark & { readonly position: bigint };
  /**
   * By release, that of the projector that wrote it last: one of the same release with an earlier epoch may
   * not write it any more.
   */
  readonly epochs?: Readonly<Record<string, number>>;
  /** When a projector last said that it feeds it, in milliseconds since 1970. */
  readonly fedAt: number;
  readonly state: 'building' | 'active' | 'retired';
  readonly shape: string;
  /** Milliseconds since 1970. */
  readonly retiredAt: number | null;
}

/**
 * A document in its build's collection. It is kept as JSON text, because its keys may be anything and a
 * rebuild must reproduce it byte for byte. Fields beside it hold the values by which lists filter and sort.
 */
export interface DocumentRow {
  readonly _id: string;
  readonly created: bigint;
  readonly position: bigint;
  readonly org: string | null;
  readonly by: Readonly<Record<string, string>>;
  readonly agenda?: string;
  readonly json: string;
}

export const buildId = ({ name, generation }: Pick<BuildRow, 'name' | 'generation'>): string =>
  `${name}/${generation}`;

/**
 * How long a reader uses the active build that it knows before it looks whether another one is active now.
 */
export const activeBuildTtl: Milliseconds = 250;

export const builds = (database: MongoDatabase): Promise<Collection<BuildRow>> =>
  database.indexed<BuildRow>('builds');

export const documentsPrefix = 'documents_';

export const documentsName = (build: Pick<BuildRow, 'name' | 'version' | 'generation'>): string =>
  `${documentsPrefix}${build.name}_v${build.version}_g${build.generation}`;

const fieldsOf = (projection: Projection<unknown>): string[] => Object.keys(projection.indexes).toSorted();

/** The shape that a build's indexes depend on: a projection of another shape needs another build. */
export const shapeOf = (projection: Projection<unknown>): string =>
  JSON.stringify([
    fieldsOf(projection),
    projection.agenda !== undefined,
    ...(projection.across ?? []).map(acrossIndex),
  ]);

/** The name of the index for a list of all organizations together. */
export const acrossIndex = (fields: readonly string[]): string => ['all', ...fields.toSorted()].join('_');

/** Which fields a build's documents can be found by. */
export const indexedFields = (shape: string) => {
  const [fields, agenda]: [readonly string[], boolean] = JSON.parse(shape);
  return { fields, agenda };
};

/** Whether a build is one of this version of the projection. */
export const isBuildOf = (projection: Projection<unknown>, { name, version, shape }: BuildRow): boolean =>
  name === projection.name && version === projection.version && shape === shapeOf(projection);

/** The build that readers of a projection see, among all in the order of their generations. */
export const seenBuild = (projection: Projection<unknown>, rows: readonly BuildRow[]): BuildRow | null =>
  rows
    .filter(
      (row) =>
        row.state === 'active' &&
        (isBuildOf(projection, row) || (row.name === projection.name && row.version < projection.version)),
    )
    .toSorted((a, b) => a.version - b.version)
    .at(-1) ?? null;

/** Indexes for pages of an organization, newest first, whatever they filter by. */
export const documentIndexes = (projection: Projection<unknown>): IndexDescription[] => [
  { key: { org: 1, created: -1 }, name: 'by_org' },
  ...fieldsOf(projection).map((field) => ({
    key: { org: 1, [`by.${field}`]: 1, created: -1 } as const,
    name: `by_${field}`,
  })),
  ...(projection.across ?? []).map((fields) => ({
    key: {
      ...Object.fromEntries(fields.toSorted().map((field) => [`by.${field}`, 1] as const)),
      created: -1,
    } as const,
    name: acrossIndex(fields),
  })),
  ...(projection.agenda === undefined
    ? []
    : [{ key: { agenda: 1, created: 1 } as const, name: 'by_agenda', sparse: true }]),
];

/** The event at a build's checkpoint, if it is known. */
export const eventAtCheckpoint = ({ checkpoint, event }: BuildRow): { readonly event?: EventMark } => {
  if (event?.position !== checkpoint) return {};
  const { id, hash, at } = event;
  return { event: { id, hash, at } };
};

export const toRow = (
  projection: Projection<unknown>,
  { key, created, position, document }: Stored<unknown>,
): DocumentRow => {
  const agenda = projection.agenda?.(document) ?? null;
  const fields = fieldsOf(projection).flatMap((field): [string, string][] => {
    const value = projection.indexes[field]?.(document) ?? null;
    return value === null ? [] : [[field, value]];
  });
  return {
    _id: key,
    created,
    position,
    org: projection.org(document),
    by: Object.fromEntries(fields),
    ...(agenda !== null && { agenda }),
    json: JSON.stringify(document),
  };
};

export const fromRow = <Document>({ _id, created, position, json }: DocumentRow): Stored<Document> => {
  const document: Document = JSON.parse(json);
  return { key: _id, created, position, document };
};

/** All readers of the log: the builds of all projections, and the processes with checkpoints. */
export const readingsOf = async (database: MongoDatabase): Promise<readonly LogReading[]> => {
  const rows = await findAll(await builds(database), { state: { $ne: 'retired' } });
  const projections = rows.map((row) => ({
    reader: `The projection ${row.name}`,
    position: row.checkpoint,
    ...eventAtCheckpoint(row),
  }));
  const processes = await mongoCheckpoints(database).all();
  return [
    ...projections,
    ...processes.map(({ name, ...progress }) => ({ reader: `The process ${name}`, ...progress })),
  ];
};
