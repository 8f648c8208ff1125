import type { AllStreamResolvedEvent, ResolvedEvent } from '@eventstore/db-client';
import type { CountCall } from '../../application/ports/tracing.js';
import { LazyLru } from '../../application/memory/lazy-lru.js';
import { storedTexts } from '../../application/log/hash-chain.js';
import type { NewEvent, StreamWrite } from '../../application/ports/event-store.js';
import { messageOf } from '../../domain/errors.js';
import type { EventMetadata, LoggedEvent, RecordedEvent } from '../../domain/events.js';
import { UnknownCategory } from '../../application/ports/raw-log.js';
import { categories, type StreamName, type Uuid } from '../../domain/ids.js';
import { joinTexts } from './texts.js';

/** The names of our streams on the server. Everything else in its log belongs to others. */
export interface ServerNames {
  /**
   * Matches the beginning of each of them, as a regular expression. With a prefix that is all, so that
   * streams in a category that only a newer version knows are ours, too; without one, it would match streams
   * of others.
   */
  readonly pattern: string;
  readonly nameOf: (stream: StreamName) => string;
  /** Null for a stream of others. */
  readonly streamOf: (name: string) => StreamName | null;
  /** Whether the name is that of a stream of another deployment: it has another prefix than ours. */
  readonly isOfAnother: (name: string) => boolean;
}

/** The rest of a name that has another prefix, too. An id never has a category and a hyphen in it. */
const otherPrefix = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]*?(?:${categories.join('|')})-`);

/** `prefix` comes before every name, so that several deployments can share a server. */
export const serverNames = (prefix: string): ServerNames => {
  const beginnings = categories.map((category) => `${prefix}${category}-`);
  const isOurs = (name: string): boolean => beginnings.some((beginning) => name.startsWith(beginning));
  return {
    pattern: prefix === '' ? `^(?:${categories.join('|')})-` : `^${prefix.replaceAll('.', '[.]')}`,
    nameOf: (stream) => `${prefix}${stream}`,
    streamOf: (name) => (isOurs(name) ? (name.slice(prefix.length) as StreamName) : null),
    isOfAnother: (name) => !name.startsWith(prefix) || otherPrefix.test(name.slice(prefix.length)),
  };
};

/** A record under a name of ours that this service did not write. */
export interface ForeignEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
}

/** How many foreign events are remembered; the same one comes to every reader. */
const toldApart = 10_000;

/** Counts the events of other programs that were passed over, each once, and reports the first. */
export class ForeignEvents {
  readonly #seen = new LazyLru<string, true>(toldApart);
  count = 0;

  constructor(private readonly report: (first: ForeignEvent) => void) {}

  passOver(event: ForeignEvent): void {
    const name = `${event.stream}@${event.revision}`;
    if (this.#seen.has(name)) return;
    this.#seen.set(name, true);
    this.count += 1;
    if (this.count === 1) this.report(event);
  }
}

/** Tells our events from those of other programs, which are skipped. */
export interface Recognition {
  readonly names: ServerNames;
  readonly foreign: ForeignEvents;
  readonly count: CountCall;
}

type ClientEvent = NonNullable<ResolvedEvent['event']>;

const isMetadata = (metadata: unknown): metadata is EventMetadata =>
  typeof metadata === 'object' &&
  metadata !== null &&
  'hash' in metadata &&
  'occurredAt' in metadata &&
  'schemaVersion' in metadata;

/** Null for an event without the envelope that this service gives to each of its own. */
const toRecorded = (
  event: ClientEvent,
  stream: StreamName,
  position: bigint | null,
  { foreign, count }: Recognition,
): RecordedEvent | null => {
  count('event received');
  const { streamId, revision, type, id, data, metadata } = event;
  if (typeof data !== 'object' || data instanceof Uint8Array || !isMetadata(metadata)) {
    foreign.passOver({ stream: streamId, revision, type });
    return null;
  }
  return {
    id: id as Uuid,
    stream,
    revision: Number(revision),
    position,
    type,
    data,
    metadata,
  };
};

/**
 * An event that was read from `stream`, or null for one of others and for a link that leads nowhere. Its
 * position is null if the server doesn't tell it.
 */
export const recordedEvent = (
  { event, commitPosition }: ResolvedEvent,
  stream: StreamName,
  context: Recognition,
): RecordedEvent | null =>
  event === undefined ? null : toRecorded(event, stream, commitPosition ?? null, context);

/** An event of ours that was read from `$all`, or null for an event of others. */
export const loggedEvent = (
  { event, commitPosition }: AllStreamResolvedEvent,
  context: Recognition,
): LoggedEvent | null => {
  const stream = event === undefined ? null : context.names.streamOf(event.streamId);
  if (event === undefined || stream === null) return null;
  const position = commitPosition ?? event.position.commit;
  const recorded = toRecorded(event, stream, position, context);
  return recorded && { ...recorded, position };
};

/** An event as the server takes it: data and metadata are JSON. */
export interface ProposedEvent {
  readonly id: Uuid;
  readonly type: string;
  readonly data: Buffer;
  readonly metadata: Buffer;
}

const asJson = (text: string): Buffer => {
  if (!text.startsWith('{')) throw new TypeError('it is not an object');
  return Buffer.from(text);
};

/**
 * The error for an event that this service has written under a name of ours, but in a category that this
 * version does not know: nothing of the log may be left out. Null for any other.
 */
export const unknownCategory = (
  { event }: AllStreamResolvedEvent,
  { names }: Pick<Recognition, 'names'>,
): UnknownCategory | null => {
  if (event === undefined || event.streamId.startsWith('$') || !isMetadata(event.metadata)) return null;
  const { streamId, revision } = event;
  const isKnown = names.streamOf(streamId) !== null || names.isOfAnother(streamId);
  return isKnown ? null : new UnknownCategory(`${streamId}@${revision}`);
};

const toProposed = ({ stream }: StreamWrite, event: NewEvent): ProposedEvent => {
  const { id, type } = event;
  try {
    const texts = storedTexts(event);
    return { id, type, data: asJson(joinTexts(texts)), metadata: asJson(texts.metadata) };
  } catch (error) {
    throw new TypeError(`${type} for ${stream} can't be stored: ${messageOf(error)}`, { cause: error });
  }
};

/** Throws a TypeError for data that JSON can't hold. (docs/engines.md#eventstoredb) */
export const proposedEvents = (write: StreamWrite): readonly ProposedEvent[] => {
  if (write.events.length === 0) throw new TypeError(`a write to ${write.stream} needs at least one event`);
  return write.events.map((event) => toProposed(write, event));
};
