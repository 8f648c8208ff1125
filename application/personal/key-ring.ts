import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { LazyLru } from '../memory/lazy-lru.js';
import { FinalError, messageOf } from '../../domain/errors.js';
import type { Milliseconds, Uuid } from '../../domain/ids.js';
import type { MasterKeys } from '../../domain/webhook-signing.js';
import {
  givenUp,
  isGivenUp,
  pagesOfBlocks,
  PersonalKeysUnavailable,
  type PersonalKeys,
  type StoredBlock,
  type WrappedBlock,
  wrapperOf,
} from '../ports/personal-keys.js';
import type { Clock, Entropy } from '../ports/system.js';
import { withTimeout } from '../timing/with-timeout.js';

const cipher = 'aes-256-gcm';
const tagBytes = 16;
export const ivBytes = 12;

/** Ciphertext and tag, which belong to the owner with this name and to no other. */
export const encrypt = (key: Buffer, iv: Buffer, owner: string, plain: Buffer | string): Buffer => {
  const encrypting = createCipheriv(cipher, key, iv).setAAD(Buffer.from(owner));
  return Buffer.concat([encrypting.update(plain), encrypting.final(), encrypting.getAuthTag()]);
};

/** Null for bytes that were not encrypted with this key, for this owner. */
export const decrypt = (key: Buffer, iv: Buffer, owner: string, sealed: Buffer): Buffer | null => {
  const end = sealed.length - tagBytes;
  if (end < 0) return null;
  try {
    const decrypting = createDecipheriv(cipher, key, iv).setAAD(Buffer.from(owner));
    decrypting.setAuthTag(sealed.subarray(end));
    return Buffer.concat([decrypting.update(sealed.subarray(0, end)), decrypting.final()]);
  } catch {
    return null;
  }
};

/** The key of one event. `id`: the number of its block and its place there. */
export interface PersonalKey {
  readonly id: string;
  readonly key: Buffer;
}

/** The keys of personal data as a process holds them: opened, and a supply of unused ones. */
export type KeyRing = ReturnType<typeof keyRing>;

/** Personal data, as JSON text, that was sealed for an event. */
export interface JustSealed {
  readonly event: Uuid;
  readonly text: string;
}

