import { createCipheriv, createDecipheriv } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { growingTo } from './growing.js';
import { FinalError } from '../domain/errors.js';
import type { Milliseconds } from '../domain/ids.js';
import type { MasterKey, MasterKeys } from '../domain/webhook-signing.js';
import type { PersonalKey } from './personal.js';
import {
  PersonalKeysUnavailable,
  type PersonalKeys,
  type StoredBlock,
  type WrappedBlock,
} from './ports/personal-keys.js';
import type { Clock, Entropy } from './ports/system.js';
import { within } from './within.js';

/** The keys of personal data as a process holds them: opened, and a supply of unused ones. */
export interface KeyRing {
  /** A key that no event has. At once, and without a write: the supply is filled ahead. Throws PersonalKeysUnavailable. */
  next(): PersonalKey;
  /** Resolves when there are keys for `next`, or when waiting for them has been in vain. Never rejects. */
  ready(): Promise<void>;
  /** Makes sure that `keyOf` knows these keys. Throws PersonalKeysUnavailable. */
  load(ids: readonly string[]): Promise<void>;
  /** A key that was loaded; null if it is destroyed or lost. */
  keyOf(id: string): Buffer | null;
  /** Destroys keys for good; those that are gone already are passed over. Throws PersonalKeysUnavailable. */
  destroy(ids: readonly string[]): Promise<void>;
}

