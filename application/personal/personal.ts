import { hash as digestOf } from 'node:crypto';
import { erasures, type RecordedEvent } from '../../domain/events.js';
import type { Uuid } from '../../domain/ids.js';
import { isPlainObject } from '../../domain/plain-object.js';
import { decrypt, encrypt, ivBytes, type JustSealed, type KeyRing } from './key-ring.js';
import { EventStoreUnavailable, storeWith, type EventStore, type LogReader } from '../ports/event-store.js';
import type { Clock, Entropy } from '../ports/system.js';
import type { PersonalSeal, ProtectedData } from '../log/hash-chain.js';

/** Called with an event whose personal data could not be opened, whether it is erased or not. */
export type OnUnopened = (event: RecordedEvent) => void;

const commitmentHead = Buffer.from('handwritten-card-service/personal-key/v1\n');

/** GCM does not bind a ciphertext to one key, so a sealed text identifies its key. */
const commitmentTo = (key: Buffer): string =>
  digestOf('sha256', Buffer.concat([commitmentHead, key]), 'base64');

type Fields = Readonly<Record<string, unknown>>;

/** Events whose reason was typed by a person, or describes what is wrong with a letter. */
const withReason: ReadonlySet<string> = new Set(['CardHeld', 'CardFailed']);
/** The events of which nothing but the reason is personal: they have no part `personal`. */
const withoutPart: ReadonlySet<string> = new Set(['CardFailed']);
/** The events with an order, whose reference customers put names into. */
const withOrder: ReadonlySet<string> = new Set(['CardScheduled', 'CardHeld']);

/**
 * Takes everything personal out of an event's data: `personal`, and the fields that are elsewhere for readers
 * of the events' JSON. Null takes its place. `personal` is null if there is nothing.
 */
const takeOut = (type: string, data: object): { readonly data: object; readonly personal: Fields | null } => {
  const { personal, reason, order }: { personal?: unknown; reason?: unknown; order?: unknown } = data;
  const rest: object = Object.assign({}, data, { personal: undefined });
  const taken: Record<string, unknown> = Object.assign({}, isPlainObject(personal) ? personal : {});
  if (withReason.has(type) && typeof reason === 'string') {
    taken['reason'] = reason;
    Object.assign(rest, { reason: null });
  }
  if (withOrder.has(type) && isPlainObject(order) && typeof order['reference'] === 'string') {
    taken['reference'] = order['reference'];
    Object.assign(rest, { order: Object.assign({}, order, { reference: null }) });
  }
  return { data: rest, personal: Object.keys(taken).length === 0 ? null : taken };
};

/** The data as it was before `takeOut`. */
const putBack = (type: string, data: object, opened: Fields): object => {
  const personal: Record<string, unknown> = Object.assign({}, opened);
  const whole: Record<string, unknown> = { ...data };
  const { reason, reference } = opened;
  if (withReason.has(type) && reason !== undefined) {
    whole['reason'] = reason;
    delete personal['reason'];
  }
  const { order } = whole;
  if (withOrder.has(type) && reference !== undefined && isPlainObject(order)) {
    whole['order'] = Object.assign({}, order, { reference });
    delete personal['reference'];
  }
  return withPart(type, whole, Object.keys(personal).length === 0 ? null : personal);
};

const withPart = (type: string, data: object, personal: Fields | null): object => {
  const { personal: _, ...rest }: { readonly personal?: unknown } = data;
  return withoutPart.has(type) ? rest : Object.assign(rest, { personal });
};

/** Seals a text for an event with the next key. Throws PersonalKeysUnavailable. */
export const sealNext = (
  keys: Pick<KeyRing, 'next'>,
  entropy: Pick<Entropy, 'bytes'>,
  event: Uuid,
  plain: string,
): { readonly keyId: string; readonly text: string } => {
  const { id: keyId, key } = keys.next();
  return { keyId, text: sealText(key, keyId, entropy.bytes(ivBytes), event, plain) };
};

