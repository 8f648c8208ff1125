import { LRUCache } from 'lru-cache';
import { messageOf } from '../domain/errors.js';
import type { LoggedEvent } from '../domain/events.js';
import { categoryOf, idOf, type Milliseconds } from '../domain/ids.js';
import type { Projection } from '../projections/projection.js';
import type { LogReader } from './ports/event-store.js';
import type { ProjectedBatch, ProjectionStore, Stored } from './ports/read-models.js';
import type { Clock } from './ports/system.js';
import { larger, smallest } from './positions.js';
import type { ProjectionStatus, ProjectorReports } from './projection-board.js';

export interface ProjectorOptions {
  readonly projections: readonly Projection<unknown>[];
  readonly log: LogReader;
  readonly store: ProjectionStore;
  readonly clock: Clock;
  readonly reports: ProjectorReports;
}

/** How many events are folded before anything else is looked at; fewer where others wait. */
const slice = 1_000;
const sliceBeside = 500;
/**
 * While the log is far ahead, so much is folded in memory before it is saved: a document that many events
 * change is written once.
 */
const savedEvents = 50_000;
const savedDocuments = 10_000;
/** So many documents of a rebuild are saved at once while others wait. */
const savedBeside = 500;
/** Documents of a projection that are kept in memory. */
const keptDocuments = 10_000;
/** Projections that are further behind than this do not keep the others waiting. */
const closeBehind = 5_000n;
/** How far the log must be ahead before documents are gathered instead of shown at once. */
const farAhead = 20_000n;

const firstPause: Milliseconds = 100;
const longestPause: Milliseconds = 5_000;

/**
 * One build of a projection, with the documents that are known and those that are folded but not saved yet.
 */
interface Track {
  readonly projection: Projection<unknown>;
  readonly generation: number;
  /** What is folded is saved up to here. */
  checkpoint: bigint;
  readonly known: LRUCache<string, Stored<unknown>>;
  readonly changed: Map<string, Stored<unknown>>;
}

/** Builds that go through the log together. */
interface Lane {
  tracks: readonly Track[];
  /** Everything up to here is folded. */
  position: bigint;
  unsaved: number;
}

const trackOf = (projection: Projection<unknown>, generation: number, checkpoint: bigint): Track => ({
  projection,
  generation,
  checkpoint,
  known: new LRUCache({ max: keptDocuments }),
  changed: new Map(),
});

const laneOf = (tracks: readonly Track[]): Lane => {
  const position = tracks.length === 0 ? 0n : smallest(tracks.map(({ checkpoint }) => checkpoint));
  return { tracks, position, unsaved: 0 };
};

/** So far that what is folded must be saved before more is. */
const isFull = ({ unsaved, tracks }: Lane): boolean =>
  unsaved >= savedEvents || tracks.some(({ changed }) => changed.size >= savedDocuments);

const none: ReadonlyMap<string, Stored<unknown>> = new Map();

const keep = ({ known, changed }: Track, stored: Stored<unknown>): void => {
  known.set(stored.key, stored);
  changed.delete(stored.key);
};

const statusOf = ({ projection, checkpoint }: Track, live: boolean): ProjectionStatus => ({
  name: projection.name,
  version: projection.version,
  checkpoint,
  live,
  rebuilding: null,
});

const recalled = ({ known, changed }: Track, key: string): Stored<unknown> | undefined =>
  changed.get(key) ?? known.get(key);

/**
 * The document after the event, or null where the event changes nothing: also where the document holds it
 * already.
 */
const folded = (
  { projection }: Track,
  key: string,
  before: Stored<unknown> | undefined,
  event: LoggedEvent,
): Stored<unknown> | null => {
  if (before !== undefined && event.position <= before.position) return null;
  const document = projection.evolve(before?.document ?? null, event);
  if (document === null || document === before?.document) return null;
  return { key, created: before?.created ?? event.position, position: event.position, document };
};

const byCategory = (events: readonly LoggedEvent[]): ReadonlyMap<string, readonly LoggedEvent[]> => {
  const groups = new Map<string, LoggedEvent[]>();
  for (const event of events) {
    const category = categoryOf(event.stream);
    const group = groups.get(category);
    if (group === undefined) groups.set(category, [event]);
    else group.push(event);
  }
  return groups;
};