export interface KeyRingOptions {
  readonly store: PersonalKeys;
  /** What blocks are encrypted with, newest first. */
  readonly masters: MasterKeys;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

const keyBytes = 32;
const keysInBlock = 256;
const blockBytes = keyBytes * keysInBlock;
const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** Blocks that are kept opened, at 8 KiB each. */
const mostOpened = 1_000;
/** Another process may have destroyed keys of a block: after this time it is read again. */
const staleAfter: Milliseconds = 5_000;
/** While the store is away or slow, what was known of a block will do for so long. */
const knownFor: Milliseconds = 600_000;
const longestRefresh: Milliseconds = 500;
/** With fewer unused keys than this, the next block is made: some are always ahead of those that are used. */
const supply = 4 * keysInBlock;
/** Many may wait at once, and each takes a key a moment later: with fewer than this, all wait for a block. */
const enough = keysInBlock;
const longestWait: Milliseconds = 5_000;
const pauseAfterFailure: Milliseconds = 250;

/** PERSONAL_KEY_FILE lacks a key: data would look as if it were erased. */
export class MissingPersonalKey extends FinalError {
  constructor(id: string) {
    super(
      `PERSONAL_KEY_FILE lacks the key ${id}: keys of personal data are encrypted with it. Give every process the same file, or add its line again, below the newest.`,
    );
  }
}

/** A block belongs to its number: another one's can't take its place. */
const belongsTo = (number: number): Buffer => Buffer.from(`personal-keys/${number}`);

const wrap = ({ id, key }: MasterKey, iv: Buffer, number: number, keys: Buffer): WrappedBlock => {
  const wrapping = createCipheriv(cipher, key, iv);
  wrapping.setAAD(belongsTo(number));
  const sealed = Buffer.concat([wrapping.update(keys), wrapping.final(), wrapping.getAuthTag()]);
  return { wrappedBy: id, iv, sealed };
};

/** Null if the block is not what was stored under its number. */
const unwrap = (masters: MasterKeys, { number, wrappedBy, iv, sealed }: StoredBlock): Buffer | null => {
  const master = masters.find(({ id }) => id === wrappedBy);
  if (master === undefined) throw new MissingPersonalKey(wrappedBy);
  try {
    const unwrapping = createDecipheriv(cipher, master.key, iv);
    unwrapping.setAAD(belongsTo(number));
    unwrapping.setAuthTag(sealed.subarray(sealed.length - tagBytes));
    const keys = Buffer.concat([
      unwrapping.update(sealed.subarray(0, sealed.length - tagBytes)),
      unwrapping.final(),
    ]);
    return keys.length === blockBytes ? keys : null;
  } catch {
    return null;
  }
};

/** The block and the place of a key; null for an id that this service did not make. */
const placeOf = (id: string): { readonly block: number; readonly slot: number } | null => {
  const [block = NaN, slot = NaN, ...more] = id.split('.').map(Number);
  const isPlace = Number.isSafeInteger(block) && Number.isInteger(slot) && slot >= 0 && slot < keysInBlock;
  return isPlace && more.length === 0 ? { block, slot } : null;
};

const slotIn = (keys: Buffer, slot: number): Buffer => keys.subarray(slot * keyBytes, (slot + 1) * keyBytes);

interface Opened {
  /** Null: lost. */
  readonly keys: Buffer | null;
  readonly at: Milliseconds;
}

/** The key ring of a process. Blocks that it finds are opened and never used for new events. */
export const keyRing = ({ store, masters, clock, entropy }: KeyRingOptions): KeyRing => {
  const opened = new LRUCache<number, Opened>(growingTo(mostOpened));
  const unused: PersonalKey[] = [];
  let filling: Promise<void> | null = null;

  const keep = (number: number, keys: Buffer | null): void =>
    void opened.set(number, { keys, at: clock.monotonic() });

  const addBlock = async (): Promise<void> => {
    const keys = entropy.bytes(blockBytes);
    const number = await store.add((given) => wrap(masters[0], entropy.bytes(ivBytes), given, keys));
    keep(number, keys);
    for (let slot = 0; slot < keysInBlock; slot += 1)
      unused.push({ id: `${number}.${slot}`, key: slotIn(keys, slot) });
  };

  /** One at a time. After a failure the next caller tries again, a moment later. */
  const fill = (): Promise<void> => {
    filling ??= (async () => {
      try {
        while (unused.length < supply) await addBlock();
      } catch {
        await clock.sleep(pauseAfterFailure);
      } finally {
        filling = null;
      }
    })();
    return filling;
  };

  const waitForKeys = async (): Promise<void> => {
    const until = clock.monotonic() + longestWait;
    while (unused.length < enough && clock.monotonic() < until)
      await within(clock, longestWait, fill(), () => undefined);
  };

  const isFresh = (number: number): boolean => {
    const known = opened.peek(number);
    return known !== undefined && clock.monotonic() - known.at < staleAfter;
  };

  const isKnown = (number: number): boolean => {
    const known = opened.peek(number);
    return known !== undefined && clock.monotonic() - known.at < knownFor;
  };

  const load = async (ids: readonly string[]): Promise<void> => {
    const wanted = new Set<number>();
    for (const id of ids) {
      const place = placeOf(id);
      if (place !== null && !isFresh(place.block)) wanted.add(place.block);
    }
    if (wanted.size === 0) return;
    const refreshed = refresh([...wanted]);
    if (![...wanted].every(isKnown)) return refreshed;
    await within(
      clock,
      longestRefresh,
      refreshed.catch(() => undefined),
      () => undefined,
    );
  };

  const refresh = async (numbers: readonly number[]): Promise<void> => {
    const found = new Map((await store.load(numbers)).map((block) => [block.number, block]));
    for (const number of numbers) {
      const block = found.get(number);
      keep(number, block === undefined ? null : unwrap(masters, block));
    }
  };

  const zero = async (number: number, slots: readonly number[]): Promise<void> => {
    for (;;) {
      const [block] = await store.load([number]);
      const keys = block === undefined ? null : unwrap(masters, block);
      if (block === undefined || keys === null) return;
      for (const slot of slots) slotIn(keys, slot).fill(0);
      const { version } = block;
      const zeroed = { number, version, ...wrap(masters[0], entropy.bytes(ivBytes), number, keys) };
      if (!(await store.replace(zeroed))) continue;
      keep(number, keys);
      return;
    }
  };

  return {
    next: () => {
      const key = unused.shift();
      if (unused.length < supply) void fill();
      if (key === undefined) throw new PersonalKeysUnavailable('There is no key for personal data at hand.');
      return key;
    },
    ready: () => (unused.length >= enough ? Promise.resolve() : waitForKeys()),
    load,
    keyOf: (id) => {
      const place = placeOf(id);
      const keys = place === null ? null : (opened.get(place.block)?.keys ?? null);
      if (place === null || keys === null) return null;
      const key = slotIn(keys, place.slot);
      return key.every((byte) => byte === 0) ? null : key;
    },
    destroy: async (ids) => {
      const byBlock = new Map<number, number[]>();
      for (const id of ids) {
        const place = placeOf(id);
        if (place !== null) byBlock.set(place.block, [...(byBlock.get(place.block) ?? []), place.slot]);
      }
      for (const [number, slots] of byBlock) await zero(number, slots);
    },
  };
};
