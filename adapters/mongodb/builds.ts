import type { Collection, IndexDescription } from 'mongodb';
import type { Stored } from '../../application/ports/read-models.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import type { MongoDatabase } from './database.js';

/**
 * One build of a projection. `epoch` is that of the projector that last wrote it: an older one may not any
 * more.
 */
export interface BuildRow {
  /** `{name}/{generation}` */
  readonly _id: string;
  readonly name: string;
  readonly version: number;
  readonly generation: number;
  readonly checkpoint: bigint;
  readonly epoch: number;
  readonly state: 'building' | 'active' | 'retired';
  readonly shape: string;
  /** Milliseconds since 1970. */
  readonly retiredAt: number | null;
}

/**
 * A document in its build's collection. It is kept as JSON text: its keys may be anything, and a rebuild
 * gives it back byte for byte. What lists filter and sort by stands beside it.
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

/** How long a reader goes on with the build that it knows without looking whether another one is active. */
export const trusted: Milliseconds = 250;

export const builds = (database: MongoDatabase): Promise<Collection<BuildRow>> =>
  database.prepared<BuildRow>('builds', [{ key: { name: 1, generation: 1 }, name: 'by_name', unique: true }]);

/** What the names of a projection's collections begin with. */
export const documentsPrefix = (projection: Pick<Projection<unknown>, 'name'>): string =>
  `documents_${projection.name}_v`;

export const documentsName = ({
  name,
  version,
  generation,
}: Pick<BuildRow, 'name' | 'version' | 'generation'>): string =>
  `${documentsPrefix({ name })}${version}_g${generation}`;

const fieldsOf = (projection: Projection<unknown>): string[] => Object.keys(projection.indexes).toSorted();

/** What a build's indexes are made of: a projection with another shape needs another build. */
export const shapeOf = (projection: Projection<unknown>): string =>
  JSON.stringify([fieldsOf(projection), projection.agenda !== undefined]);

/** Pages come newest first within an organization, whatever they filter by. */
export const documentIndexes = (projection: Projection<unknown>): IndexDescription[] => [
  { key: { org: 1, created: -1 }, name: 'by_org' },
  ...fieldsOf(projection).map((field) => ({
    key: { org: 1, [`by.${field}`]: 1, created: -1 } as const,
    name: `by_${field}`,
  })),
  ...(projection.agenda === undefined
    ? []
    : [{ key: { agenda: 1, created: 1 } as const, name: 'by_agenda', sparse: true }]),
];

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