/**
 * A document that is named after its stream does not exist before the stream's first event: it need not be
 * looked for.
 */
const beginsDocument = (key: string, event: LoggedEvent | undefined): boolean =>
  event?.revision === 0 && key === idOf(event.stream);

const batchOf = (
  { projection, generation }: Track,
  documents: readonly Stored<unknown>[],
  checkpoint: bigint,
): ProjectedBatch => ({
  projection,
  generation,
  documents,
  checkpoint,
});

/**
 * Drives every projection, one event after the other, into the store. There is one active projector per
 * store; a second one would do no harm but double work. Builds that are far behind the others, rebuilds and
 * new versions among them, catch up beside those that are live and take their place then. Whatever fails is
 * tried again from the last checkpoint, after 0.1 to 5 s.
 */
export class Projector {
  readonly #options: ProjectorOptions;
  readonly #wanted = new Set<Projection<unknown>>();
  #live = laneOf([]);
  #behind: readonly Lane[] = [];
  #interrupt = new AbortController();
  #failures = 0;
  #isStale = false;

  constructor(options: ProjectorOptions) {
    this.#options = options;
  }

  /**
   * Builds a projection anew, from the first event, and then puts it in the place of the old one. False where
   * none has that name.
   */
  rebuild(name: string): boolean {
    const projection = this.#options.projections.find((known) => known.name === name);
    if (projection === undefined) return false;
    this.#wanted.add(projection);
    this.#interrupt.abort();
    return true;
  }

