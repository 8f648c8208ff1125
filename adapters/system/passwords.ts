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

const written = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$[\w-]+$/;

/** What a key is derived under. */
interface Salted {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
}

const prefixOf = ({ cost: { N, r, p }, salt }: Salted): string =>
  ['scrypt', N, r, p, salt.toString('base64url'), ''].join('$');

const parse = (hash: string): Salted => {
  const [, N, r, p, salt = ''] = written.exec(hash) ?? [];
  if (N === undefined) throw new Error('a stored password hash has an unknown form');
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
export class ScryptPasswords implements Passwords {
  readonly #entropy: Entropy;
  readonly #cost: PasswordCost;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(entropy: Entropy, cost: PasswordCost) {
    this.#entropy = entropy;
    this.#cost = cost;
  }

  hash(password: string, like: readonly string[]): Promise<string> {
    const shared = like.map(parse).find(({ cost }) => !isWeaker(cost, this.#cost));
    return this.#inTurn(() => derive(password, shared ?? this.#salted()));
  }

  async check(
    password: string,
    hashes: readonly string[],
  ): Promise<{ readonly hash: string; readonly isOutdated: boolean } | null> {
    const known = hashes.length === 0 ? [this.#salted()] : hashes.map(parse);
    const salts = new Map(known.map((salted) => [prefixOf(salted), salted]));
    const derived = await this.#inTurn(async () => {
      const keys: string[] = [];
      for (const salted of salts.values()) keys.push(await derive(password, salted));
      return keys;
    });
    const hash = hashes.find((stored) => derived.some((key) => isSame(key, stored)));
    return hash === undefined ? null : { hash, isOutdated: isWeaker(parse(hash).cost, this.#cost) };
  }

  #salted(): Salted {
    return { cost: this.#cost, salt: this.#entropy.bytes(saltLength) };
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
