import { hash as digestOf } from 'node:crypto';
import type { EventMacs } from '../../domain/event-mac.js';
import type { EventMetadata, RecordedEvent } from '../../domain/events.js';
import type { StreamName, Uuid } from '../../domain/ids.js';
import type { NewEvent } from '../ports/event-store.js';

/**
 * An event that is not chained yet to the one before it in its stream. Personal data, if there is any, is in
 * the field `personal` of its data.
 */
export interface UnsealedEvent extends Omit<NewEvent, 'metadata'> {
  /** `subject`: whose data it is, if it turns out to hold any. */
  readonly metadata: Omit<EventMetadata, 'chain' | 'keyId' | 'personal' | 'hash' | 'mac'>;
}

/**
 * The exact texts that a store keeps for an event. `data` lacks `personal`, which is null if the event has
 * none (any more); `metadata` ends with the hash and the MAC.
 */
export interface StoredTexts {
  readonly data: string;
  readonly personal: string | null;
  readonly metadata: string;
}

/** An event as it is stored, text for text. */
export interface RawEvent extends StoredTexts {
  readonly stream: StreamName;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
}

/** The version of the chain. Later versions will tell their events from today's by it. */
const chain = 2;

/**
 * The hash of an event after the event with the hash `previous` in its stream (null: it is the first): hex
 * SHA-256 of the previous hash, stream, revision, type, id, the stored text of the data without `personal`,
 * and the stored text of the metadata without its last field `hash`, with a line feed between each two. No
 * part contains one: neither JSON nor hashes, types, ids and names of streams do.
 * (docs/architecture.md#hash-chain)
 */
const linkHash = (
  previous: string | null,
  { stream, revision, type, id, data }: Pick<RawEvent, 'stream' | 'revision' | 'type' | 'id' | 'data'>,
  metadata: string,
): string =>
  digestOf(
    'sha256',
    `${previous ?? ''}\n${stream}\n${revision}\n${type}\n${id}\n${data}\n${metadata}`,
    'hex',
  );

/** Makes `{…}` into `{…,"hash":"…","mac":"…"}`: the text that the hash covers can be cut out again. */
const withHash = (metadata: string, hash: string, mac: string | undefined): string =>
  `${metadata.slice(0, -1)},"hash":"${hash}"${mac === undefined ? '' : `${macField}${mac}"`}}`;
const hashField = ',"hash":"';
const hashTail = hashField.length + 64 + 2;
const macField = ',"mac":"';

/**
 * The text of an event's metadata up to its hash, which exports show and proofs rest on. Inside a JSON string
 * every quotation mark has a backslash before it, so no field of metadata can be part of one.
 */
export const withoutMac = (metadata: string): string => {
  const at = metadata.lastIndexOf(macField);
  return at < 0 ? metadata : `${metadata.slice(0, at)}}`;
};

/** The MAC at the end of an event's metadata; null if there is none. */
export const macIn = (metadata: string): string | null => {
  const at = metadata.lastIndexOf(macField);
  return at < 0 ? null : metadata.slice(at + macField.length, -2);
};

/** Takes `{…,"hash":"…"}` apart into `{…}` and the hash; null if the text does not end like that. */
const withoutHash = (metadata: string): { readonly covered: string; readonly hash: string } | null => {
  const end = metadata.length - hashTail;
  if (end < 1 || !metadata.startsWith(hashField, end) || !metadata.endsWith('"}')) return null;
  return { covered: `${metadata.slice(0, end)}}`, hash: metadata.slice(end + hashField.length, -2) };
};

