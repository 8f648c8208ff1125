import {
  ReadModelNotBuilt,
  ReadModelsUnavailable,
  everyOrganization,
  type AgendaQuery,
  type BuildState,
  type CountQuery,
  type PageQuery,
  type ProjectedBatch,
  type ProjectionStore,
  type ReadModels,
  type Stored,
} from '../../../application/ports/read-models.js';
import type { EventMark } from '../../../application/ports/event-store.js';
import type { Projection } from '../../../projections/projection.js';

interface Row {
  readonly key: string;
  readonly created: bigint;
  readonly position: bigint;
  readonly org: string | null;
  readonly fields: Readonly<Record<string, string | null>>;
  readonly agenda: string | null;
  readonly json: string;
}

interface Build {
  readonly version: number;
  readonly generation: number;
  readonly hasAgenda: boolean;
  active: boolean;
  checkpoint: bigint;
  event: EventMark | undefined;
  readonly rows: Map<string, Row>;
}

const rowOf = (
  projection: Projection<unknown>,
  { key, created, position, document }: Stored<unknown>,
): Row => ({
  key,
  created,
  position,
  org: projection.org(document),
  fields: Object.fromEntries(
    Object.entries(projection.indexes).map(([field, read]) => [field, read(document)]),
  ),
  agenda: projection.agenda?.(document) ?? null,
  json: JSON.stringify(document),
});

const storedOf = <Document>({ key, created, position, json }: Row): Stored<Document> => {
  const document: Document = JSON.parse(json);
  return { key, created, position, document };
};

const stateOf = ({ generation, checkpoint, event, active }: Build): BuildState => ({
  generation,
  checkpoint,
  ...(event !== undefined && { event }),
  ...(!active && { hidden: true }),
});

const assertAcross = ({ name, across }: Projection<unknown>, where: CountQuery['where']): void => {
  const fields = Object.keys(where).toSorted().join();
  if (across?.some((known) => known.toSorted().join() === fields) !== true)
    throw new Error(`${name} is not listed across organizations by ${fields}`);
};

const descending = (a: bigint, b: bigint) => (a < b ? 1 : a > b ? -1 : 0);

const ascending = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Read models in memory. */
export class MemoryReadModels implements ReadModels, ProjectionStore {
  /** While true, every call throws ReadModelsUnavailable. */
  away = false;
  readonly #builds = new Map<string, readonly Build[]>();
  readonly #generations = new Map<string, number>();

  /** Deletes everything. */
  clear(): void {
    this.#builds.clear();
  }

  async get<Document>(projection: Projection<Document>, key: string): Promise<Stored<Document> | null> {
    const row = this.#seen(projection)?.rows.get(key);
    return row === undefined ? null : storedOf(row);
  }

  async page<Document>(
    projection: Projection<Document>,
    { org, where = {}, before, limit }: PageQuery,
  ): Promise<readonly Stored<Document>[]> {
    if (org === everyOrganization) assertAcross(projection, where);
    return [...(this.#seen(projection)?.rows.values() ?? [])]
      .filter(
        (row) =>
          (org === everyOrganization || row.org === org) &&
          Object.entries(where).every(([field, value]) => row.fields[field] === value) &&
          (before === undefined || row.created < before),
      )
      .sort((a, b) => descending(a.created, b.created))
      .slice(0, limit)
      .map((row) => storedOf<Document>(row));
  }

  async count(projection: Projection<unknown>, query: CountQuery): Promise<number> {
    return (await this.page(projection, { ...query, limit: Infinity })).length;
  }

  async agenda<Document>(
    projection: Projection<Document>,
    { upTo, after, limit }: AgendaQuery,
  ): Promise<readonly Stored<Document>[]> {
    const seen = this.#seen(projection);
    if (seen?.hasAgenda === false) throw new ReadModelNotBuilt(projection);
    return [...(seen?.rows.values() ?? [])]
      .flatMap((row) => (row.agenda === null ? [] : [{ row, agenda: row.agenda }]))
      .filter(({ agenda }) => agenda <= upTo)
      .filter(
        ({ row, agenda }) =>
          after === undefined ||
          agenda > after.agenda ||
          (agenda === after.agenda && row.created > after.created),
      )
      .sort((a, b) => ascending(a.agenda, b.agenda) || descending(b.row.created, a.row.created))
      .slice(0, limit)
      .map(({ row }) => storedOf<Document>(row));
  }

  async active(projection: Projection<unknown>): Promise<BuildState> {
    const builds = this.#buildsOf(projection);
    const mine = builds.filter(({ version }) => version === projection.version);
    const build = mine.find(({ active }) => active) ?? mine.at(-1);
    const projected = [...this.#builds.values()].flat().some(({ checkpoint }) => checkpoint > 0n);
    return stateOf(build ?? this.#begin(projection, !projected && !builds.some(({ active }) => active)));
  }

  async startBuild(projection: Projection<unknown>): Promise<BuildState> {
    this.#keep(projection, (build) => build.active || build.version !== projection.version);
    return stateOf(this.#begin(projection, false));
  }

  async activate(projection: Projection<unknown>, generation: number): Promise<void> {
    this.#build(projection, generation).active = true;
    this.#keep(projection, (build) => build.version !== projection.version || build.generation >= generation);
  }

  async load<Document>(
    projection: Projection<Document>,
    generation: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, Stored<Document>>> {
    const { rows } = this.#build(projection, generation);
    return new Map(
      keys.flatMap((key) => {
        const row = rows.get(key);
        return row === undefined ? [] : [[key, storedOf<Document>(row)]];
      }),
    );
  }

  async save(batches: readonly ProjectedBatch[]): Promise<void> {
    for (const { projection, generation, documents, checkpoint, event } of batches) {
      const build = this.#build(projection, generation);
      for (const stored of documents) {
        if ((build.rows.get(stored.key)?.position ?? -1n) < stored.position)
          build.rows.set(stored.key, rowOf(projection, stored));
      }
      if (build.checkpoint >= checkpoint) continue;
      build.checkpoint = checkpoint;
      build.event = event;
    }
  }

  /** The build that readers see. */
  #seen(projection: Projection<unknown>): Build | undefined {
    const builds = this.#buildsOf(projection);
    const seen = builds
      .filter(({ active, version }) => active && version <= projection.version)
      .sort((a, b) => b.version - a.version)[0];
    if (seen === undefined && builds.length > 0) throw new ReadModelNotBuilt(projection);
    return seen;
  }

  #buildsOf({ name }: Projection<unknown>): readonly Build[] {
    if (this.away) throw new ReadModelsUnavailable('the read models are away');
    return this.#builds.get(name) ?? [];
  }

  #build(projection: Projection<unknown>, generation: number): Build {
    const found = this.#buildsOf(projection).find(
      (build) => build.version === projection.version && build.generation === generation,
    );
    if (found === undefined)
      throw new Error(`${projection.name} v${projection.version} has no build ${generation}`);
    return found;
  }

  #begin(projection: Projection<unknown>, active: boolean): Build {
    const builds = this.#buildsOf(projection);
    const generation = (this.#generations.get(projection.name) ?? 0) + 1;
    this.#generations.set(projection.name, generation);
    const build = {
      version: projection.version,
      generation,
      hasAgenda: projection.agenda !== undefined,
      active,
      checkpoint: 0n,
      event: undefined,
      rows: new Map(),
    };
    this.#builds.set(projection.name, [...builds, build]);
    return build;
  }

  #keep(projection: Projection<unknown>, wanted: (build: Build) => boolean) {
    this.#builds.set(projection.name, this.#buildsOf(projection).filter(wanted));
  }
}
