import { createHook } from 'node:async_hooks';
import { expect } from 'chai';
import { ScryptPasswords, usualCost } from '../../../adapters/system/passwords.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import type { Entropy } from '../../../application/ports/system.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { cheapPasswords } from '../../support/fixtures/cheap-passwords.js';

const passwords = (cost = cheapPasswords) => new ScryptPasswords(new SystemEntropy(), cost);

describe('passwords', () => {
  it('are recognised by a hash that does not show them, and differs each time', async () => {
    const [one, other] = await Promise.all([
      passwords().hash('a long secret', [], 'a'),
      passwords().hash('a long secret', [], 'a'),
    ]);
    expect(one).to.match(/^scrypt\$16\$1\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(one).not.to.equal(other);
    const matched = { hash: one, isOutdated: false };
    expect(await passwords().check('a long secret', [one], 'a')).to.deep.equal(matched);
    expect(await passwords().check('A long secret', [one], 'a')).to.equal(null);
  });

  it('match however the keyboard composes their letters', async () => {
    const hash = await passwords().hash('Zo\u00eb', [], 'a');
    expect((await passwords().check('Zoe\u0308', [hash], 'a'))?.hash).to.equal(hash);
  });

  it('never match where there is no hash', async () => {
    expect(await passwords().check('', [], 'a')).to.equal(null);
  });

  it('are told apart among the hashes of several, which share their salt and are tried at once', async () => {
    const one = await passwords().hash('a long secret', [], 'a');
    const other = await passwords().hash('another secret', [one], 'a');
    expect(other.split('$').slice(0, 5)).to.deep.equal(one.split('$').slice(0, 5));
    expect(await passwords().hash('a long secret', [other], 'a')).to.equal(one);
    expect((await passwords().check('another secret', [one, other], 'a'))?.hash).to.equal(other);
    expect((await passwords().check('a long secret', [other, one], 'a'))?.hash).to.equal(one);
    expect(await passwords().check('a third secret', [one, other], 'a')).to.equal(null);
  });

  it('are hashed once for an address without an account, and once for one with three', async () => {
    const first = await passwords().hash('first', [], 'a');
    const others = ['second', 'third'].map((text) => passwords().hash(text, [first], 'a'));
    const three = [first, ...(await Promise.all(others))];
    let hashed = 0;
    const counting = createHook({ init: (_, type) => void (hashed += type === 'SCRYPTREQUEST' ? 1 : 0) });
    const hashesOf = async (known: readonly string[]): Promise<number> => {
      hashed = 0;
      await passwords().check('a wrong one', known, 'a');
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
    const old = await passwords().hash('a long secret', [], 'a');
    const today = passwords({ ...cheapPasswords, N: 32 });
    expect(await today.check('a long secret', [old], 'a')).to.deep.equal({ hash: old, isOutdated: true });
    expect(await today.check('another', [old], 'a')).to.equal(null);
    const next = await today.hash('another', [old], 'a');
    expect(next.split('$')[4]).not.to.equal(old.split('$')[4]);
    expect((await today.check('another', [old, next], 'a'))?.hash).to.equal(next);
  });

  it('are hashed two at a time, and each network has few places: others find theirs', async () => {
    const busy = passwords();
    const flood = Array.from({ length: 30 }, () => busy.hash('x', [], 'flood'));
    const other = busy.hash('x', [], 'other');
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
    const busy = new ScryptPasswords(counting, cheapPasswords);
    /** The names in the order of their turns, then those that were refused. */
    const turnsOf = async (names: readonly string[]): Promise<readonly string[]> => {
      const results = await Promise.allSettled(names.map((name) => busy.hash('x', [], name)));
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
    await busy.check('x', [await busy.hash('x', [], 'c')], 'c');
    expect(await turnsOf(['x', 'y', 'a', 'b', 'c', 'd'])).to.deep.equal(['x', 'y', 'd', 'c', 'a', 'b']);
    const crowd = Array.from({ length: 43 }, (_, at) => (at === 2 ? 'b' : `${at}`));
    expect((await turnsOf(crowd)).at(-1)).to.equal('b refused');
    // Twenty networks that had no turn yet, with many tries each, before and after the one of a member.
    const tries = (): readonly string[] => Array.from({ length: 60 }, (_, at) => `flood ${at % 20}`);
    const turns = await turnsOf([...tries(), 'member', ...tries()]);
    expect(turns.slice(0, 3)).to.deep.equal(['flood 0', 'flood 1', 'member']);
  });

  it('cost 32 MiB and some hundred milliseconds with the usual settings', async () => {
    expect(await new ScryptPasswords(new SystemEntropy(), usualCost).hash('x', [], 'a')).to.match(
      /^scrypt\$32768\$8\$3\$/,
    );
  });
});
