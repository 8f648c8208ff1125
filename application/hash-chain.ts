import { hash as digestOf } from 'node:crypto';
import type { EventMetadata, RecordedEvent } from '../domain/events.js';
import type { Uuid } from '../domain/ids.js';
import type { NewEvent } from './ports/event-store.js';

/** An event that is not chained yet to the one before it in its stream. */
export interface UnsealedEvent {
  readonly id: Uuid;
  readonly type: string;
  /** Personal data, if there is any, is in its field `personal`. */
  readonly data: object;
  readonly metadata: Omit<EventMetadata, 'personal' | 'hash'>;
}

/**
 * The exact texts that a store keeps for an event. `data` lacks `personal`; `metadata` ends with the hash.
 */
export interface StoredTexts {
  readonly data: string;
  readonly personal: string | null;
  readonly metadata: string;
}

/**
 * Neither JSON nor hashes, types and ids contain a raw line break, so the parts can't run into each other.
 */
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

/** Makes `{…}` into `{…,"hash":"…"}`. The hash is last, so that the text it covers can be cut out again. */
const withHash = (metadata: string, hash: string): string => `${metadata.slice(0, -1)},"hash":"${hash}"}`;
const hashField = ',"hash":"';
const hashTail = hashField.length + 64 + 2;

/** Uses Object.assign because a spread with more fields takes ten times as long, and this runs per event. */
const splitData = (data: object): { readonly data: string; readonly personal: string | null } => {
  const { personal }: { readonly personal?: unknown } = data;
  if (personal === undefined) return { data: JSON.stringify(data), personal: null };
  return {
    data: JSON.stringify(Object.assign({}, data, { personal: undefined })),
    personal: JSON.stringify(personal),
  };
};

/** Keeps the texts that the hash covers, because a store asks for them a moment later. */
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
 * Chains an event to the one before it in its stream: its hash is the SHA-256 of the previous hash (null if
 * there is none) and the stored texts of type, id, data and metadata. Of personal data it covers only a
 * salted digest, so that the data can be erased later. `salt` returns a new random text.
 * (docs/architecture.md#hash-chain)
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

/** The texts of an event that is to be stored. */
export const storedTexts = (event: NewEvent): StoredTexts => {
  const known = SealedEvent.textsOf(event);
  if (known !== null) return known;
  const { hash, ...covered } = event.metadata;
  return { ...splitData(event.data), metadata: withHash(JSON.stringify(covered), hash) };
};

const personalVerifies = (personal: string, stamp: EventMetadata['personal']): boolean =>
  stamp !== null && personalDigest(stamp.salt, personal) === stamp.digest;

/**
 * Whether an event that was read has the hash that follows from its content and the previous hash. Erased
 * personal data passes, changed personal data does not.
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
 * As `verifies`, but from the stored texts, which is faster. Returns the event's hash, or null if it is
 * wrong.
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
