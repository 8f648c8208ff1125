import { createHook } from 'node:async_hooks';
import { expect } from 'chai';
import { scryptPasswords, usualCost } from '../../../adapters/system/passwords.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { Entropy } from '../../../application/ports/system.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { cheapPasswords } from '../../support/fixtures/cheap-passwords.js';

const passwords = (cost = cheapPasswords) => scryptPasswords(new SystemEntropy(), cost);

describe('passwords', () => {
  it('are recognised by a hash that does not show them, and differs each time', async () => {
    const [one, other] = await Promise.all([
      passwords().hash('a long secret', [], { from: 'a' }),
      passwords().hash('a long secret', [], { from: 'a' }),
    ]);
    expect(one).to.match(/^scrypt\$16\$1\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(one).not.to.equal(other);
    const matched = { hash: one, isOutdated: false };
    expect(await passwords().check('a long secret', [one], { from: 'a' })).to.deep.equal(matched);
    expect(await passwords().check('A long secret', [one], { from: 'a' })).to.equal(null);
  });

  it('match however the keyboard composes their letters', async () => {
    const hash = await passwords().hash('Zo\u00eb', [], { from: 'a' });
    expect((await passwords().check('Zoe\u0308', [hash], { from: 'a' }))?.hash).to.equal(hash);
  });

  it('never match where there is no hash', async () => {
    expect(await passwords().check('', [], { from: 'a' })).to.equal(null);
  });

  it('are told apart among the hashes of several, which share their salt and are tried at once', async () => {
    const one = await passwords().hash('a long secret', [], { from: 'a' });
    const other = await passwords().hash('another secret', [one], { from: 'a' });
    expect(other.split('$').slice(0, 5)).to.deep.equal(one.split('$').slice(0, 5));
    expect(await passwords().hash('a long secret', [other], { from: 'a' })).to.equal(one);
    expect((await passwords().check('another secret', [one, other], { from: 'a' }))?.hash).to.equal(other);
    expect((await passwords().check('a long secret', [other, one], { from: 'a' }))?.hash).to.equal(one);
    expect(await passwords().check('a third secret', [one, other], { from: 'a' })).to.equal(null);
  });

  it('are hashed once for an address without an account, and once for one with three', async () => {
    const first = await passwords().hash('first', [], { from: 'a' });
    const others = ['second', 'third'].map((text) => passwords().hash(text, [first], { from: 'a' }));
    const three = [first, ...(await Promise.all(others))];
    let hashed = 0;
    const counting = createHook({ init: (_, type) => void (hashed += type === 'SCRYPTREQUEST' ? 1 : 0) });
    const hashesOf = async (known: readonly string[]): Promise<number> => {
      hashed = 0;
      await passwords().check('a wrong one', known, { from: 'a' });
      return hashed;
    };
    counting.enable();
    try {
      expect([await hashesOf([]), await hashesOf(three)]).to.deep.equal([1, 1]);
    } finally {
      counting.disable();
    }
  });

  it('are known by a hash of a lower cost, which counts as outdated, and whose salt no other gets', async () => {
    const old = await passwords().hash('a long secret', [], { from: 'a' });
    const today = passwords({ ...cheapPasswords, N: 32 });
    expect(await today.check('a long secret', [old], { from: 'a' })).to.deep.equal({
      hash: old,
      isOutdated: true,
    });
    expect(await today.check('another', [old], { from: 'a' })).to.equal(null);
    const next = await today.hash('another', [old], { from: 'a' });
    expect(next.split('$')[4]).not.to.equal(old.split('$')[4]);
    expect((await today.check('another', [old, next], { from: 'a' }))?.hash).to.equal(next);
  });

  it('are hashed two at a time, and each network has few places: others find theirs', async () => {
    const busy = passwords();
    const flood = Array.from({ length: 30 }, () => busy.hash('x', [], { from: 'flood' }));
    const other = busy.hash('x', [], { from: 'other' });
    const results = await Promise.allSettled(flood);
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).to.have.length(26);
    expect(refused.every(({ reason }) => reason instanceof TooManySignIns)).to.equal(true);
    expect(await other).to.match(/^scrypt/);
  });

  it('of those who were never wrong come first, the last of them before others, and one too many gives way', async () => {
    let salts = 0;
    const counting: Entropy = {
      uuid: () => '',
      bytes: (length) => Buffer.alloc(length, (salts += 1)),
      below: () => 0,
    };
    const busy = scryptPasswords(counting, cheapPasswords);
    /** The names in the order of their turns, then those that were refused. */
    const turnsOf = async (names: readonly string[]): Promise<readonly string[]> => {
      const results = await Promise.allSettled(
        names.map((name) => busy.hash('x', [], { from: name, isKnown: name === 'known' })),
      );
      const turns = results.map((result, at) => ({
        name: names[at] ?? '',
        turn:
          result.status === 'fulfilled' ? Buffer.from(result.value.split('$')[4] ?? '', 'base64url')[0] : 256,
      }));
      return turns
        .toSorted((one, other) => (one.turn ?? 0) - (other.turn ?? 0))
        .map(({ name, turn }) => (turn === 256 ? `${name} refused` : name));
    };
    await turnsOf(['a', 'b', 'c']);
    await busy.check('x', [await busy.hash('x', [], { from: 'c' })], { from: 'c' });
    expect(await turnsOf(['x', 'y', 'a', 'b', 'c', 'd'])).to.deep.equal(['x', 'y', 'd', 'c', 'a', 'b']);
    const crowd = Array.from({ length: 43 }, (_, at) => (at === 2 ? 'b' : `${at}`));
    expect((await turnsOf(crowd)).at(-1)).to.equal('b refused');
    // Twenty networks that had no turn yet, with many tries each, before and after the one of a member.
    const tries = (): readonly string[] => Array.from({ length: 60 }, (_, at) => `flood ${at % 20}`);
    const turns = await turnsOf([...tries(), 'member', ...tries()]);
    expect(turns.slice(0, 3)).to.deep.equal(['flood 0', 'flood 1', 'member']);
    // Each try from an address of its own.
    const fresh = Array.from({ length: 90 }, (_, at) => `fresh ${at}`);
    expect((await turnsOf(fresh.with(30, 'known'))).slice(0, 3)).to.deep.equal([
      'fresh 0',
      'fresh 1',
      'known',
    ]);
  });

  it('cost 32 MiB and some hundred milliseconds with the usual settings', async () => {
    expect(await scryptPasswords(new SystemEntropy(), usualCost).hash('x', [], { from: 'a' })).to.match(
      /^scrypt\$32768\$8\$3\$/,
    );
  });
});
