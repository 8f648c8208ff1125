import type { Aggregate, Command, DomainEvent, RecordedEvent } from '../../domain/events.js';
import {
  noStream,
  EventStoreUnavailable,
  type EventStore,
  type StreamWrite,
  lastPosition,
} from '../ports/event-store.js';
import type { KeyClaim } from '../ports/idempotency-store.js';
import type { Clock, Entropy } from '../ports/system.js';
import { type Loaded, type Streams, decidedBy } from './streams.js';
import { CommandId, type Milliseconds, type OrganizationId } from '../../domain/ids.js';
import { NamedError } from '../../domain/errors.js';

/** The initiator of a change, and the request. */
export type Initiator = Pick<Command, 'actor' | 'requestId' | 'traceparent'>;

/** A part of the service that acts without a request. */
export const service = (id: string): Initiator => ({ actor: { kind: 'system', id }, requestId: null });

export const newCommand = (
  { clock, entropy }: { readonly clock: Clock; readonly entropy: Entropy },
  { actor, requestId, traceparent }: Initiator,
  org: OrganizationId | null,
): Command => ({
  id: CommandId.parse(entropy.uuid()),
  org,
  actor,
  requestId,
  ...(traceparent !== undefined && { traceparent }),
  at: clock.instant(),
});

/**
 * Whether the command took effect can't be known within this request. The client gets no response, and learns
 * it from a retry with the same key. (docs/architecture.md#unknown-outcomes)
 */
export class OutcomeUnknown extends NamedError {
  constructor(readonly command: CommandId) {
    super('the outcome of an append is unknown');
  }
}

/** The request began too long ago to be carried out; it wrote nothing. */
export class RequestOverdue extends NamedError {}

/** Other writers were always faster; this command wrote nothing. */
export class TooContended extends NamedError {}

/** Whether the same work may succeed later, as it is. */
export const isPassing = (error: unknown): boolean =>
  error instanceof EventStoreUnavailable || error instanceof OutcomeUnknown || error instanceof TooContended;

/** How long an attempt is repeated while other writers are faster. */
const contentionTimeout: Milliseconds = 5_000;

const firstPause: Milliseconds = 4;
const maxPause: Milliseconds = 200;

/**
 * Calls `attempt` until it returns a value; null means that another writer was faster, or that the outcome is
 * unknown. The first retry follows at once, later ones after a growing pause with jitter. Throws TooContended
 * when the second attempt or a later one ends after 5 s or more, and the errors of `attempt`.
 */
export const retry = async <T>(
  { clock, entropy }: { readonly clock: Clock; readonly entropy: Entropy },
  attempt: () => Promise<T | null>,
): Promise<T> => {
  const deadline = clock.monotonic() + contentionTimeout;
  const first = await attempt();
  if (first !== null) return first;
  for (let pause = firstPause; ; pause = Math.min(pause * 2, maxPause)) {
    const result = await attempt();
    if (result !== null) return result;
    if (clock.monotonic() >= deadline) throw new TooContended('other writers kept changing the same stream');
    await clock.sleep(entropy.below(pause) + 1);
  }
};