  /** Begins again from the checkpoints in the store: what it held is not there any more. */
  restart(): void {
    this.#isStale = true;
    this.#interrupt.abort();
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#drive(signal);
      } catch (error) {
        this.#report(messageOf(error));
        await this.#options.clock.sleep(Math.min(firstPause * 2 ** this.#failures++, longestPause), signal);
      }
    }
  }

  async #drive(signal: AbortSignal): Promise<void> {
    this.#isStale = false;
    await this.#open();
    this.#report();
    let settled = false;
    while (!signal.aborted && !this.#isStale) {
      await this.#startWanted();
      if (!(await this.#advance())) continue;
      if (!settled) await this.#settle(this.#live);
      settled = true;
      for (const lane of this.#behind) await this.#catchUp(lane, signal);
      if (this.#behind.length === 0) await this.#follow(signal);
    }
    if (!this.#isStale) await this.#save(this.#live);
  }

  async #open(): Promise<void> {
    const { projections, store } = this.#options;
    const tracks: Track[] = [];
    for (const projection of projections) {
      const { generation, checkpoint } = await store.active(projection);
      tracks.push(trackOf(projection, generation, checkpoint));
    }
    const furthest = tracks.reduce((most, { checkpoint }) => larger(most, checkpoint), 0n);
    const isClose = ({ checkpoint }: Track) => furthest - checkpoint <= closeBehind;
    const late = tracks.filter((track) => !isClose(track));
    this.#live = laneOf(tracks.filter(isClose));
    this.#behind = late.length === 0 ? [] : [laneOf(late)];
  }

  /** Starts the rebuilds that are asked for. One that is under way is started again. */
  async #startWanted(): Promise<void> {
    for (const projection of this.#wanted) {
      const { generation, checkpoint } = await this.#options.store.startBuild(projection);
      for (const lane of this.#behind)
        lane.tracks = lane.tracks.filter((track) => track.projection !== projection);
      this.#behind = [
        ...this.#behind.filter(({ tracks }) => tracks.length > 0),
        laneOf([trackOf(projection, generation, checkpoint)]),
      ];
      this.#wanted.delete(projection);
      this.#report();
    }
  }

  /**
   * Folds the next events of the live projections. True: there are no more for now, and what there was is
   * saved.
   */
  async #advance(): Promise<boolean> {
    const live = this.#live;
    const events = await this.#options.log.readLog(live.position, slice);
    await this.#fold(live, events);
    const isLast = events.length < slice;
    if (isLast || isFull(live)) await this.#save(live);
    return isLast;
  }

  /** Follows the log while nothing is behind, until a rebuild is asked for or the log runs far ahead. */
  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#wanted.size > 0 || this.#isStale) return;
    const { log } = this.#options;
    const live = this.#live;
    this.#interrupt = new AbortController();
    const stop = AbortSignal.any([signal, this.#interrupt.signal]);
    for await (const events of log.follow(live.position, { signal: stop, batch: slice })) {
      await this.#fold(live, events);
      await this.#save(live);
      if (events.length === slice && (await log.head()).position - live.position > farAhead) return;
    }
  }

  /** Folds the next events of a lane that is behind; where it has reached the live ones, it joins them. */
  async #catchUp(lane: Lane, signal: AbortSignal): Promise<void> {
    const goal = this.#live.position;
    const events = lane.position < goal ? await this.#options.log.readLog(lane.position, sliceBeside) : [];
    const due = events.filter(({ position }) => position <= goal);
    await this.#fold(lane, due);
    const reached = due.length < sliceBeside;
    if (reached) lane.position = goal;
    if (!reached && !isFull(lane)) return;
    await this.#saveInParts(lane, signal);
    if (signal.aborted) return;
    await this.#save(lane);
    this.#report();
    if (lane.position === this.#live.position) await this.#join(lane);
  }

  /** Saves the documents alone, while the live projections go on. */
  async #saveInParts(lane: Lane, signal: AbortSignal): Promise<void> {
    for (const track of lane.tracks) {
      while (track.changed.size > 0 && !signal.aborted) {
        const documents = [...track.changed.values()].slice(0, savedBeside);
        await this.#options.store.save([batchOf(track, documents, track.checkpoint)]);
        for (const stored of documents) keep(track, stored);
        await this.#advance();
      }
    }
  }

  /** Puts the builds of a lane that has caught up beside the live ones, in the place of older builds. */
  async #join(lane: Lane): Promise<void> {
    await this.#settle(lane);
    const joined = new Set(lane.tracks.map(({ projection }) => projection));
    this.#live.tracks = [
      ...this.#live.tracks.filter(({ projection }) => !joined.has(projection)),
      ...lane.tracks,
    ];
    this.#behind = this.#behind.filter((other) => other !== lane);
    this.#report();
  }

  async #settle(lane: Lane): Promise<void> {
    for (const { projection, generation } of lane.tracks)
      await this.#options.store.activate(projection, generation);
  }

  async #fold(lane: Lane, events: readonly LoggedEvent[]): Promise<void> {
    const groups = byCategory(events);
    for (const track of lane.tracks)
      await this.#foldTrack(track, groups.get(track.projection.category) ?? []);
    lane.position = larger(lane.position, events.at(-1)?.position ?? 0n);
    lane.unsaved += events.length;
  }

  /** Folds events of the track's category. */
  async #foldTrack(track: Track, events: readonly LoggedEvent[]): Promise<void> {
    const { projection, checkpoint, changed, generation } = track;
    const wanted = events.filter(({ position }) => position > checkpoint);
    const keys = wanted.map((event) => projection.key(event));
    const missing = new Set(
      keys.filter((key, index) => recalled(track, key) === undefined && !beginsDocument(key, wanted[index])),
    );
    const loaded =
      missing.size === 0 ? none : await this.#options.store.load(projection, generation, [...missing]);
    wanted.forEach((event, index) => {
      const key = keys[index] ?? '';
      const next = folded(track, key, recalled(track, key) ?? loaded.get(key), event);
      if (next !== null) changed.set(key, next);
    });
  }

  /** Saves what is folded, documents and checkpoint together. */
  async #save(lane: Lane): Promise<void> {
    const { position, tracks } = lane;
    if (tracks.every(({ checkpoint }) => checkpoint >= position)) return;
    await this.#options.store.save(
      tracks.map((track) => batchOf(track, [...track.changed.values()], larger(track.checkpoint, position))),
    );
    this.#failures = 0;
    for (const track of tracks) {
      for (const stored of track.changed.values()) keep(track, stored);
      track.checkpoint = larger(track.checkpoint, position);
    }
    lane.unsaved = 0;
    if (lane === this.#live) this.#options.reports.moved(position);
  }

  #report(down: string | null = null): void {
    const shown = new Map(
      this.#behind.flatMap(({ tracks }) => tracks.map((track) => [track.projection, statusOf(track, false)])),
    );
    for (const track of this.#live.tracks) {
      shown.set(track.projection, {
        ...statusOf(track, true),
        rebuilding: shown.get(track.projection)?.checkpoint ?? null,
      });
    }
    this.#options.reports.status({ down, projections: [...shown.values()] });
  }
}
