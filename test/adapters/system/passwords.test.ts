import { expect } from 'chai';
import { ScryptPasswords, usualCost } from '../../../adapters/system/passwords.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { cheapPasswords } from '../../support/fixtures/cheap-passwords.js';

const passwords = (cost = cheapPasswords) => new ScryptPasswords(new SystemEntropy(), cost);

describe('passwords', () => {
  it('are recognised by a hash that does not show them, and differs each time', async () => {
    const [one, other] = await Promise.all([
      passwords().hash('a long secret', []),
      passwords().hash('a long secret', []),
    ]);
    expect(one).to.match(/^scrypt\$16\$1\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(one).not.to.equal(other);
    const matched = { hash: one, isOutdated: false };
    expect(await passwords().check('a long secret', [one])).to.deep.equal(matched);
    expect(await passwords().check('A long secret', [one])).to.equal(null);
  });

  it('match however the keyboard composes their letters', async () => {
    const hash = await passwords().hash('Zo\u00eb', []);
    expect((await passwords().check('Zoe\u0308', [hash]))?.hash).to.equal(hash);
  });

  it('never match where there is no hash', async () => {
    expect(await passwords().check('', [])).to.equal(null);
  });

  it('are told apart among the hashes of several, which share their salt and are tried at once', async () => {
    const one = await passwords().hash('a long secret', []);
    const other = await passwords().hash('another secret', [one]);
    expect(other.split('$').slice(0, 5)).to.deep.equal(one.split('$').slice(0, 5));
    expect(await passwords().hash('a long secret', [other])).to.equal(one);
    expect((await passwords().check('another secret', [one, other]))?.hash).to.equal(other);
    expect((await passwords().check('a long secret', [other, one]))?.hash).to.equal(one);
    expect(await passwords().check('a third secret', [one, other])).to.equal(null);
  });

  it('are known by a hash of a lower cost, which counts as outdated, and whose salt no other gets', async () => {
    const old = await passwords().hash('a long secret', []);
    const today = passwords({ ...cheapPasswords, N: 32 });
    expect(await today.check('a long secret', [old])).to.deep.equal({ hash: old, isOutdated: true });
    expect(await today.check('another', [old])).to.equal(null);
    const next = await today.hash('another', [old]);
    expect(next.split('$')[4]).not.to.equal(old.split('$')[4]);
    expect((await today.check('another', [old, next]))?.hash).to.equal(next);
  });

  it('are hashed two at a time, twenty more wait, and others are refused at once', async () => {
    const busy = passwords();
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => busy.hash('x', [])));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).to.have.length(8);
    expect(refused.every(({ reason }) => reason instanceof TooManySignIns)).to.equal(true);
    expect(await busy.hash('x', [])).to.match(/^scrypt/);
  });

  it('cost 32 MiB and some hundred milliseconds with the usual settings', async () => {
    expect(await new ScryptPasswords(new SystemEntropy(), usualCost).hash('x', [])).to.match(
      /^scrypt\$32768\$8\$3\$/,
    );
  });
});
