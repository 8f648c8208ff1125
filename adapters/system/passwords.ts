import { scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import type { Passwords } from '../../application/ports/passwords.js';
import type { Entropy } from '../../application/ports/system.js';
import { fairTurns } from './fair-turns.js';

/** The cost of a hash. 128 × N × r bytes of memory: 32 MiB. */
export interface PasswordCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

export const usualCost: PasswordCost = { N: 32_768, r: 8, p: 3 };
const hashLength = 32;
const saltLength = 16;

/** Hashing takes a thread of Node's pool and its memory: more at once would hold up everything else. */
const atOnce = 2;
const maxPlacesOfOne = 4;
const maxWaiting = 40;

/**
 * As long as 256 characters can be before they are composed. Later ones are ignored: normalising takes
 * quadratic time for a long run of combining marks.
 */
const maxLength = 2_048;

const written = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$[\w-]+$/;

/** The parameters from which a key is derived. */
interface Salted {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
}

const prefixOf = ({ cost: { N, r, p }, salt }: Salted): string =>
  ['scrypt', N, r, p, salt.toString('base64url'), ''].join('$');

const parse = (hash: string): Salted => {
  const [, N, r, p, salt = ''] = written.exec(hash) ?? [];
  if (N === undefined) throw new Error('a stored password hash has an unknown format');
  return { cost: { N: Number(N), r: Number(r), p: Number(p) }, salt: Buffer.from(salt, 'base64url') };
};

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const derive = (password: string, salted: Salted): Promise<string> => {
  const { cost, salt } = salted;
  const options: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r };
  return new Promise((done, fail) => {
    scrypt(password.slice(0, maxLength).normalize('NFKC'), salt, hashLength, options, (error, key) =>
      error === null ? done(`${prefixOf(salted)}${key.toString('base64url')}`) : fail(error),
    );
  });
};

const isWeaker = (cost: PasswordCost, than: PasswordCost): boolean =>
  cost.N * cost.r * cost.p < than.N * than.r * than.p;

/** Passwords hashed with scrypt, at most two at a time; the cost of each hash is kept with it. */
export const scryptPasswords = (entropy: Entropy, usual: PasswordCost): Passwords => {
  const turns = fairTurns({ atOnce, maxPlacesOfOne, maxWaiting, what: 'checked' });

  const salted = (): Salted => ({ cost: usual, salt: entropy.bytes(saltLength) });

  return {
    hash: (password, like, client) => {
      const shared = like.map(parse).find(({ cost }) => !isWeaker(cost, usual));
      return turns.take(client, () => derive(password, shared ?? salted()));
    },

    check: async (password, hashes, client) => {
      const known = hashes.length === 0 ? [salted()] : hashes.map(parse);
      const salts = new Map(known.map((each) => [prefixOf(each), each]));
      const derived = await turns.take(client, async () => {
        const keys: string[] = [];
        for (const each of salts.values()) keys.push(await derive(password, each));
        return keys;
      });
      const hash = hashes.find((stored) => derived.some((key) => isSame(key, stored)));
      if (hash === undefined) return null;
      turns.forget(client.from);
      return { hash, isOutdated: isWeaker(parse(hash).cost, usual) };
    },
  };
};
