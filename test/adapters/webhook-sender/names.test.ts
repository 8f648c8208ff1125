import { expect } from 'chai';
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostsFile, parseHosts } from '../../../adapters/webhook-sender/hosts-file.js';
import {
  addressesFrom,
  Names,
  TooManyLookups,
  type Resolve,
} from '../../../adapters/webhook-sender/names.js';
import { messageOf } from '../../../domain/errors.js';
import { OrganizationId } from '../../../domain/ids.js';
import { VirtualClock } from '../../support/memory/clock.js';

const org = OrganizationId.parse('an-org');
const other = OrganizationId.parse('another-org');
const found = [{ address: '93.184.215.14', family: 4 }];
const patience = 5_000;

/** A name service that answers only for names that don't begin with `silent`. */
const partlySilent = () => {
  const asked: string[] = [];
  const resolve: Resolve = (name) => {
    asked.push(name);
    return name.startsWith('silent') ? new Promise(() => undefined) : Promise.resolve(found);
  };
  return { asked, resolve };
};

describe('looking up host names', () => {
  it('is not delayed by organizations whose names never resolve, and delays theirs', async () => {
    const { asked, resolve } = partlySilent();
    const names = new Names({ clock: new VirtualClock(), resolve });
    for (let hostile = 0; hostile < 30; hostile++)
      for (let name = 0; name < 40; name++)
        void names
          .addressesOf(`silent-${name}.${hostile}`, OrganizationId.parse(`hostile-${hostile}`), patience)
          .catch(() => undefined);
    expect(await names.addressesOf('good.test', org, patience)).to.deep.equal(found);
    expect(asked.length).to.be.below(500);
    expect(asked.filter((name) => name.endsWith('.0')).length).to.be.within(1, 8);
  });

  it('takes the addresses of one family if the name server is silent about the other', async () => {
    const answered = (...addresses: string[]) => Promise.resolve(addresses) as never;
    const silent = () => new Promise<never>(() => undefined);
    const lookUp = async (resolve4: () => Promise<never>, resolve6: () => Promise<never>) => {
      const clock = new VirtualClock();
      const addresses = addressesFrom({ resolve4, resolve6 }, 'half.test', clock);
      await clock.advance(500);
      return (await addresses).map(({ address, family }) => `${family} ${address}`);
    };
    const [four, six] = [() => answered('93.184.215.14'), () => answered('2606:2800::1')];
    const none = () => Promise.reject<never>(Object.assign(new Error('none'), { code: 'ENODATA' }));
    expect(await lookUp(four, silent)).to.deep.equal(['4 93.184.215.14']);
    expect(await lookUp(silent, six)).to.deep.equal(['6 2606:2800::1']);
    expect(await lookUp(four, six)).to.deep.equal(['4 93.184.215.14', '6 2606:2800::1']);
    expect(await lookUp(none, six)).to.deep.equal(['6 2606:2800::1']);
    expect(await lookUp(none, none).catch(messageOf)).to.equal('none');
  });

  it('remembers for a second that a name does not resolve', async () => {
    const clock = new VirtualClock();
    let asked = 0;
    const names = new Names({
      clock,
      resolve: () => {
        asked++;
        return Promise.reject(Object.assign(new Error('queryA'), { code: 'ENOTFOUND' }));
      },
    });
    const reason = (of: OrganizationId) => names.addressesOf('gone.test', of, patience).catch(messageOf);
    expect([await reason(org), await reason(other)]).to.deep.equal([
      'the host name does not resolve',
      'the host name does not resolve',
    ]);
    await clock.advance(999);
    await reason(org);
    expect(asked).to.equal(1);
    await clock.advance(1);
    await reason(org);
    expect(asked).to.equal(2);
  });

  it('keeps the addresses that were found last when the name is forgotten or no longer resolves', async () => {
    let isGone = false;
    const resolve = () => (isGone ? Promise.reject(new Error('queryA')) : Promise.resolve(found));
    const names = new Names({ clock: new VirtualClock(), resolve });
    await names.addressesOf('box.test', org, patience);
    isGone = true;
    names.forget('box.test');
    expect(names.lastAddressesOf('box.test')).to.deep.equal(found);
    expect(await names.addressesOf('box.test', other, patience).catch(messageOf)).to.equal(
      'the host name does not resolve',
    );
    expect(names.lastAddressesOf('box.test')).to.deep.equal(found);
  });

  for (const [code, words] of [
    ['ENODATA', 'the host name does not resolve'],
    ['ESERVFAIL', 'the name server reports a failure'],
    ['ETIMEOUT', 'the name server does not respond'],
    ['ECONNREFUSED', 'the name server does not respond'],
  ] as const)
    it(`says of ${code} that ${words}`, async () => {
      const resolve = () => Promise.reject(Object.assign(new Error('queryA'), { code }));
      const names = new Names({ clock: new VirtualClock(), resolve });
      expect(await names.addressesOf('bad.test', org, patience).catch(messageOf)).to.equal(words);
    });

  it('gives up waiting for its turn without a word about the name', async () => {
    const { asked, resolve } = partlySilent();
    const clock = new VirtualClock();
    const names = new Names({ clock, resolve });
    for (let name = 0; name < 8; name++)
      void names.addressesOf(`silent-${name}`, org, patience).catch(() => undefined);
    const late = names.addressesOf('good.test', org, 1_000).catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await late).to.be.instanceOf(TooManyLookups);
    expect(asked).to.not.include('good.test');
    expect(await names.addressesOf('good.test', other, patience)).to.deep.equal(found);
  });

  it('asks once for all who want the same name at the same time', async () => {
    const { asked, resolve } = partlySilent();
    const names = new Names({ clock: new VirtualClock(), resolve });
    await Promise.all([org, other, org].map((of) => names.addressesOf('good.test', of, patience)));
    expect(asked).to.deep.equal(['good.test']);
  });

  it('asks the name servers itself: it occupies none of the four threads that dns.lookup has', async () => {
    const own = Object.getOwnPropertyDescriptors(Resolver.prototype);
    const asked: string[] = [];
    const answering = (addresses: readonly string[]) => (name: string) => {
      asked.push(name);
      return addresses.length > 0
        ? Promise.resolve(addresses)
        : Promise.reject(new Error('queryAaaa ENODATA'));
    };
    Object.assign(Resolver.prototype, { resolve4: answering(['93.184.215.14']), resolve6: answering([]) });
    try {
      const names = new Names({ clock: new VirtualClock() });
      expect(await names.addressesOf('receiver.test', org, patience)).to.deep.equal(found);
      expect(asked).to.deep.equal(['receiver.test', 'receiver.test']);
    } finally {
      Object.defineProperties(Resolver.prototype, own);
    }
  });

  it('reads the hosts file: every address of a name, without comments', () => {
    const hosts = parseHosts(
      '# local\n127.0.0.1 localhost Box.Example # me\n\n::1 box.example\nnonsense name\n10.0.0.7\tdb\r\n',
    );
    expect([...hosts]).to.deep.equal([
      ['localhost', [{ address: '127.0.0.1', family: 4 }]],
      [
        'box.example',
        [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ],
      ],
      ['db', [{ address: '10.0.0.7', family: 4 }]],
    ]);
  });

  it('notices a change of the hosts file after a few seconds, and does without one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'hosts-'));
    try {
      const path = join(directory, 'hosts');
      const clock = new VirtualClock();
      const inHostsFile = hostsFile(clock, path);
      expect(await inHostsFile('box.test')).to.deep.equal([]);
      await writeFile(path, '10.0.0.7 box.test\n');
      await clock.advance(5_000);
      expect(await inHostsFile('BOX.test')).to.deep.equal([{ address: '10.0.0.7', family: 4 }]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
