import { isDeepStrictEqual } from 'node:util';
import type { LoggedEvent } from '../../domain/events.js';
import { categoryOf, idOf, streamName, type Milliseconds, type StreamName } from '../../domain/ids.js';
import { tileWidth } from '../../domain/merkle.js';
import type { Projection } from '../../projections/projection.js';
import { streamPages, type EventStore, larger } from '../ports/event-store.js';
import type { LogTiles } from '../ports/log-tiles.js';
import type { RawLog } from '../ports/raw-log.js';
import type { ReadModels, Stored } from '../ports/read-models.js';
import type { Clock, Entropy } from '../ports/system.js';
import { untilAborted } from '../timing/until-aborted.js';
import type { ProjectorStatus } from './projection-board.js';

/** A row that differs from its folded events. It holds no personal data. */
export interface Difference {
  readonly projection: string;
  readonly key: string;
  /** The fields that differ; none if the row or the document is missing. */
  readonly fields: readonly string[];
}

export interface SpotCheckDeps {
  readonly store: Pick<EventStore, 'readStream' | 'readLast'>;
  readonly raw: Pick<RawLog, 'readStored'>;
  readonly tiles: Pick<LogTiles, 'tree' | 'leaves'>;
  readonly readModels: Pick<ReadModels, 'get' | 'page'>;
  readonly projections: readonly Projection<unknown>[];
  readonly status: () => ProjectorStatus;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly checked: (projection: string) => void;
  readonly differs: (difference: Difference) => void;
}

const pause: Milliseconds = 10_000;
/** At most one part in this many of a process's time. */
const share = 100;
/** A longer stream is passed over: to fold it would hold up others. */
const maxEvents = 5_000;

/** A document, and the stream that it is made of. */
export interface Subject {
  readonly projection: Projection<unknown>;
  readonly stream: StreamName;
  readonly key: string;
}

/** As a store keeps it. */
const plain = (document: unknown): object | null => JSON.parse(JSON.stringify(document)) as object | null;

const fieldsThatDiffer = (row: object, folded: object): readonly string[] => {
  const [one, other] = [new Map(Object.entries(row)), new Map(Object.entries(folded))];
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(one.get(name), other.get(name)));
};

/** How far readers see a projection that is fed; null while another build is shown. */
const checkpointOf = ({ status }: SpotCheckDeps, { name }: Projection<unknown>): bigint | null => {
  const { down, projections } = status();
  const known = projections.find((each) => each.name === name);
  return down === null && known?.live === true ? known.checkpoint : null;
};

/** Folds the events of a stream up to a position into its document. */
const fold = async (
  { store }: SpotCheckDeps,
  { projection, stream, key }: Subject,
  until: bigint,
): Promise<unknown> => {
  let document: unknown = null;
  for await (const page of streamPages(store, stream, 0))
    for (const recorded of page) {
      const event: LoggedEvent = { ...recorded, position: recorded.position ?? until };
      if (event.position > until) return document;
      if (projection.key(event) === key) document = projection.evolve(document, event);
    }
  return document;
};

/** How a row differs from its events as far as they are in it; null if it doesn't, or it can't be told. */
const compare = async (deps: SpotCheckDeps, subject: Subject): Promise<Difference | null> => {
  const { projection, stream, key } = subject;
  const last = await deps.store.readLast(stream);
  if (last !== null && last.revision >= maxEvents) return null;
  // Asked before the row is read: the row has everything up to here.
  const checkpoint = checkpointOf(deps, projection);
  if (checkpoint === null) return null;
  const row = await deps.readModels.get(projection, key);
  const folded = await fold(deps, subject, larger(checkpoint, row?.position ?? 0n));
  const [found, wanted] = [plain(row?.document ?? null), plain(folded)];
  deps.checked(projection.name);
  if (isDeepStrictEqual(found, wanted)) return null;
  const fields = found === null || wanted === null ? [] : fieldsThatDiffer(found, wanted);
  return { projection: projection.name, key, fields };
};

/** The row before a random place in the list of an organization: also one that no event has made. */
const anyNeighbour = async (
  { readModels, entropy }: SpotCheckDeps,
  projection: Projection<unknown>,
  { document }: Stored<unknown>,
  newest: bigint,
): Promise<Subject | null> => {
  const before = BigInt(entropy.below(Number(newest)) + 2);
  const [row] = await readModels.page(projection, { org: projection.org(document), before, limit: 1 });
  if (row === undefined) return null;
  return { projection, stream: streamName(projection.category, row.key), key: row.key };
};

/**
 * The documents to check this time: the ones of a random event of the log, and another of their lists. None
 * if no event is signed yet.
 */
const chosen = async (deps: SpotCheckDeps): Promise<readonly Subject[]> => {
  const { tiles, raw, entropy, store, readModels, projections } = deps;
  const { size } = await tiles.tree();
  const index = size === 0 ? 0 : entropy.below(size);
  const tile = size === 0 ? null : await tiles.leaves(Math.floor(index / tileWidth));
  const event = tile && (await raw.readStored(tile.after, (index % tileWidth) + 1)).at(-1);
  if (!event) return [];
  const { stream, type, position } = event;
  const [recorded] = await store.readStream(stream, event.revision, 1);
  if (recorded === undefined) return [];
  const subjects: Subject[] = [];
  for (const projection of projections) {
    if (projection.category !== categoryOf(stream) || projection.passesOver?.has(type) === true) continue;
    const key = projection.key({ ...recorded, position });
    // A document of many streams would take reading the log.
    if (key !== idOf(stream) && projection.oneEventEach !== true) continue;
    subjects.push({ projection, stream, key });
    const row = await readModels.get(projection, key);
    if (row === null || projection.oneEventEach === true) continue;
    const neighbour = await anyNeighbour(deps, projection, row, position);
    if (neighbour !== null) subjects.push(neighbour);
  }
  return subjects;
};

/**
 * Compares some random rows with their folded events. Returns the ones that differ: a row may be late, or an
 * erasure under way. `suspects`: the last result; rows that differ again are reported.
 */
export const spotCheck = async (
  deps: SpotCheckDeps,
  suspects: readonly Subject[],
): Promise<readonly Subject[]> => {
  for (const suspect of suspects) {
    const difference = await compare(deps, suspect);
    if (difference !== null) deps.differs(difference);
  }
  const found: Subject[] = [];
  for (const subject of await chosen(deps)) if ((await compare(deps, subject)) !== null) found.push(subject);
  return found;
};

/**
 * Looks at random rows until the signal aborts, for a hundredth of the time at most.
 * (docs/incidents.md#rows-that-differ)
 */
export const runSpotChecks = async (
  deps: SpotCheckDeps,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> => {
  const { clock } = deps;
  let suspects: readonly Subject[] = [];
  await untilAborted({ clock, signal, pause, onError }, async () => {
    const began = clock.monotonic();
    suspects = await spotCheck(deps, suspects);
    await clock.sleep((clock.monotonic() - began) * (share - 1), signal);
  });
};
