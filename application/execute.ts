import type { Aggregate, Command, DomainEvent, RecordedEvent } from '../domain/events.js';
import type { Milliseconds } from '../domain/ids.js';
import { OutcomeUnknown, TooContended } from './outcome.js';
import type { EventStore, StreamWrite } from './ports/event-store.js';
import type { Clock, Entropy } from './ports/system.js';
import type { Loaded, Streams } from './streams.js';

export interface WriteDeps {
  readonly store: EventStore;
  readonly streams: Streams;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** How long conflicts are met with another try. */
export const contentionBound: Milliseconds = 5_000;

export interface Executed<State, Event> {
  readonly state: State;
  /** Empty where there was nothing to do. */
  readonly events: readonly Event[];
  /** The position of the last event, or null where nothing was written. */
  readonly position: bigint | null;
}

/**
 * Loads an aggregate, decides, and appends what was decided; a conflict loads and decides again.
 * Throws what the decision throws, EventStoreUnavailable and TooContended where nothing was written,
 * OutcomeUnknown.
 */
export const execute = async <State, Event extends DomainEvent>(
  deps: WriteDeps,
  aggregate: Aggregate<State, Event>,
  id: string,
  command: Command,
  decide: (state: State) => readonly Event[],
): Promise<Executed<State, Event>> => {
  const retry = retrying(deps.clock, deps.entropy);
  for (;;) {
    const loaded = await deps.streams.load(aggregate, id);
    const events = decide(loaded.state);
    if (events.length === 0) return { state: loaded.state, events, position: null };
    const done = await appendTo(deps, aggregate, loaded, command, events);
    if (done !== null) return { state: done.loaded.state, events, position: done.position };
    await retry();
  }
};

/**
 * Appends to one stream: the state and the position after it, or null on a conflict. Throws
 * EventStoreUnavailable where nothing was written, OutcomeUnknown.
 */
export const appendTo = async <State, Event extends DomainEvent>(
  deps: WriteDeps,
  aggregate: Aggregate<State, Event>,
  loaded: Loaded<State>,
  command: Command,
  events: readonly Event[],
): Promise<{ readonly loaded: Loaded<State>; readonly position: bigint } | null> => {
  const { streams } = deps;
  const decided = events.map((event) => ({ event, command }));
  const write = streams.write(aggregate, loaded, decided);
  const position = await appendWrite(deps, write, command);
  return position === null ? null : { loaded: streams.appended(aggregate, loaded, decided, write), position };
};

/**
 * Appends one write until its outcome is known: the position of its last event, or null on a conflict. It is
 * the same write on every try, never made anew: its salts are random, and an append that is repeated keeps
 * the bytes that came first. Throws EventStoreUnavailable where nothing was written, OutcomeUnknown.
 */
export const appendWrite = async (
  { store, clock, entropy }: WriteDeps,
  write: StreamWrite,
  command: Command,
): Promise<bigint | null> => {
  const retry = retrying(clock, entropy);
  let doubtful = false;
  try {
    for (;;) {
      const [outcome] = await store.append([write]);
      if (outcome?.kind === 'appended') return outcome.position;
      if (outcome?.kind === 'conflict') return null;
      doubtful = true;
      await retry();
    }
  } catch (error) {
    throw doubtful ? new OutcomeUnknown(command.id) : error;
  }
};

/**
 * A position at or behind an event that was read from its stream, where some engines do not tell it: then the
 * head of the log.
 */
export const positionOf = async (
  { store }: Pick<WriteDeps, 'store'>,
  { position }: RecordedEvent,
): Promise<bigint> => position ?? (await store.head()).position;

/** A pause with jitter before the next try, growing; throws TooContended past the bound. */
export const retrying = (clock: Clock, entropy: Entropy): (() => Promise<void>) => {
  const until = clock.monotonic() + contentionBound;
  let pause = 0;
  return async () => {
    if (clock.monotonic() >= until) throw new TooContended('other writers kept getting in the way');
    if (pause > 0) await clock.sleep(entropy.below(pause) + 1);
    pause = Math.min(pause === 0 ? 4 : pause * 2, 200);
  };
};