export interface KeyRingOptions {
  readonly store: PersonalKeys;
  /** Settles once the keys are known to belong to the log; null or absent: they do. */
  readonly admitted?: Promise<void> | null;
  /** Called when a block turns out not to be there, before anything is read without it. */
  readonly onMissing?: () => Promise<void>;
  /** The keys that blocks are encrypted with, newest first. */
  readonly masters: MasterKeys;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

const keyBytes = 32;
const keysInBlock = 256;
const destroyed = Buffer.alloc(keyBytes);
const blockBytes = keyBytes * keysInBlock;

/** Blocks that are kept opened, at 8 KiB each. */
const maxOpened = 1_000;
/** Followers read sealed events a moment later: notes of the last thousand are enough. */
const maxNoted = 1_000;
/** Another process may have destroyed keys of a block: after this time it is read again. */
export const cacheTtl: Milliseconds = 5_000;
/** While the store is away or slow, a block is still trusted for this long. */
const fallbackTtl: Milliseconds = 600_000;
const refreshTimeout: Milliseconds = 500;
/** With fewer unused keys than this, the next blocks are made, so that some are always ahead. */
const supply = 4 * keysInBlock;
/** Each addition is a sync of the disk, and the thread that answers waits for it. */
const addedAtOnce = 4;
/** Below this, callers wait for a new block: many may ask at once. */
const minAvailable = keysInBlock;
const waitTimeout: Milliseconds = 5_000;
const pauseAfterFailure: Milliseconds = 250;
/** A store that has failed is refused for at once, unless it recovers within this time. */
const maxWaitAfterFailure: Milliseconds = 25;

/** PERSONAL_KEY_FILE lacks a key: data would look as if it were erased. */
export class MissingPersonalKey extends FinalError {
  constructor(id: string) {
    super(
      `PERSONAL_KEY_FILE lacks the key ${id}: keys of personal data are encrypted with it. Give every process the same file, or add its line again, below the newest.`,
    );
  }
}

/** The key is lost under which idempotency keys are looked up: with another one, repeats would send twice. */
export class LostIndexKey extends FinalError {
  /** `wrappedBy`: the key that it does not open with; null if it is not there. */
  constructor(wrappedBy: string | null) {
    const what = `block 0 of the store of personal keys (keys.db, or the collection personal_keys), under whose key idempotency keys are looked up`;
    super(
      wrappedBy === null
        ? `There is no ${what}. Restore the store from a backup, or give it up: "personal give-up".`
        : `The key ${wrappedBy} in PERSONAL_KEY_FILE does not open ${what}. Restore that file: it must be the one that the store was made with. If it is, the block is damaged: restore the store from a backup, or give it up: "personal give-up".`,
    );
  }
}

/** A key of PERSONAL_KEY_FILE opens none of the blocks that its id names. */
export class WrongPersonalKey extends FinalError {
  constructor(id: string) {
    super(
      `The key ${id} in PERSONAL_KEY_FILE opens no block of the store of personal keys, and nothing is given up: it is another key than the one of that id with which they were encrypted. Restore that file. If that key is lost for good, give this one another id first.`,
    );
  }
}

/** Binds a block to its number, so that no other block can take its place. */
const ownerOf = (number: number): string => `personal-keys/${number}`;

/** Encrypts a block with the newest key. */
const wrap = (
  [{ id, key }]: MasterKeys,
  entropy: Pick<Entropy, 'bytes'>,
  number: number,
  keys: Buffer,
): WrappedBlock => {
  const iv = entropy.bytes(ivBytes);
  return { wrappedBy: id, iv, sealed: encrypt(key, iv, ownerOf(number), keys) };
};

/** The block with these keys instead, encrypted with the newest key. One that was given up stays so. */
const withKeys = (
  masters: MasterKeys,
  entropy: Pick<Entropy, 'bytes'>,
  { number, version, wrappedBy: before }: StoredBlock,
  keys: Buffer,
): StoredBlock => {
  const { wrappedBy, ...sealed } = wrap(masters, entropy, number, keys);
  return { number, version, ...sealed, wrappedBy: isGivenUp(before) ? givenUp(wrappedBy) : wrappedBy };
};

/** Null if the block differs from the one stored under its number, or was given up and its key is gone. */
const unwrap = (masters: MasterKeys, { number, wrappedBy, iv, sealed }: StoredBlock): Buffer | null => {
  const master = masters.find(({ id }) => id === wrapperOf(wrappedBy));
  if (master === undefined && isGivenUp(wrappedBy)) return null;
  if (master === undefined) throw new MissingPersonalKey(wrappedBy);
  const keys = decrypt(master.key, iv, ownerOf(number), sealed);
  return keys?.length === blockBytes ? keys : null;
};

/** The block and the place of a key; null for an id that this service did not make. */
const placeOf = (id: string): { readonly block: number; readonly slot: number } | null => {
  const dot = id.indexOf('.');
  const [block, slot] = [Number(id.slice(0, dot)), Number(id.slice(dot + 1))];
  const isBlock = dot > 0 && Number.isSafeInteger(block) && block > 0;
  return isBlock && Number.isInteger(slot) && slot >= 0 && slot < keysInBlock ? { block, slot } : null;
};

/** A block of keys that no other block has. */
export const newBlock = (
  masters: MasterKeys,
  entropy: Pick<Entropy, 'bytes'>,
  number: number,
): WrappedBlock => wrap(masters, entropy, number, entropy.bytes(blockBytes));

/** Whether the keys of a block are lost: the block was changed, or its master key is gone. */
export const isLost = (masters: MasterKeys, block: StoredBlock): boolean =>
  !masters.some(({ id }) => id === block.wrappedBy) || unwrap(masters, block) === null;

/** The block of a key; null for an id that this service did not make. */
export const blockOf = (id: string): number | null => placeOf(id)?.block ?? null;

/** Numbers of blocks are drawn from so many bytes that two stores of keys never share one. */
const numberBytes = 6;

const slotIn = (keys: Buffer, slot: number): Buffer => keys.subarray(slot * keyBytes, (slot + 1) * keyBytes);

interface OpenedBlock {
  /** Null: lost. */
  readonly keys: Buffer | null;
  readonly isGivenUp: boolean;
  readonly at: Milliseconds;
}

/** The key ring of a process. Blocks that it finds are opened and never used for new events. */
export const keyRing = (options: KeyRingOptions) => {
  const { store, admitted = null, onMissing = async () => undefined, masters, clock, entropy } = options;
  const opened = new LazyLru<number, OpenedBlock>(maxOpened);
  /** Oldest first: a cache that moves recently read entries would cost a send more. */
  const noted = new Map<string, JustSealed>();
  const unused: PersonalKey[] = [];
  let filling: Promise<void> | null = null;
  /** Why the supply could not be filled, and when; null since it could. */
  let failure: { readonly error: unknown; readonly at: Milliseconds } | null = null;
  let index: Promise<Buffer> | null = null;

  const keep = (number: number, keys: Buffer | null, isGivenUp = false): void =>
    void opened.set(number, { keys, isGivenUp, at: clock.monotonic() });

  const admission = async (): Promise<void> => {
    if (admitted !== null)
      await withTimeout(clock, waitTimeout, admitted, () => {
        throw new PersonalKeysUnavailable(
          'The keys of personal data have not been compared with the log yet.',
        );
      });
  };

  const openIndex = async (): Promise<Buffer> => {
    await admission();
    const block = await store.first((number) => newBlock(masters, entropy, number));
    const keys = block === null ? null : unwrap(masters, block);
    if (keys === null) throw new LostIndexKey(block?.wrappedBy ?? null);
    return slotIn(keys, 0);
  };

  const indexKey = (): Promise<Buffer> => {
    index ??= openIndex().catch((error: unknown) => {
      index = null;
      throw error;
    });
    return index;
  };

  const addBlocks = async (): Promise<void> => {
    await indexKey();
    const numbers = entropy.bytes(addedAtOnce * numberBytes);
    const made = Array.from({ length: addedAtOnce }, (_, at) => ({
      number: numbers.readUIntBE(at * numberBytes, numberBytes),
      keys: entropy.bytes(blockBytes),
    }));
    await store.add(made.map(({ number, keys }) => ({ number, ...wrap(masters, entropy, number, keys) })));
    for (const { number, keys } of made) {
      keep(number, keys);
      for (let slot = 0; slot < keysInBlock; slot += 1)
        unused.push({ id: `${number}.${slot}`, key: slotIn(keys, slot) });
    }
  };

  /** Fills the supply of unused keys, if it isn't full. Throws PersonalKeysUnavailable. */
  const fill = (): Promise<void> => {
    filling ??= (async () => {
      try {
        while (unused.length < supply) await addBlocks();
        failure = null;
      } catch (error) {
        failure = { error, at: clock.monotonic() };
        throw error;
      } finally {
        filling = null;
      }
    })();
    return filling;
  };

  /** After a failure it is tried again a moment later. */
  const refill = async (): Promise<void> => {
    if (failure === null || clock.monotonic() >= failure.at + pauseAfterFailure)
      await fill().catch(() => undefined);
  };

  const waitForKeys = async (): Promise<void> => {
    const until = clock.monotonic() + waitTimeout;
    while (unused.length < minAvailable && failure === null && clock.monotonic() < until)
      await withTimeout(clock, waitTimeout, refill(), () => undefined);
    if (failure !== null) await withTimeout(clock, maxWaitAfterFailure, refill(), () => undefined);
  };

  const isKnownFor = (number: number, ttl: Milliseconds): boolean => {
    const known = opened.peek(number);
    return known !== undefined && clock.monotonic() - known.at < ttl;
  };

  /** Makes sure that `keyOf` knows these keys. Throws PersonalKeysUnavailable. */
  const load = async (ids: readonly string[]): Promise<void> => {
    const blocks = new Set(ids.flatMap((id) => blockOf(id) ?? []));
    const wanted = [...blocks].filter((block) => !isKnownFor(block, cacheTtl));
    if (wanted.length === 0) return;
    await admission();
    const refreshed = refresh(wanted);
    if (!wanted.every((block) => isKnownFor(block, fallbackTtl))) return refreshed;
    await withTimeout(
      clock,
      refreshTimeout,
      refreshed.catch(() => undefined),
      () => undefined,
    );
  };

  const refresh = async (numbers: readonly number[]): Promise<void> => {
    const found = new Map((await store.load(numbers)).map((block) => [block.number, block]));
    if (numbers.some((number) => !found.has(number) && opened.peek(number)?.keys !== null)) await onMissing();
    for (const number of numbers) {
      const block = found.get(number);
      keep(
        number,
        block === undefined ? null : unwrap(masters, block),
        block !== undefined && isGivenUp(block.wrappedBy),
      );
    }
  };

  const openBlock = (): number | null => {
    for (const [number, { keys }] of opened.entries()) if (keys !== null) return number;
    return null;
  };

  const zero = async (number: number, slots: readonly number[]): Promise<void> => {
    for (;;) {
      const [block] = await store.load([number]);
      const keys = block === undefined ? null : unwrap(masters, block);
      if (block === undefined || keys === null) return;
      for (const slot of slots) slotIn(keys, slot).fill(0);
      if (!(await store.replace(withKeys(masters, entropy, block, keys)))) continue;
      keep(number, keys);
      return;
    }
  };

  return {
    fill,
    load,
    /**
     * A key that no event has. At once, and without a write: the supply is filled ahead. Throws
     * PersonalKeysUnavailable.
     */
    next: (): PersonalKey => {
      const key = unused.shift();
      if (unused.length < supply) void refill();
      if (key !== undefined) return key;
      const reason =
        failure === null ? 'Making keys for personal data takes too long.' : messageOf(failure.error);
      throw new PersonalKeysUnavailable(reason, { cause: failure?.error });
    },
    /**
     * Resolves when there are keys for `next`, or when waiting for them would be in vain: for too long, or
     * after making some has failed. Never rejects.
     */
    ready: (): Promise<void> => (unused.length >= minAvailable ? Promise.resolve() : waitForKeys()),
    /** A key that was loaded; null if it is destroyed or lost. */
    keyOf: (id: string): Buffer | null => {
      const place = placeOf(id);
      const keys = place === null ? null : (opened.get(place.block)?.keys ?? null);
      if (place === null || keys === null) return null;
      const key = slotIn(keys, place.slot);
      return key.equals(destroyed) ? null : key;
    },
    /** Whether a key that was loaded is one of those that were given up. */
    isGivenUp: (id: string): boolean => opened.peek(blockOf(id) ?? 0)?.isGivenUp === true,
    /**
     * Caches, in memory alone, the data that was sealed with a key: this process reads it next, more than
     * once.
     */
    note: (id: string, sealed: JustSealed): void => {
      noted.set(id, sealed);
      const oldest = noted.size > maxNoted ? noted.keys().next() : null;
      if (oldest?.done === false) noted.delete(oldest.value);
    },
    /** The note for a key, if it is still known. Check `keyOf` before you show it. */
    noted: (id: string): JustSealed | null => noted.get(id) ?? null,
    /**
     * Checks that the next keys, or else some that are open, are still in the store. If the next ones are
     * not, others take their place. Throws PersonalKeysUnavailable, and the errors of `onMissing`.
     */
    check: async (): Promise<void> => {
      const block = blockOf(unused[0]?.id ?? '') ?? openBlock();
      if (block === null) return;
      await refresh([block]);
      if (opened.peek(block)?.keys === null) unused.length = 0;
    },
    /**
     * Replaces, in stores and events, a text that must be found again and could be guessed by its
     * HMAC-SHA-256 under a key that never changes. Throws PersonalKeysUnavailable, LostIndexKey and
     * MissingPersonalKey.
     */
    hashed: async (...parts: readonly string[]): Promise<string> =>
      createHmac('sha256', await indexKey())
        .update(JSON.stringify(parts))
        .digest('base64url'),
    /**
     * Takes back the blocks that were given up and that open again. What was erased since could not be
     * destroyed in them, so the shredder, which calls this before it begins, goes back to the beginning of
     * the log first. Throws PersonalKeysUnavailable.
     */
    takeBack: async (): Promise<void> => {
      const isFound = (wrapper: string): boolean =>
        isGivenUp(wrapper) && masters.some(({ id }) => id === wrapperOf(wrapper));
      if (!(await store.wrappers()).some(isFound)) return;
      let mark = await store.mark();
      for await (const page of pagesOfBlocks(store))
        for (const block of page) {
          if (!isFound(block.wrappedBy) || unwrap(masters, block) === null) continue;
          if (mark !== null && !(await store.saveMark({ position: 0n, event: null }, mark, []))) return;
          mark = null;
          await store.replace({ ...block, wrappedBy: wrapperOf(block.wrappedBy) });
        }
    },
    /** Destroys keys for good; missing ones are skipped. Throws PersonalKeysUnavailable. */
    destroy: async (ids: readonly string[]): Promise<void> => {
      for (const id of ids) noted.delete(id);
      const byBlock = new Map<number, number[]>();
      for (const id of ids) {
        const place = placeOf(id);
        if (place !== null) byBlock.set(place.block, [...(byBlock.get(place.block) ?? []), place.slot]);
      }
      for (const [number, slots] of byBlock) await zero(number, slots);
    },
  };
};

const withoutKeys = (): never => {
  throw new PersonalKeysUnavailable('This process has no keys for personal data.');
};

/** Of a process that has nothing to do with personal data: to it, all is sealed. */
export const noKeys: KeyRing = {
  next: withoutKeys,
  ready: () => Promise.resolve(),
  fill: async () => withoutKeys(),
  load: () => Promise.resolve(),
  keyOf: () => null,
  isGivenUp: () => false,
  note: () => undefined,
  noted: () => null,
  check: () => Promise.resolve(),
  hashed: async () => withoutKeys(),
  takeBack: async () => withoutKeys(),
  destroy: async () => withoutKeys(),
};

export interface Rotated {
  /** Blocks that are encrypted with the newest key now, and were not before. */
  readonly wrapped: number;
  /** Blocks that were changed or damaged: their keys are lost. */
  readonly unreadable: number;
}

/**
 * Encrypts every block with the newest key, so that older copies of the blocks can't be opened any more once
 * the lines of the older keys are gone. It can be repeated, and keys may be made and destroyed meanwhile.
 * Throws MissingPersonalKey and PersonalKeysUnavailable.
 */
export const rotateKeys = async (
  { store, masters, entropy }: Omit<KeyRingOptions, 'clock'>,
  onProgress: (blocks: number) => void = () => undefined,
): Promise<Rotated> => {
  const [newest] = masters;
  const rotate = async (found: StoredBlock): Promise<keyof Rotated | null> => {
    for (let block: StoredBlock | undefined = found; block !== undefined;) {
      if (wrapperOf(block.wrappedBy) === newest.id) return null;
      const keys = unwrap(masters, block);
      if (keys === null) return isGivenUp(block.wrappedBy) ? null : 'unreadable';
      if (await store.replace(withKeys(masters, entropy, block, keys))) return 'wrapped';
      [block] = await store.load([block.number]);
    }
    return null;
  };
  const counts = { wrapped: 0, unreadable: 0 };
  let seen = 0;
  for await (const blocks of pagesOfBlocks(store)) {
    for (const block of blocks) {
      const outcome = await rotate(block);
      if (outcome !== null) counts[outcome] += 1;
    }
    seen += blocks.length;
    onProgress(seen);
  }
  return counts;
};
