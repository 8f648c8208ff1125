import { scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { TooManySignIns, type Passwords } from '../../application/ports/passwords.js';
import type { Entropy } from '../../application/ports/system.js';

/** What a hash costs. 128 × N × r bytes of memory: 32 MiB. */
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
const mostWaiting = 20;

/**
 * As much as 256 characters can be before they are composed. What follows is left out: normalising takes
 * quadratic time for a long run of combining marks.
 */
const maxLength = 2_048;

const derive = (password: string, salt: Buffer, cost: PasswordCost): Promise<Buffer> => {
  const options: ScryptOptions = { ...cost, maxmem: 256 * cost.N * cost.r };
  return new Promise((done, fail) => {
    scrypt(password.slice(0, maxLength).normalize('NFKC'), salt, hashLength, options, (error, key) =>
      error === null ? done(key) : fail(error),
    );
  });
};

const written = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/;

interface StoredHash {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
  readonly key: Buffer;
}

const format = ({ cost: { N, r, p }, salt, key }: StoredHash): string =>
  ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join('$');

const parse = (hash: string): StoredHash => {
  const [, N, r, p, salt = '', key = ''] = written.exec(hash) ?? [];
  if (N === undefined) throw new Error('a stored password hash has an unknown form');
  return {
    cost: { N: Number(N), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    key: Buffer.from(key, 'base64url'),
  };
};

const isWeaker = (cost: PasswordCost, than: PasswordCost): boolean =>
  cost.N * cost.r * cost.p < than.N * than.r * than.p;

/** Passwords hashed with scrypt, at most two at a time; the cost of each hash is kept with it. */
export class ScryptPasswords implements Passwords {
  readonly #entropy: Entropy;
  readonly #cost: PasswordCost;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(entropy: Entropy, cost: PasswordCost) {
    this.#entropy = entropy;
    this.#cost = cost;
  }

  async hash(password: string): Promise<string> {
    const salt = this.#entropy.bytes(saltLength);
    const key = await this.#inTurn(() => derive(password, salt, this.#cost));
    return format({ cost: this.#cost, salt, key });
  }

  async check(
    password: string,
    hash: string | null,
  ): Promise<{ readonly matches: boolean; readonly isOutdated: boolean }> {
    const { cost, salt, key } = hash === null ? this.#nobody() : parse(hash);
    const derived = await this.#inTurn(() => derive(password, salt, cost));
    const matches = timingSafeEqual(derived, key) && hash !== null;
    return { matches, isOutdated: matches && isWeaker(cost, this.#cost) };
  }

  #nobody(): StoredHash {
    return { cost: this.#cost, salt: this.#entropy.bytes(saltLength), key: Buffer.alloc(hashLength) };
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= atOnce) {
      if (this.#waiting.length >= mostWaiting)
        throw new TooManySignIns('too many passwords are being checked');
      await new Promise<void>((next) => this.#waiting.push(next));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      // Whoever waits longest takes the place over; without anybody it is free.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
