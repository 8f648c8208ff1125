import { expect } from 'chai';
import { ScryptPasswords, usualCost } from '../../../adapters/system/passwords.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { cheapPasswords } from '../../support/fixtures/cheap-passwords.js';

const passwords = (cost = cheapPasswords) => new ScryptPasswords(new SystemEntropy(), cost);

describe('passwords', () => {
  it('are recognised by a hash that does not show them, and differs each time', async () => {
    const [one, other] = await Promise.all([
      passwords().hash('a long secret'),
      passwords().hash('a long secret'),
    ]);
    expect(one).to.match(/^scrypt\$16\$1\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(one).not.to.equal(other);
    expect(await passwords().check('a long secret', one)).to.deep.equal({ matches: true, isOutdated: false });
    expect(await passwords().check('A long secret', one)).to.deep.equal({
      matches: false,
      isOutdated: false,
    });
  });

  it('match however the keyboard composes their letters', async () => {
    expect((await passwords().check('Zoe\u0308', await passwords().hash('Zo\u00eb'))).matches).to.equal(true);
  });

  it('never match the hash of nobody, which costs as much', async () => {
    expect(await passwords().check('', null)).to.deep.equal({ matches: false, isOutdated: false });
  });

  it('are known by a hash of a lower cost, which counts as outdated once it matches', async () => {
    const old = await passwords().hash('a long secret');
    const today = passwords({ ...cheapPasswords, N: 32 });
    expect(await today.check('a long secret', old)).to.deep.equal({ matches: true, isOutdated: true });
    expect(await today.check('another', old)).to.deep.equal({ matches: false, isOutdated: false });
  });

  it('are hashed two at a time, twenty more wait, and others are refused at once', async () => {
    const busy = passwords();
    const results = await Promise.allSettled(Array.from({ length: 30 }, () => busy.hash('x')));
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).to.have.length(8);
    expect(refused.every(({ reason }) => reason instanceof TooManySignIns)).to.equal(true);
    expect(await busy.hash('x')).to.match(/^scrypt/);
  });

  it('cost 32 MiB and some hundred milliseconds with the usual settings', async () => {
    expect(await new ScryptPasswords(new SystemEntropy(), usualCost).hash('x')).to.match(
      /^scrypt\$32768\$8\$3\$/,
    );
  });
});
