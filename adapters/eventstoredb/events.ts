import type { AllStreamResolvedEvent, ResolvedEvent } from '@eventstore/db-client';
import type { CountCall } from '../../application/ports/tracing.js';
import { LazyLru } from '../../application/memory/lazy-lru.js';
import { storedTexts, type StoredTexts } from '../../application/log/hash-chain.js';
import type { NewEvent, StreamWrite } from '../../application/ports/event-store.js';
import { messageOf } from '../../domain/errors.js';
import type { EventMetadata, LoggedEvent, RecordedEvent } from '../../domain/events.js';
import { UnknownCategory } from '../../application/ports/raw-log.js';
import { categories, type StreamName, type Uuid } from '../../domain/ids.js';

/** The rest of a name that has another prefix, too. An id never has a category and a hyphen in it. */
const otherPrefix = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]*?(?:${categories.join('|')})-`);

/**
 * The names of our streams on the server. Everything else in its log belongs to others. `prefix` comes before
 * every name, so that several deployments can share a server.
 */
export const serverNames = (prefix: string) => {
  const beginnings = categories.map((category) => `${prefix}${category}-`);
  const isOurs = (name: string): boolean => beginnings.some((beginning) => name.startsWith(beginning));
  return {
    /**
     * Matches the beginning of each of them, as a regular expression. With a prefix that is all, so that
     * streams in a category that only a newer version knows are ours, too; without one, it would match
     * streams of others.
     */
    pattern: prefix === '' ? `^(?:${categories.join('|')})-` : `^${prefix.replaceAll('.', '[.]')}`,
    nameOf: (stream: StreamName): string => `${prefix}${stream}`,
    /** Null for a stream of others. */
    streamOf: (name: string) => (isOurs(name) ? (name.slice(prefix.length) as StreamName) : null),
    /** Whether the name is that of a stream of another deployment: it has another prefix than ours. */
    isOfAnother: (name: string): boolean =>
      !name.startsWith(prefix) || otherPrefix.test(name.slice(prefix.length)),
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
  readonly names: ReturnType<typeof serverNames>;
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

const field = '"personal":';
/** Tokens of JSON that a member of an object can begin or end with: strings, brackets and commas. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]/g;

/** From the field `personal` of the object itself to behind its value; null if it has none. */
const memberOf = (text: string): readonly [begin: number, end: number] | null => {
  if (!text.includes(field)) return null;
  let begin: number | null = null;
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(tokens)) {
    const closes = token === '}' || token === ']';
    if (begin !== null && depth === 1 && (closes || token === ',')) return [begin, index];
    if (depth === 1 && text.startsWith(field, index)) begin = index;
    if (token === '{' || token === '[') depth += 1;
    if (closes) depth -= 1;
  }
  return begin === null ? null : [begin, text.length];
};

/**
 * Takes the field `personal` out of the stored text of an object, written as this service writes JSON: the
 * server keeps data and personal data in one text. Parses nothing.
 */
export const splitText = (text: string): { readonly data: string; readonly personal: string | null } => {
  const member = memberOf(text);
  if (member === null) return { data: text, personal: null };
  const [begin, end] = member;
  const personal = text.slice(begin + field.length, end);
  const isFirst = text[begin - 1] === '{';
  // With the field goes one comma: the one before it, or the one after it if it is the first of several.
  const before = text.slice(0, isFirst ? begin : begin - 1);
  const after = text.slice(isFirst && text[end] === ',' ? end + 1 : end);
  return { data: `${before}${after}`, personal };
};

/** The text of an object with the field `personal` at its end; `splitText` is the inverse. */
export const joinTexts = ({ data, personal }: Pick<StoredTexts, 'data' | 'personal'>): string =>
  personal === null ? data : `${data.slice(0, -1)}${data === '{}' ? '' : ','}${field}${personal}}`;

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