export interface WriteDeps {
  readonly store: EventStore;
  readonly streams: Streams;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export type Decide<State, Event> = (state: State) => readonly Event[];

export interface Executed<State, Event> {
  readonly events: readonly Event[];
  /** After the events. */
  readonly state: State;
  /** A position at or after the state's last event, also if none was decided; null if there is none. */
  readonly position: bigint | null;
}

/**
 * Loads an aggregate, decides, and appends the events if there are any; after a conflict it starts over.
 * The events are from the last decision. Throws the decision's errors, EventStoreUnavailable and TooContended
 * if nothing was written, OutcomeUnknown.
 */
export const execute = <State, Event extends DomainEvent>(
  deps: WriteDeps,
  aggregate: Aggregate<State, Event>,
  id: string,
  command: Command,
  decide: Decide<State, Event>,
): Promise<Executed<State, Event>> =>
  retry(deps, async () => decideOn(deps, aggregate, await deps.streams.load(aggregate, id), command, decide));

/** Decides on a state and appends the events; null after a conflict. */
const decideOn = async <State, Event extends DomainEvent>(
  deps: WriteDeps,
  aggregate: Aggregate<State, Event>,
  loaded: Loaded<State>,
  command: Command,
  decide: Decide<State, Event>,
): Promise<Executed<State, Event> | null> => {
  const events = decide(loaded.state);
  if (events.length === 0)
    return { events, state: loaded.state, position: await positionOfLast(deps, loaded) };
  const appended = await appendTo(deps, aggregate, loaded, command, events);
  return appended && { events, ...appended };
};

/**
 * `recorded`: events that were in the stream already, so that nothing was decided; `position` is then their
 * own.
 */
export interface ExecutedOnce<State, Event> extends Executed<State, Event> {
  readonly recorded: RecordedEvent | null;
}

/**
 * As `execute`, for a command that may come again, even while it is under way elsewhere: before each decision
 * it searches the stream for the command's events, or for a command that `follow`s it, which it must not
 * undo. (docs/money.md, rule 2: look for your own cause before you repeat)
 */
export const executeOnce = <State, Event extends DomainEvent>(
  deps: WriteDeps,
  aggregate: Aggregate<State, Event>,
  id: string,
  command: Command,
  decide: Decide<State, Event>,
  follow: readonly Command[] = [],
): Promise<ExecutedOnce<State, Event>> => {
  const causes = new Set<string>([command, ...follow].map((each) => each.id));
  return retry(deps, async () => {
    const found: RecordedEvent[] = [];
    const loaded = await deps.streams.loadAfter(aggregate, id, noStream, (event) => {
      if (causes.has(event.metadata.causationId)) found.push(event);
    });
    const [recorded = null] = found;
    if (recorded !== null) {
      const position = await positionOf(deps, recorded);
      return { events: [], state: loaded.state, position, recorded };
    }
    const executed = await decideOn(deps, aggregate, loaded, command, decide);
    return executed && { ...executed, recorded };
  });
};

/**
 * Appends to one stream: returns the state and the position after it, or null after a conflict. Throws
 * EventStoreUnavailable if nothing was written, OutcomeUnknown.
 */
export const appendTo = async <State, Event extends DomainEvent>(
  deps: WriteDeps,
  aggregate: Aggregate<State, Event>,
  loaded: Loaded<State>,
  command: Command,
  events: readonly Event[],
): Promise<{ readonly state: State; readonly position: bigint } | null> => {
  const { streams } = deps;
  const decided = decidedBy(command, events);
  const write = streams.write(aggregate, loaded, decided);
  const position = await appendWrites(deps, [write], command);
  if (position === null) return null;
  return { state: streams.appended(aggregate, loaded, decided, write, position).state, position };
};

/**
 * Appends writes until their outcome is known: the position of their last event, or null after a conflict.
 * They are the same writes on every try, never made again: their salts are random, and a repeated append
 * keeps the bytes that came first. Several writes, and a claim that they complete, are for a store that
 * commits them together. Throws EventStoreUnavailable if nothing was written, OutcomeUnknown.
 */
export const appendWrites = async (
  deps: WriteDeps,
  writes: readonly StreamWrite[],
  command: Command,
  completing: KeyClaim | null = null,
): Promise<bigint | null> => {
  let mayBeWritten = false;
  try {
    const { position } = await retry(deps, async () => {
      const outcomes = await deps.store.append(writes, completing === null ? [] : [completing]);
      const [outcome] = outcomes;
      if (outcome?.kind === 'appended') return { position: lastPosition(outcome.position, outcomes) };
      if (outcomes.some(({ kind }) => kind === 'conflict')) return { position: null };
      mayBeWritten = true;
      return null;
    });
    return position;
  } catch (error) {
    throw mayBeWritten ? new OutcomeUnknown(command.id) : error;
  }
};

/**
 * The position of an event that was read from its stream; if the engine doesn't tell it there, the head of
 * the log, which is at or after it.
 */
export const positionOf = async (
  { store }: Pick<WriteDeps, 'store'>,
  { position }: Pick<RecordedEvent, 'position'>,
): Promise<bigint> => position ?? (await store.head()).position;

/** The same of a state's last event; null if there is none. */
export const positionOfLast = async (
  deps: Pick<WriteDeps, 'store'>,
  loaded: Pick<Loaded<unknown>, 'position' | 'revision'>,
): Promise<bigint | null> => (loaded.revision === noStream ? null : positionOf(deps, loaded));
