import { scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { LazyLru } from '../../application/memory/lazy-lru.js';
import { TooManySignIns, type PasswordClient, type Passwords } from '../../application/ports/passwords.js';
import type { Entropy } from '../../application/ports/system.js';

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
const maxRemembered = 10_000;

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

const tooMany = (): TooManySignIns => new TooManySignIns('too many passwords are being checked');

interface Waiting extends PasswordClient {
  readonly begin: () => void;
  readonly refuse: (error: TooManySignIns) => void;
}

/** Passwords hashed with scrypt, at most two at a time; the cost of each hash is kept with it. */
export const scryptPasswords = (entropy: Entropy, usual: PasswordCost): Passwords => {
  let waiting: readonly Waiting[] = [];
  const running: string[] = [];
  /** The number of the last turn of each, unless its password was right. */
  const turns = new LazyLru<string, number>(maxRemembered);
  let turn = 0;

  const salted = (): Salted => ({ cost: usual, salt: entropy.bytes(saltLength) });

  const begin = (from: string): void => {
    running.push(from);
    turns.set(from, (turn += 1));
  };

  /**
   * Known browsers come first: few at once, and few a minute. Then comes the client whose network had a turn
   * least recently, so that many tries of few clients delay only those few. Among networks that had none, the
   * first try of each comes before any second one. Among equals the newest comes first: under a flood, the
   * oldest have been given up.
   */
  const inOrder = (): readonly Waiting[] => {
    const tries = new Map<string, number>();
    const ranked = waiting.map((each) => {
      const { from, isKnown = false } = each;
      const before = tries.get(from) ?? 0;
      tries.set(from, before + 1);
      return { each, rank: isKnown ? 0 : 1, turn: turns.peek(from) ?? 0, before };
    });
    return ranked
      .toReversed()
      .sort((one, other) => one.rank - other.rank || one.turn - other.turn || one.before - other.before)
      .map(({ each }) => each);
  };

  const remove = (gone: Waiting): void => {
    waiting = waiting.filter((each) => each !== gone);
  };

  /** Where too many wait, the one whose turn would come last waits no longer. */
  const wait = (client: PasswordClient): Promise<void> =>
    new Promise((resolve, refuse) => {
      waiting = [...waiting, { ...client, begin: resolve, refuse }];
      const last = waiting.length > maxWaiting ? inOrder().at(-1) : undefined;
      if (last === undefined) return;
      remove(last);
      last.refuse(tooMany());
    });

  const inTurn = async <T>(client: PasswordClient, work: () => Promise<T>): Promise<T> => {
    const { from } = client;
    const taken = [...running, ...waiting.map((each) => each.from)];
    if (taken.filter((each) => each === from).length >= maxPlacesOfOne) throw tooMany();
    if (running.length < atOnce) begin(from);
    else await wait(client);
    try {
      return await work();
    } finally {
      running.splice(running.indexOf(from), 1);
      const [next] = inOrder();
      if (next !== undefined) {
        remove(next);
        begin(next.from);
        next.begin();
      }
    }
  };

  return {
    hash: (password, like, client) => {
      const shared = like.map(parse).find(({ cost }) => !isWeaker(cost, usual));
      return inTurn(client, () => derive(password, shared ?? salted()));
    },

    check: async (password, hashes, client) => {
      const known = hashes.length === 0 ? [salted()] : hashes.map(parse);
      const salts = new Map(known.map((each) => [prefixOf(each), each]));
      const derived = await inTurn(client, async () => {
        const keys: string[] = [];
        for (const each of salts.values()) keys.push(await derive(password, each));
        return keys;
      });
      const hash = hashes.find((stored) => derived.some((key) => isSame(key, stored)));
      if (hash === undefined) return null;
      turns.delete(client.from);
      return { hash, isOutdated: isWeaker(parse(hash).cost, usual) };
    },
  };
};
