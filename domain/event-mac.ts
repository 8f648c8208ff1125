import { hash as digestOf, hkdfSync } from 'node:crypto';
import { FinalError } from './errors.js';
import type { MasterKeys } from './webhook-signing.js';

/** EVENT_KEY_FILE lacks a key that an event of the log names, so the event can't be verified. */
export class MissingEventKey extends FinalError {
  constructor(
    readonly id: string,
    readonly event: string,
  ) {
    super(
      `EVENT_KEY_FILE lacks the key ${id}, which the event ${event} names. Restore the file from a backup, or add that line again, below the newest. Lines are never removed. If no process ever had that key, the event was not written by this service: docs/incidents.md, "Events that the service did not write".`,
    );
  }
}

/**
 * The MACs that events carry beside their hashes: only a process with EVENT_KEY_FILE can have made them.
 * (docs/audit.md#macs)
 */
export type EventMacs = ReturnType<typeof eventMacs>;

/** The id of the key that a MAC was made with. */
export const macKeyId = (mac: string): string => mac.slice(0, Math.max(0, mac.indexOf(':')));

const purpose = 'handwritten-card-service/event-mac/v1';

/** Of SHA-256. */
const blockBytes = 64;
const hashBytes = 32;

/** A key combined with each of HMAC's two constants; the message follows. */
const padded = (key: Buffer, pad: number): Buffer => {
  const block = Buffer.alloc(blockBytes + hashBytes, pad);
  for (const [at, byte] of key.entries()) block[at] = byte ^ pad;
  return block;
};

/**
 * HMAC-SHA-256 of a hash, as RFC 2104 defines it: the hash covers the whole event and its place, and has one
 * length, so its MAC is one of all that. Two digests at once take half the time of `createHmac`, which every
 * event would pay.
 */
const macWith = (master: Buffer): ((hash: string) => string) => {
  const key = Buffer.from(hkdfSync('sha256', master, '', purpose, hashBytes));
  const [inner, outer] = [padded(key, 0x36), padded(key, 0x5c)];
  return (hash) => {
    if (inner.write(hash, blockBytes, 'hex') !== hashBytes) throw new RangeError(`${hash} is no SHA-256`);
    outer.write(digestOf('sha256', inner, 'hex'), blockBytes, 'hex');
    return digestOf('sha256', outer, 'base64url');
  };
};

/** `keys`: of EVENT_KEY_FILE, the newest first. */
export const eventMacs = (keys: MasterKeys) => {
  const derived = new Map(
    keys.map(({ id, key, isRetired = false }) => [id, { macOf: macWith(key), isRetired }]),
  );
  const [newest] = keys;
  const newestMac = macWith(newest.key);
  return {
    /** `{id of the key}:{base64url of HMAC-SHA-256}` over the hash of an event, with the newest key. */
    sign: (hash: string): string => `${newest.id}:${newestMac(hash)}`,
    /**
     * Whether the MAC is that of the hash; null if there is no key with the id that it names. `isNew`:
     * nothing was signed that covers the event, so a retired key does not count.
     */
    verifies: (hash: string, mac: string, isNew: boolean): boolean | null => {
      const id = macKeyId(mac);
      const known = derived.get(id);
      if (known === undefined) return null;
      return !(isNew && known.isRetired) && mac === `${id}:${known.macOf(hash)}`;
    },
  };
};
