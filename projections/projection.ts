import { parseEvent, type Aggregate, type DomainEvent, type LoggedEvent } from '../domain/events.js';
import type { Category } from '../domain/ids.js';

/** An event as a projection sees it: typed data, and the envelope. */
export type Projected<Event extends DomainEvent> = Event & {
  readonly envelope: Omit<LoggedEvent, 'type' | 'data'>;
};

/**
 * A read model as a pure fold over the events of one category: one document per key.
 * A new `version` is built beside the old one and switched to when it has caught up.
 */
export interface Projection<Document> {
  readonly name: string;
  readonly version: number;
  readonly category: Category;
  key(event: LoggedEvent): string;
  /** Null: there is no document (yet). A document is never taken back to null. */
  evolve(document: Document | null, event: LoggedEvent): Document | null;
  /** The organization that the document belongs to; null for the public catalogue. */
  org(document: Document): string | null;
  /** Fields that lists filter by, exactly. Null is not indexed. */
  readonly indexes: Readonly<Record<string, Field<Document>>>;
  /** Sorts documents that wait for something to happen (a day, a floor); null where nothing waits. */
  agenda?(document: Document): string | null;
}

/**
 * Written as methods, so that whoever stores documents of every kind can take any projection as a
 * `Projection<unknown>`.
 */
type Field<Document> = { of(document: Document): string | null }['of'];

/**
 * Object.assign: a spread with further fields takes ten times as long, and this runs for every event of a
 * rebuild.
 */
const projected = <State, Event extends DomainEvent>(
  from: Aggregate<State, Event>,
  event: LoggedEvent,
): Projected<Event> => Object.assign(parseEvent(from, event), { envelope: event });

/** Ties a fold to the aggregate whose events it folds: they are parsed before the fold sees them. */
export const projection = <Document, State, Event extends DomainEvent>(definition: {
  readonly name: string;
  readonly version: number;
  readonly from: Aggregate<State, Event>;
  readonly key: (event: LoggedEvent) => string;
  readonly evolve: (document: Document | null, event: Projected<Event>) => Document | null;
  readonly org: (document: Document) => string | null;
  readonly indexes?: Readonly<Record<string, (document: Document) => string | null>>;
  readonly agenda?: (document: Document) => string | null;
}): Projection<Document> => {
  const { from, evolve, indexes = {}, ...rest } = definition;
  return {
    ...rest,
    indexes,
    category: from.category,
    evolve: (document, event) => evolve(document, projected(from, event)),
  };
};
