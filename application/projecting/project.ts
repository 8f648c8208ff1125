import { LazyLru } from '../memory/lazy-lru.js';
import { FinalError, messageOf } from '../../domain/errors.js';
import type { LoggedEvent } from '../../domain/events.js';
import { categoryOf, idOf, type Milliseconds } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { larger, markOf, type EventMark, type LogReader } from '../ports/event-store.js';
import type { BuildState, ProjectedBatch, ProjectionStore, Stored } from '../ports/read-models.js';
import type { Clock } from '../ports/system.js';
import { assertSameLog } from '../log/same-log.js';
import type { ProjectionStatus, ProjectorReports } from './projection-board.js';

type Batch = readonly LoggedEvent[];

/** The longest that a spend waits for its card: many times an append. */
const maxWait: Milliseconds = 100;

const isSpend = ({ type }: LoggedEvent): boolean => type === 'CreditSpent';

/**
 * The same events in larger batches: spends alone wait for what follows them, the event of their card as a
 * rule, so that one save has both. A reader waits for the card, and for no spend.
 */
export async function* withCards(
  batches: AsyncIterable<Batch>,
  clock: Clock,
): AsyncGenerator<Batch, void, undefined> {
  const source = batches[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<Batch>> => {
    const asked = source.next();
    asked.catch(() => undefined);
    return asked;
  };
  let held: Batch = [];
  let due: Milliseconds = 0;
  const overdue = (): Promise<null> => clock.sleep(due - clock.monotonic()).then(() => null);
  let next = ask();
  try {
    for (;;) {
      const came = await (held.length === 0 ? next : Promise.race([next, overdue()]));
      if (came?.done === true) break;
      if (held.length === 0) due = clock.monotonic() + maxWait;
      if (came !== null) held = [...held, ...came.value];
      if (came === null || !held.every(isSpend)) {
        yield held;
        held = [];
      }
      if (came !== null) next = ask();
    }
    if (held.length > 0) yield held;
  } finally {
    // One that waits for events ends with the reader's signal, not now.
    source.return?.().catch(() => undefined);
  }
}

export interface ProjectorOptions {
  readonly projections: readonly Projection<unknown>[];
  readonly log: LogReader;
  readonly store: ProjectionStore;
  readonly clock: Clock;
  readonly reports: ProjectorReports;
  /** Called with an error that a retry can't mend. */
  readonly fail: (error: FinalError) => void;
}

/**
 * How many events to fold at a time; fewer for builds that catch up, because the live ones wait meanwhile.
 */
const eventsAtOnce = 1_000;
const catchUpEvents = 500;
/**
 * How many events may be folded, or documents changed, before they are saved. While the log is far ahead, a
 * document that many events change is thus written once.
 */
const maxUnsavedEvents = 50_000;
const maxUnsavedDocuments = 10_000;
/**
 * How many documents of a build that catches up are saved at a time, because the live ones wait meanwhile.
 */
const catchUpDocuments = 500;
/** How many documents of a build are kept in memory. */
const maxDocumentsInMemory = 10_000;
/** Projections that lack more events than this catch up separately, so that the others need not wait. */
const maxLag = 5_000;
/** After this many full batches in a row, changes are gathered in memory instead of being saved at once. */
const fullBatches = 20;

const firstPause: Milliseconds = 100;
const maxPause: Milliseconds = 5_000;

/**
 * One build of a projection, with the documents in memory, and the ones that are changed but not saved yet.
 */
interface OpenBuild {
  readonly projection: Projection<unknown>;
  readonly generation: number;
  /** No reader sees it. */
  hidden: boolean;
  /** Everything up to here is folded and saved. */
  checkpoint: bigint;
  /** The event at the checkpoint. */
  event: EventMark | undefined;
  readonly known: LazyLru<string, Stored<unknown>>;
  readonly changed: Map<string, Stored<unknown>>;
}

/** `isBegun`: its build was started and is under way. `done`: to be called once that is active. */
interface Rebuild {
  isBegun: boolean;
  readonly done: readonly (() => void)[];
}

/** Builds that go through the log together. */
interface BuildGroup {
  builds: readonly OpenBuild[];
  /** Everything up to here is folded. */
  position: bigint;
  /** The event at the position. */
  event: EventMark | undefined;
  unsaved: number;
}

const openBuildOf = (projection: Projection<unknown>, state: BuildState): OpenBuild => ({
  projection,
  ...state,
  event: state.event,
  hidden: state.hidden === true,
  known: new LazyLru(maxDocumentsInMemory),
  changed: new Map(),
});

const groupOf = (builds: readonly OpenBuild[]): BuildGroup => {
  const [first] = builds.toSorted((a, b) => (a.checkpoint < b.checkpoint ? -1 : 1));
  return { builds, position: first?.checkpoint ?? 0n, event: first?.event, unsaved: 0 };
};

/** Whether folded changes must be saved before more is folded. */
const isFull = ({ unsaved, builds }: BuildGroup): boolean =>
  unsaved >= maxUnsavedEvents || builds.some(({ changed }) => changed.size >= maxUnsavedDocuments);

const noDocuments: ReadonlyMap<string, Stored<unknown>> = new Map();

/** A document that no other event changes need not be kept. */
const markSaved = ({ projection, known, changed }: OpenBuild, stored: Stored<unknown>): void => {
  if (projection.oneEventEach !== true) known.set(stored.key, stored);
  changed.delete(stored.key);
};

const inMemory = ({ known, changed }: OpenBuild, key: string): Stored<unknown> | undefined =>
  changed.get(key) ?? known.get(key);

/** The document after the event; null if the event changes nothing, or the document includes it already. */
const foldEvent = (
  { projection }: OpenBuild,
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
 * A document that is named after its stream does not exist before the stream's first event: no need to load
 * it.
 */
const beginsDocument = (key: string, event: LoggedEvent | undefined): boolean =>
  event?.revision === 0 && key === idOf(event.stream);

const batchOf = (
  { projection, generation }: OpenBuild,
  documents: readonly Stored<unknown>[],
  { checkpoint, event }: Pick<OpenBuild, 'checkpoint' | 'event'>,
): ProjectedBatch => ({
  projection,
  generation,
  documents,
  checkpoint,
  ...(event !== undefined && { event }),
});

/** How far a build has come once all that its group has folded is saved. */
const savedPlace = (
  build: OpenBuild,
  { position, event }: BuildGroup,
): Pick<OpenBuild, 'checkpoint' | 'event'> =>
  build.checkpoint >= position ? build : { checkpoint: position, event };

/**
 * Folds the log into the documents of every projection, in order. One projector per store is enough; a second
 * one would do no harm, only double work. Builds that are far behind the others, such as rebuilds and new
 * versions, catch up beside the live ones and then take their place. Whatever fails is tried again from the
 * last checkpoint, after 0.1 to 5 s.
 */
export class Projector {
  /** The rebuilds that were requested and whose builds are not active yet. */
  readonly #rebuilds = new Map<Projection<unknown>, Rebuild>();
  #live = groupOf([]);
  #catchingUp: readonly BuildGroup[] = [];
  #interrupt = new AbortController();
  #failures = 0;
  #isStale = false;
  /** Whether the last report said why it does not work. */
  #isDown = false;

  constructor(private readonly options: ProjectorOptions) {}

  /**
   * Rebuilds a projection from the first event, and then puts the new build in the place of the old one: the
   * promise resolves then. Returns null if there is no projection of that name.
   */
  rebuild(name: string): Promise<void> | null {
    const projection = this.options.projections.find((known) => known.name === name);
    if (projection === undefined) return null;
    return new Promise((resolve) => {
      const earlier = this.#rebuilds.get(projection)?.done ?? [];
      this.#rebuilds.set(projection, { isBegun: false, done: [...earlier, resolve] });
      this.#interrupt.abort();
    });
  }

  /** Starts again from the checkpoints in the store, because the store has lost its content. */
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
        if (error instanceof FinalError) this.options.fail(error);
        await this.options.clock.sleep(Math.min(firstPause * 2 ** this.#failures++, maxPause), signal);
      }
    }
  }

  async #drive(signal: AbortSignal): Promise<void> {
    this.#isStale = false;
    await this.#open();
    // It may fail again in the same way: it is reported as working once it does.
    if (this.#failures === 0) this.#report();
    let activated = false;
    while (!signal.aborted && !this.#isStale) {
      await this.#startRequested();
      const isAtEnd = await this.#advance();
      this.#failures = 0;
      if (this.#isDown) this.#report();
      if (!isAtEnd) continue;
      if (!activated) {
        const wasHidden = this.#live.builds.some(({ hidden }) => hidden);
        await this.#activate(this.#live);
        if (wasHidden) this.#report();
      }
      activated = true;
      for (const group of this.#catchingUp) await this.#catchUp(group, signal);
      if (this.#catchingUp.length === 0) await this.#follow(signal);
    }
    if (!this.#isStale) await this.#save(this.#live);
  }

  async #open(): Promise<void> {
    const { projections, store, log } = this.options;
    const builds: OpenBuild[] = [];
    for (const projection of projections) {
      const state = await store.active(projection);
      await assertSameLog(log, `The projection ${projection.name}`, {
        ...state,
        position: state.checkpoint,
      });
      builds.push(openBuildOf(projection, state));
    }
    const furthest = builds.reduce((most, { checkpoint }) => larger(most, checkpoint), 0n);
    const late: OpenBuild[] = [];
    for (const build of builds)
      if (build.hidden || (await this.#isLate(build.checkpoint, furthest))) late.push(build);
    const live = builds.filter((build) => !late.includes(build));
    // Without one to catch up with, the late builds go on as the live ones.
    this.#live = groupOf(live.length === 0 ? late : live);
    this.#catchingUp = late.length === 0 || live.length === 0 ? [] : [groupOf(late)];
    for (const rebuild of this.#rebuilds.values()) rebuild.isBegun = false;
  }

  /** Whether more than a few events lie between a checkpoint and the furthest one. */
  async #isLate(checkpoint: bigint, furthest: bigint): Promise<boolean> {
    if (checkpoint === furthest) return false;
    const between = await this.options.log.readLog(checkpoint, maxLag + 1);
    return between.length > maxLag && (between.at(-1)?.position ?? furthest) <= furthest;
  }

  /** Starts the rebuilds that were requested. One that is under way starts again. */
  async #startRequested(): Promise<void> {
    for (const [projection, rebuild] of this.#rebuilds) {
      if (rebuild.isBegun) continue;
      rebuild.isBegun = true;
      const begun = await this.options.store.startBuild(projection);
      // It is gone now if it was not active yet, as all builds of a new version are.
      this.#live.builds = this.#live.builds.filter(
        (build) => build.projection !== projection || !build.hidden,
      );
      for (const group of this.#catchingUp)
        group.builds = group.builds.filter((build) => build.projection !== projection);
      this.#catchingUp = [
        ...this.#catchingUp.filter(({ builds }) => builds.length > 0),
        groupOf([openBuildOf(projection, begun)]),
      ];
      this.#report();
    }
  }

  /**
   * Folds the next events for the live projections. Returns true if there are no more for now and all is
   * saved.
   */
  async #advance(): Promise<boolean> {
    const live = this.#live;
    const events = await this.options.log.readLog(live.position, eventsAtOnce);
    await this.#fold(live, events);
    const isLast = events.length < eventsAtOnce;
    if (isLast || isFull(live)) await this.#save(live);
    return isLast;
  }

  /** Follows the log while no build catches up, until a rebuild is requested or the log runs far ahead. */
  async #follow(signal: AbortSignal): Promise<void> {
    if ([...this.#rebuilds.values()].some(({ isBegun }) => !isBegun) || this.#isStale) return;
    const { log, clock } = this.options;
    const live = this.#live;
    this.#interrupt = new AbortController();
    const stop = AbortSignal.any([signal, this.#interrupt.signal]);
    const batches = log.follow(live.position, { signal: stop, batch: eventsAtOnce });
    let full = 0;
    try {
      for await (const events of withCards(batches, clock)) {
        await this.#fold(live, events);
        await this.#save(live);
        full = events.length >= eventsAtOnce ? full + 1 : 0;
        if (full === fullBatches) return;
      }
    } finally {
      this.#interrupt.abort();
    }
  }

  /** Folds the next events for builds that catch up. Once they have reached the live ones, they join them. */
  async #catchUp(group: BuildGroup, signal: AbortSignal): Promise<void> {
    const goal = this.#live.position;
    const events = group.position < goal ? await this.options.log.readLog(group.position, catchUpEvents) : [];
    const due = events.filter(({ position }) => position <= goal);
    await this.#fold(group, due);
    const reached = due.length < catchUpEvents;
    if (reached) {
      group.position = goal;
      group.event = this.#live.event;
    }
    if (!reached && !isFull(group)) return;
    await this.#saveInParts(group, signal);
    if (signal.aborted) return;
    await this.#save(group);
    this.#report();
    if (group.position === this.#live.position) await this.#join(group);
  }

  /** Saves the changed documents in parts, with the live projections going on in between. */
  async #saveInParts(group: BuildGroup, signal: AbortSignal): Promise<void> {
    for (const build of group.builds) {
      while (build.changed.size > 0 && !signal.aborted) {
        const documents = [...build.changed.values()].slice(0, catchUpDocuments);
        await this.options.store.save([batchOf(build, documents, build)]);
        for (const stored of documents) markSaved(build, stored);
        // After the last part they would move on once more, and the group would never be where they are.
        if (build.changed.size > 0) await this.#advance();
      }
    }
  }

  /**
   * Activates the builds of a group that has caught up: they are live from now on, in the place of older
   * builds.
   */
  async #join(group: BuildGroup): Promise<void> {
    await this.#activate(group);
    const joined = new Set(group.builds.map(({ projection }) => projection));
    const stay = this.#live.builds.filter(({ projection }) => !joined.has(projection));
    this.#live.builds = [...stay, ...group.builds];
    this.#catchingUp = this.#catchingUp.filter((other) => other !== group);
    for (const projection of joined) this.#endRebuild(projection);
    this.#report();
  }

  /** Unless it was requested again meanwhile. */
  #endRebuild(projection: Projection<unknown>): void {
    const rebuild = this.#rebuilds.get(projection);
    if (rebuild?.isBegun !== true) return;
    this.#rebuilds.delete(projection);
    for (const done of rebuild.done) done();
  }

  async #activate(group: BuildGroup): Promise<void> {
    await Promise.all(
      group.builds.map(async (build) => {
        await this.options.store.activate(build.projection, build.generation);
        build.hidden = false;
      }),
    );
  }

  async #fold(group: BuildGroup, events: readonly LoggedEvent[]): Promise<void> {
    const eventsOf = byCategory(events);
    for (const build of group.builds)
      await this.#foldInto(build, eventsOf.get(build.projection.category) ?? []);
    const last = events.at(-1);
    if (last !== undefined && last.position > group.position) {
      group.position = last.position;
      group.event = markOf(last);
    }
    group.unsaved += events.length;
  }

  /** Folds events of the projection's category into one build. */
  async #foldInto(build: OpenBuild, events: readonly LoggedEvent[]): Promise<void> {
    const { projection, checkpoint, changed, generation } = build;
    const wanted = events.filter(
      ({ position, type }) => position > checkpoint && projection.passesOver?.has(type) !== true,
    );
    const keys = wanted.map((event) => projection.key(event));
    const missing = new Set(
      projection.oneEventEach === true
        ? []
        : keys.filter(
            (key, index) => inMemory(build, key) === undefined && !beginsDocument(key, wanted[index]),
          ),
    );
    const loaded =
      missing.size === 0 ? noDocuments : await this.options.store.load(projection, generation, [...missing]);
    wanted.forEach((event, index) => {
      const key = keys[index] ?? '';
      const next = foldEvent(build, key, inMemory(build, key) ?? loaded.get(key), event);
      if (next !== null) changed.set(key, next);
    });
  }

  /** Saves documents and checkpoints of folded events. */
  async #save(group: BuildGroup): Promise<void> {
    const { position, builds } = group;
    if (builds.every(({ checkpoint }) => checkpoint >= position)) return;
    await this.options.store.save(
      builds.map((build) => batchOf(build, [...build.changed.values()], savedPlace(build, group))),
    );
    this.#failures = 0;
    for (const build of builds) {
      for (const stored of build.changed.values()) markSaved(build, stored);
      ({ checkpoint: build.checkpoint, event: build.event } = savedPlace(build, group));
    }
    group.unsaved = 0;
    // Readers see none of the builds that are not active yet.
    if (group === this.#live && builds.some(({ hidden }) => !hidden)) this.options.reports.moved(position);
  }

  #report(down: string | null = null): void {
    this.#isDown = down !== null;
    const shown = new Map<string, ProjectionStatus>();
    for (const { projection, checkpoint, hidden } of this.#catchingUp.flatMap(({ builds }) => builds)) {
      const rebuilding = hidden ? checkpoint : null;
      shown.set(projection.name, { name: projection.name, checkpoint, live: false, rebuilding });
    }
    for (const { projection, checkpoint, hidden } of this.#live.builds) {
      const rebuilding = hidden ? checkpoint : (shown.get(projection.name)?.checkpoint ?? null);
      shown.set(projection.name, { name: projection.name, checkpoint, live: !hidden, rebuilding });
    }
    this.options.reports.status({ down, projections: [...shown.values()] });
  }
}