/** Seals the personal data of events, each with a key of its own. Throws PersonalKeysUnavailable. */
export const personalSeal = (
  keys: Pick<KeyRing, 'next' | 'ready' | 'note'>,
  entropy: Pick<Entropy, 'bytes'>,
): PersonalSeal => ({
  ready: () => keys.ready(),
  seal: ({ id, type, data }): ProtectedData => {
    const { data: clear, personal } = takeOut(type, data);
    if (personal === null) return { data: JSON.stringify(clear), personal: null };
    const plain = JSON.stringify(personal);
    const { keyId, text } = sealNext(keys, entropy, id, plain);
    keys.note(keyId, { event: id, text: plain });
    return {
      data: JSON.stringify(clear),
      personal: { text, stamp: { digest: digestOf('sha256', text, 'hex') }, keyId },
    };
  },
});

/**
 * The stored text of personal data: base64 of ciphertext and tag, which belong to the event with this id and
 * to no other. A format: golden files hold it, and verifiers that others wrote read it.
 * (docs/architecture.md#personal-data)
 */
export const sealText = (key: Buffer, keyId: string, iv: Buffer, event: Uuid, personal: string): string => {
  const sealed = encrypt(key, iv, event, personal).toString('base64');
  return `{"v":2,"key":"${keyId}","iv":"${iv.toString('base64')}","sealed":"${sealed}","commit":"${commitmentTo(key)}"}`;
};

/** Opens a sealed text, as JSON; null if it was not sealed with this key for this event. */
export const openText = (key: Buffer, event: Uuid, stored: unknown): string | null => {
  if (!isPlainObject(stored)) return null;
  const { iv, sealed, commit } = stored;
  if (typeof iv !== 'string' || typeof sealed !== 'string' || commit !== commitmentTo(key)) return null;
  return decrypt(key, Buffer.from(iv, 'base64'), event, Buffer.from(sealed, 'base64'))?.toString() ?? null;
};

/**
 * The data of an event with its personal part as it was recorded; `personal: null` without its key. Data that
 * this process has just sealed with that key, for that event, need not be opened.
 */
const openedData = (
  event: RecordedEvent,
  key: Buffer | null,
  noted: JustSealed | null,
  unopened: OnUnopened,
): object => {
  const { id, type, data } = event;
  const { personal }: { readonly personal?: unknown } = data;
  const text = key === null ? null : noted?.event === id ? noted.text : openText(key, id, personal);
  if (text === null) unopened(event);
  const opened: unknown = text === null ? null : JSON.parse(text);
  return isPlainObject(opened) ? putBack(type, data, opened) : withPart(type, data, null);
};

/** Returns the object that it is given, so that a class can add a private field to it. */
const ReturnsItsArgument = class {
  constructor(itself: object) {
    // oxlint-disable-next-line no-constructor-return
    return itself;
  }
} as new (itself: object) => object;

/**
 * The sealed original of an opened event, in a private field: copies and comparisons must not see it, and a
 * WeakMap would make each garbage collection of a rebuild dearer.
 */
class SealedOriginal extends ReturnsItsArgument {
  readonly #stored: RecordedEvent;
  readonly #open: Opening;

  constructor(event: RecordedEvent, stored: RecordedEvent, open: Opening) {
    super(event);
    this.#stored = stored;
    this.#open = open;
  }