const splitData = (data: object): { readonly data: string; readonly personal: string | null } => {
  // Rest syntax keeps a field with the name __proto__, which an assignment would drop.
  const { personal, ...rest }: { readonly personal?: unknown } = data;
  if (personal === undefined) return { data: JSON.stringify(data), personal: null };
  return { data: JSON.stringify(rest), personal: JSON.stringify(personal) };
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
 * The place that an event takes in its stream, and the hash of the event before it (null if there is none).
 */
export interface Link {
  readonly stream: StreamName;
  readonly revision: number;
  readonly previous: string | null;
}

/** The texts of an event's data, with everything personal apart. */
export interface ProtectedData {
  readonly data: string;
  /** `stamp` represents the text in the hash. */
  readonly personal: {
    readonly text: string;
    readonly stamp: Exclude<EventMetadata['personal'], null>;
    readonly keyId: string | null;
  } | null;
}

/** The stored form of an event's data. */
export type Protect = (event: Pick<UnsealedEvent, 'id' | 'type' | 'data'>) => ProtectedData;

/** How personal data is sealed, and a wait until that can be done without waiting. */
export interface PersonalSeal {
  readonly seal: Protect;
  readonly ready: () => Promise<void>;
}

/**
 * Chains an event to the one before it in its stream, see `linkHash`, and signs the hash. The hash covers a
 * digest of personal data, so that the data can be erased later.
 */
export const seal = (
  { stream, revision, previous }: Link,
  event: UnsealedEvent,
  protect: Protect,
  sign: EventMacs['sign'],
): NewEvent => {
  const { data, personal } = protect(event);
  const { org, actor, requestId, traceparent, correlationId, causationId, schemaVersion } = event.metadata;
  const { occurredAt, subject } = event.metadata;
  const covered = {
    org,
    actor,
    requestId,
    ...(traceparent !== undefined && { traceparent }),
    correlationId,
    causationId,
    schemaVersion,
    occurredAt,
    subject: personal === null ? null : subject,
    keyId: personal === null ? null : personal.keyId,
    chain,
    personal: personal === null ? null : personal.stamp,
  } as const;
  const text = JSON.stringify(covered);
  const { id, type } = event;
  const hash = linkHash(previous, { stream, revision, type, id, data }, text);
  const mac = sign(hash);
  const metadata = Object.assign(covered, { hash, mac });
  return new SealedEvent(id, type, event.data, metadata, {
    data,
    personal: personal === null ? null : personal.text,
    metadata: withHash(text, hash, mac),
  });
};

/** The texts of an event that is to be stored. */
export const storedTexts = (event: NewEvent): StoredTexts => {
  const known = SealedEvent.textsOf(event);
  if (known !== null) return known;
  const { hash, mac, ...covered } = event.metadata;
  return { ...splitData(event.data), metadata: withHash(JSON.stringify(covered), hash, mac) };
};

/**
 * The texts of an event that was read and parsed. They are the stored ones as long as JSON is written as this
 * service writes it.
 */
export const rawOf = (event: Pick<RecordedEvent, 'stream' | 'revision'> & NewEvent): RawEvent => {
  const { stream, revision, id, type } = event;
  return { stream, revision, id, type, ...storedTexts(event) };
};

const personalVerifies = (personal: string | null, stamp: EventMetadata['personal']): boolean =>
  personal === null || stamp === null
    ? personal === stamp
    : digestOf('sha256', personal, 'hex') === stamp.digest;

/**
 * The hash of a stored event, if it is the one that was recorded after the event with the hash `previous` in
 * its stream (null: as the first); else null.
 */
export const verifiedHash = (previous: string | null, event: RawEvent): string | null => {
  const { metadata, personal } = event;
  const parts = withoutHash(withoutMac(metadata));
  if (parts === null) return null;
  const { covered, hash } = parts;
  const isOfThisChain = covered.includes(`,"chain":${chain},"personal":`);
  if (!isOfThisChain || linkHash(previous, event, covered) !== hash) return null;
  if (personal === null && covered.endsWith('"personal":null}')) return hash;
  const { personal: stamp } = JSON.parse(metadata) as EventMetadata;
  return personalVerifies(personal, stamp) ? hash : null;
};

/** Explains why an event does not verify. */
export const whyDamaged = ({ metadata }: RawEvent): string => {
  const version = /,"chain":(\d+),"personal":/.exec(metadata)?.[1] ?? 'none';
  return version === String(chain)
    ? 'its hash does not match its content'
    : `its hash chain has version ${version}, and this release of the service knows version ${chain} alone`;
};

export const verifies = (previous: string | null, event: RawEvent): boolean =>
  verifiedHash(previous, event) !== null;
