import { parseEvent, type Aggregate, type DomainEvent, type LoggedEvent } from '../domain/events.js';
import { idOf, type Category } from '../domain/ids.js';

/** An event with typed data, and its envelope. */
export type Projected<Event extends DomainEvent> = Event & {
  readonly envelope: Omit<LoggedEvent, 'type' | 'data'>;
};

/**
 * A read model: a pure fold of one category's events into one document per key. A new `version` is built
 * beside the old one, and replaces it once it has caught up.
 */
export interface Projection<Document> {
  readonly name: string;
  readonly version: number;
  readonly category: Category;
  /** Types of events that change no document and needn't be folded. Unknown types are not among them. */
  readonly passesOver?: ReadonlySet<string>;
  key(event: LoggedEvent): string;
  /** Null while there is no document. A document never becomes null again. */
  evolve(document: Document | null, event: LoggedEvent): Document | null;
  /** The organization that owns the document; null for the public catalogue. */
  org(document: Document): string | null;
  /** Fields that lists filter by exact value. Null is not indexed. */
  readonly indexes: Readonly<Record<string, Field<Document>>>;
  /**
   * Combinations of these fields by which documents of all organizations together are listed. Each has an
   * index of its own.
   */
  readonly across?: readonly (readonly string[])[];
  /**
   * Each document is made by one event alone, which gives it its key: none has to be read before it is
   * folded.
   */
  readonly oneEventEach?: true;
  /** The document's due date, such as a day, as a text to sort by; null if it waits for nothing. */
  agenda?(document: Document): string | null;
}

/** The type of a method, so that any projection can be used as a `Projection<unknown>`. */
type Field<Document> = { of(document: Document): string | null }['of'];

/** The events that were parsed last: several projections fold the same ones, one after the other. */
const recentlyParsed = new Map<LoggedEvent, object>();
/** More than a projector folds at a time. */
const maxRecentlyParsed = 1_000;

/**
 * Uses Object.assign because a spread with more fields takes ten times as long on Node 20, and this runs for
 * every event of a rebuild.
 */
const projected = <State, Event extends DomainEvent>(
  from: Aggregate<State, Event>,
  event: LoggedEvent,
): Projected<Event> => {
  const known = recentlyParsed.get(event);
  if (known !== undefined) return known as Projected<Event>;
  const parsed = Object.assign(parseEvent(from, event), { envelope: event });
  if (recentlyParsed.size >= maxRecentlyParsed) recentlyParsed.clear();
  recentlyParsed.set(event, parsed);
  return parsed;
};

type Derived = 'category' | 'passesOver' | 'evolve';
type Optional = 'key' | 'indexes';

/**
 * Connects a fold with the aggregate whose events it folds: all of them, or those of some `types`. The fold
 * gets them parsed. The default of the key is the id in the stream's name.
 */
export const projection = <Document, State, Event extends DomainEvent>({
  from,
  types,
  evolve,
  ...rest
}: Omit<Projection<Document>, Derived | Optional> &
  Partial<Pick<Projection<Document>, Optional>> & {
    readonly from: Aggregate<State, Event>;
    readonly types?: ReadonlySet<string>;
    readonly evolve: (document: Document | null, event: Projected<Event>) => Document | null;
  }): Projection<Document> => ({
  key: ({ stream }) => idOf(stream),
  indexes: {},
  ...rest,
  category: from.category,
  ...(types !== undefined && {
    passesOver: new Set(Object.keys(from.schemas).filter((type) => !types.has(type))),
  }),
  evolve: (document, event) => evolve(document, projected(from, event)),
});