  static async openedNow<Position extends bigint | null>(
    event: RecordedEvent & { readonly position: Position },
  ): Promise<RecordedEvent & { readonly position: Position }> {
    if (!(#stored in event)) return event;
    const [opened] = await event.#open([{ ...event.#stored, position: event.position }]);
    return opened ?? event;
  }

  static storedOf(event: RecordedEvent): RecordedEvent {
    return #stored in event ? event.#stored : event;
  }
}

/** The event as the log holds it, with its personal data sealed: the hash chain covers this form. */
export const asStored = (event: RecordedEvent): RecordedEvent => SealedOriginal.storedOf(event);

/**
 * An event that was read a while ago, opened with the key that there is now: it may have been erased since.
 * Throws PersonalKeysUnavailable.
 */
export const openedNow: typeof SealedOriginal.openedNow = (event) => SealedOriginal.openedNow(event);

/** The data of an event, as it was read, without all that is personal. */
export const withheldData = (event: RecordedEvent): object => takeOut(event.type, asStored(event).data).data;

/** The data of an event whose personal data was erased. */
export const erasedData = (event: RecordedEvent): object => withPart(event.type, asStored(event).data, null);

/** An event whose personal data was erased, and not read with its erasure. */
export const erasedEvent = (event: RecordedEvent): RecordedEvent => ({
  ...asStored(event),
  data: erasedData(event),
});

type Opening = <Position extends bigint | null>(
  events: readonly (RecordedEvent & { readonly position: Position })[],
  /** The events before this one stay sealed. */
  from?: number,
) => Promise<readonly (RecordedEvent & { readonly position: Position })[]>;

/** Keys, and a listener for events that none of them opens. */
type Opener = Pick<KeyRing, 'load' | 'keyOf' | 'noted'> & { readonly unopened?: OnUnopened };

/** Opens the sealed ones among events. Throws PersonalKeysUnavailable. */
const opening = ({ unopened = () => undefined, ...keys }: Opener): Opening => {
  const open: Opening = async (events, from = 0) => {
    const sealed = events.flatMap(({ metadata }) => metadata.keyId ?? []);
    if (sealed.length === 0) return events;
    await keys.load(sealed);
    return events.map((event, index) => {
      const { id, stream, revision, position, type, metadata } = event;
      if (metadata.keyId === null) return event;
      const isErased = index < from;
      const [key, noted] = isErased ? [null, null] : [keys.keyOf(metadata.keyId), keys.noted(metadata.keyId)];
      let data: object | null = null;
      const opened = {
        id,
        stream,
        revision,
        position,
        type,
        // Opened only if it is read: most followers of the log look at the data of few events.
        get data() {
          return (data ??= openedData(event, key, noted, isErased ? () => undefined : unopened));
        },
        metadata,
      };
      // The event itself gets the private field: nothing else is made.
      // oxlint-disable-next-line no-new
      new SealedOriginal(opened, event, open);
      return opened;
    });
  };
  return open;
};

const pauseAfterFailure = 1_000;

/**
 * A log whose personal data is open, as everything but the hash chain wants it: an event whose key is gone
 * has `personal: null`. While the keys can't be reached, followers wait and other reads throw
 * PersonalKeysUnavailable.
 */
export const openedLog = (log: LogReader, keys: Opener, clock: Clock): LogReader => {
  const open = opening(keys);
  return {
    readLog: async (after, limit) => open(await log.readLog(after, limit)),
    head: () => log.head(),
    markAt: (position) => log.markAt(position),
    follow: async function* (after, options) {
      for await (const events of log.follow(after, options)) {
        for (let isOpen = false; !isOpen && !options.signal.aborted;) {
          const opened = await open(events).catch((error: unknown) => {
            if (!(error instanceof EventStoreUnavailable)) throw error;
            return null;
          });
          isOpen = opened !== null;
          if (opened === null) await clock.sleep(pauseAfterFailure, options.signal);
          else yield opened;
        }
      }
    },
  };
};

/**
 * As `openedLog`, for the whole store. What an erasure that is read with it covers is not opened, even while
 * its key is there.
 */
export const openedEvents = (store: EventStore, keys: Opener, clock: Clock): EventStore => {
  const open = opening(keys);
  return storeWith(store, {
    ...openedLog(store, keys, clock),
    readStream: async (stream, from, limit) => {
      const events = await store.readStream(stream, from, limit);
      const last = events.findLastIndex(({ type }) => erasures.has(type));
      return open(events, last);
    },
    readLast: async (stream) => {
      const last = await store.readLast(stream);
      return last === null ? null : ((await open([last]))[0] ?? null);
    },
  });
};
