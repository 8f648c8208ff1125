import { z } from 'zod';
import { FinalError } from './errors.js';
import {
  CommandId,
  type Category,
  type Instant,
  type OrganizationId,
  type StreamName,
  type Uuid,
} from './ids.js';

type Shapes = Readonly<Record<string, z.ZodRawShape>>;

/** The event types of one aggregate: their wire contract, parsed on read. */
export type EventSchemas<S extends Shapes> = { readonly [Type in keyof S]: z.ZodObject<S[Type]> };

export const events = <S extends Shapes>(shapes: S): EventSchemas<S> =>
  Object.fromEntries(
    Object.entries(shapes).map(([type, shape]) => [type, z.object(shape)]),
  ) as EventSchemas<S>;

/** The union of the events that `events({...})` describes: `{ type, data }`. */
export type EventOf<Schemas extends Readonly<Record<string, z.ZodObject>>> = {
  [Type in keyof Schemas & string]: { readonly type: Type; readonly data: z.infer<Schemas[Type]> };
}[keyof Schemas & string];

export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** The types of events that erase the personal data of the events before them in their stream. */
export const erasures: ReadonlySet<string> = new Set([
  'CardErased',
  'ContactErased',
  'ContactDeleted',
  'DoNotMailRemoved',
]);

/**
 * The cause of an event: an API key or a hook (with its id), a person who is signed in (with the id of the
 * account), the operator, or the service itself.
 */
export const Actor = z.object({
  kind: z.enum(['key', 'hook', 'member', 'operator', 'system']),
  id: z.string().nullable(),
});
export type Actor = z.infer<typeof Actor>;

/** Recorded beside an event's data. `hash` chains the event to the one before it in its stream. */
export interface EventMetadata {
  readonly org: OrganizationId | null;
  readonly actor: Actor;
  readonly requestId: string | null;
  /** The place in a trace (W3C Trace Context) of the request that caused the event; absent if none did. */
  readonly traceparent?: string;
  readonly correlationId: string;
  readonly causationId: string;
  readonly schemaVersion: number;
  readonly occurredAt: Instant;
  /** The person whose data the event holds, and the key that it is sealed with; null if it holds none. */
  readonly subject: string | null;
  readonly keyId: string | null;
  /** The version of the hash chain. */
  readonly chain: 2;
  /** Represents the personal data in the hash: the digest of its sealed text. */
  readonly personal: { readonly digest: string } | null;
  readonly hash: string;
  /** Proves, to a holder of the key, that the service wrote the event; absent if another program did. */
  readonly mac?: string;
}

/**
 * An event in its stream. Revisions count from 0. `position` is null if the engine doesn't give positions
 * when it reads a stream.
 */
export interface RecordedEvent<Event extends DomainEvent = DomainEvent> {
  readonly id: Uuid;
  readonly stream: StreamName;
  readonly revision: number;
  readonly position: bigint | null;
  readonly type: Event['type'];
  readonly data: Event['data'];
  readonly metadata: EventMetadata;
}

/** An event in the log of all streams. */
export interface LoggedEvent<Event extends DomainEvent = DomainEvent> extends RecordedEvent<Event> {
  readonly position: bigint;
}

/** One aggregate: its stream names, its events, and the state that they add up to. */
export interface Aggregate<State, Event extends DomainEvent> {
  readonly category: Category;
  readonly schemas: Readonly<Record<Event['type'], z.ZodObject>>;
  readonly initial: State;
  readonly evolve: (state: State, event: Event) => State;
  /**
   * Each event carries the whole state, so that the last one is enough to load it, however long the stream
   * is. `evolve` then ignores the state before.
   */
  readonly lastEventIsState?: true;
  /** Raised from 1 when the shape of an event changes; `upcast` lifts older data to today's shape. */
  readonly schemaVersion?: number;
  readonly upcast?: (type: string, data: object, version: number) => object;
}

export const versionOf = ({
  schemaVersion = 1,
}: Pick<Aggregate<never, DomainEvent>, 'schemaVersion'>): number => schemaVersion;

/** Whether the schemas of an aggregate's events have a part `personal`. */
export const holdsPersonal = ({ schemas }: Pick<Aggregate<never, DomainEvent>, 'schemas'>): boolean =>
  Object.values(schemas).some(({ shape }) => 'personal' in shape);

/** A newer version of the service wrote the event, and this one can't interpret it. */
export class UnknownEvent extends FinalError {
  constructor({ stream, revision, type, metadata }: RecordedEvent, known: number) {
    super(
      `${stream}@${revision} holds an event ${type} of schema version ${metadata.schemaVersion}, which this version of the service does not know: ` +
        `in such streams it knows schema version ${known}. Start the version of the service that wrote the event, or a later one.`,
    );
  }
}

/** The schema of a stored event. Throws UnknownEvent if this version of the service doesn't know its type. */
export const schemaOf = <State, Event extends DomainEvent>(
  aggregate: Aggregate<State, Event>,
  stored: RecordedEvent,
): z.ZodObject => {
  const schema = (aggregate.schemas as Readonly<Record<string, z.ZodObject | undefined>>)[stored.type];
  if (schema === undefined) throw new UnknownEvent(stored, versionOf(aggregate));
  return schema;
};

/**
 * The data with `personal: null` where the event was recorded with personal data and has none any more: it
 * was erased, or lost.
 */
const withPersonal = ({ data, metadata }: RecordedEvent): object =>
  metadata.personal === null || ('personal' in data && data.personal !== undefined)
    ? data
    : { ...data, personal: null };

/**
 * Parses a stored event into today's shape. Throws UnknownEvent, and a ZodError if the data isn't what the
 * aggregate wrote.
 */
export const parseEvent = <State, Event extends DomainEvent>(
  aggregate: Aggregate<State, Event>,
  stored: RecordedEvent,
): Event => {
  const schema = schemaOf(aggregate, stored);
  const { schemaVersion } = stored.metadata;
  const whole = withPersonal(stored);
  const data =
    aggregate.upcast && schemaVersion < versionOf(aggregate)
      ? aggregate.upcast(stored.type, whole, schemaVersion)
      : whole;
  const parsed = schema.safeParse(data);
  if (parsed.success) return { type: stored.type, data: parsed.data } as unknown as Event;
  throw schemaVersion > versionOf(aggregate) ? new UnknownEvent(stored, versionOf(aggregate)) : parsed.error;
};

/**
 * The slot of a card's stream that a spend pays for, and the command that will fill it. (docs/money.md, rule
 * 1: a cause moves money once)
 */
export const Slot = z.object({ card: z.string(), revision: z.int().min(0), command: CommandId });
export type Slot = z.infer<typeof Slot>;

/** A command's envelope, besides its intent. Event ids are derived from `id`. */
export interface Command {
  readonly id: CommandId;
  readonly org: OrganizationId | null;
  readonly actor: Actor;
  readonly requestId: string | null;
  /** The place of the request in a trace; absent if there is none. */
  readonly traceparent?: string;
  readonly at: Instant;
}
