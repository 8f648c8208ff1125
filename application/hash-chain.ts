import { hash as digestOf } from 'node:crypto';
import type { EventMetadata, RecordedEvent } from '../domain/events.js';
import type { Uuid } from '../domain/ids.js';
import type { NewEvent } from './ports/event-store.js';

/** What an event is before it is chained to the one before it in its stream. */
export interface UnsealedEvent {
  readonly id: Uuid;
  readonly type: string;
  /** Personal data lies in its field `personal`, if there is any. */
  readonly data: object;
  readonly metadata: Omit<EventMetadata, 'personal' | 'hash'>;
}

/**
 * The exact texts that stand for an event in a store. `data` is without `personal`; `metadata` ends with the
 * hash.
 */
export interface StoredTexts {
  readonly data: string;
  readonly personal: string | null;
  readonly metadata: string;
}

/** JSON holds no raw line break, neither do hashes, types and ids: the parts can't run into each other. */
const linkHash = (
  previous: string | null,
  type: string,
  id: string,
  data: string,
  metadata: string,
): string => digestOf('sha256', `${previous ?? ''}\n${type}\n${id}\n${data}\n${metadata}`, 'hex');

const personalDigest = (salt: string, personal: string): string =>
  digestOf('sha256', `${salt}\n${personal}`, 'hex');

const stampOf = (salt: string, personal: string) => ({ salt, digest: personalDigest(salt, personal) });

/**
 * `{…}` becomes `{…,"hash":"…"}`: the hash comes last, so that what it covers can be cut out of the stored
 * text again.
 */
const withHash = (metadata: string, hash: string): string => `${metadata.slice(0, -1)},"hash":"${hash}"}`;
const hashField = ',"hash":"';
const hashTail = hashField.length + 64 + 2;

/**
 * Object.assign, here and below: a spread with further fields takes ten times as long, and this runs for
 * every event.
 */
const splitData = (data: object): { readonly data: string; readonly personal: string | null } => {
  const { personal }: { readonly personal?: unknown } = data;
  if (personal === undefined) return { data: JSON.stringify(data), personal: null };
  return {
    data: JSON.stringify(Object.assign({}, data, { personal: undefined })),
    personal: JSON.stringify(personal),
  };
};

/** A sealed event carries the texts that its hash was taken over: a store asks for them a moment later. */
class SealedEvent implements NewEvent {
  readonly #texts: StoredTexts;

  constructor(
    readonly id: Uuid,
    readonly type: string,
    readonly data: object,
    readonly metadata: EventMetadata,
    texts: StoredTexts,
  ) {
    this.#texts = texts;
  }

  static textsOf(event: NewEvent): StoredTexts | null {
    return #texts in event ? event.#texts : null;
  }
}

/**
 * Chains an event to the one before it in its stream: its hash is SHA-256 over the previous hash (null: there
 * is none) and the stored texts of type, id, data and metadata. Of the personal part it covers a salted
 * digest only, so that the part can be erased later. `salt` answers a fresh random text. (architecture.md,
 * Streams and events)
 */
export const seal = (
  previous: { readonly hash: string | null },
  event: UnsealedEvent,
  salt: () => string,
): NewEvent => {
  const { data, personal } = splitData(event.data);
  const stamp = personal === null ? null : stampOf(salt(), personal);
  const covered = `${JSON.stringify(event.metadata).slice(0, -1)},"personal":${JSON.stringify(stamp)}}`;
  const hash = linkHash(previous.hash, event.type, event.id, data, covered);
  const { org, actor, requestId, correlationId, causationId, schemaVersion, occurredAt, subject, keyId } =
    event.metadata;
  const metadata = {
    org,
    actor,
    requestId,
    correlationId,
    causationId,
    schemaVersion,
    occurredAt,
    subject,
    keyId,
    personal: stamp,
    hash,
  };
  return new SealedEvent(event.id, event.type, event.data, metadata, {
    data,
    personal,
    metadata: withHash(covered, hash),
  });
};

/**
 * Seals events that follow each other in one stream. `previousHash`: that of the stream's last event, null
 * where the stream does not exist.
 */
export const sealEvents = (
  previousHash: string | null,
  events: readonly UnsealedEvent[],
  salt: () => string,
): readonly NewEvent[] => {
  let previous = previousHash;
  return events.map((event) => {
    const sealed = seal({ hash: previous }, event, salt);
    previous = sealed.metadata.hash;
    return sealed;
  });
};

/** The texts that a store keeps for an event. */
export const storedTexts = (event: NewEvent): StoredTexts => {
  const known = SealedEvent.textsOf(event);
  if (known !== null) return known;
  const { hash, ...covered } = event.metadata;
  return { ...splitData(event.data), metadata: withHash(JSON.stringify(covered), hash) };
};

const personalVerifies = (personal: string, stamp: EventMetadata['personal']): boolean =>
  stamp !== null && personalDigest(stamp.salt, personal) === stamp.digest;

/**
 * Whether an event as read back carries the hash that its content and the previous hash give. Erased personal
 * data passes, changed personal data does not.
 */
export const verifies = (previousHash: string | null, event: Omit<RecordedEvent, 'position'>): boolean => {
  const { hash, ...covered } = event.metadata;
  const { data, personal } = splitData(event.data);
  return (
    linkHash(previousHash, event.type, event.id, data, JSON.stringify(covered)) === hash &&
    (personal === null || personalVerifies(personal, covered.personal))
  );
};

/**
 * As `verifies`, from the stored texts, without parsing what need not be parsed. Answers the event's hash, or
 * null where it does not verify.
 */
export const verifiedHash = (
  previousHash: string | null,
  event: StoredTexts & { readonly type: string; readonly id: string },
): string | null => {
  const { metadata, personal } = event;
  const end = metadata.length - hashTail;
  if (end < 1 || !metadata.startsWith(hashField, end) || !metadata.endsWith('"}')) return null;
  const hash = metadata.slice(end + hashField.length, -2);
  const covered = `${metadata.slice(0, end)}}`;
  if (linkHash(previousHash, event.type, event.id, event.data, covered) !== hash) return null;
  return personal === null || personalVerifies(personal, parseMetadata(metadata).personal) ? hash : null;
};

const parseMetadata = (text: string) => JSON.parse(text) as EventMetadata;
