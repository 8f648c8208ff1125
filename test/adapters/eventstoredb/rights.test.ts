import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { messageOf } from '../../../domain/errors.js';
import { certificateAuthority } from '../../support/http/certificates.js';
import { command } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { card, clock, first, follower, kinds, names, shortTimes } from './support.js';

/** A server with TLS, an administrator, and the user `cards`, who has no rights but the usual ones. */
const withUsers = async (
  run: (rig: {
    readonly server: EventStoreDbStandIn;
    readonly urlFor: (user: string, password: string) => string;
    readonly open: (user: string, password: string) => EventStoreDbEventStore;
    readonly errors: unknown[];
  }) => Promise<void>,
): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'card-rights-'));
  const authority = certificateAuthority();
  const { key, cert } = authority.issue(['localhost']);
  const file = join(directory, 'authority.pem');
  writeFileSync(file, authority.cert);
  const tls = { key: Buffer.from(key), certificate: Buffer.from(cert) };
  const server = await EventStoreDbStandIn.start(clock, 0, tls);
  server.users = new Map([
    ['admin', { password: 'changeit', isAdministrator: true }],
    ['cards', { password: 'secret' }],
  ]);
  const urlFor = (user: string, password: string): string =>
    `${server.url.replace('//127.0.0.1', `//${user}:${password}@localhost`)}?tlsCAFile=${encodeURIComponent(file)}`;
  const errors: unknown[] = [];
  const opened: EventStoreDbEventStore[] = [];
  const open = (user: string, password: string): EventStoreDbEventStore => {
    const store = new EventStoreDbEventStore({
      url: urlFor(user, password),
      clock,
      entropy: new SystemEntropy(),
      times: shortTimes,
      onError: (error) => errors.push(error),
    });
    opened.push(store);
    return store;
  };
  try {
    await run({ server, urlFor, open, errors });
  } finally {
    await Promise.all(opened.map((store) => store.close()));
    server.down();
    rmSync(directory, { recursive: true });
  }
};

const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(() => expect.fail('it was not refused'), messageOf);

describe('the rights of the user in EventStoreDB', () => {
  it('are enough for streams of his own, and the message says how to get that to $all: then it recovers by itself', () =>
    withUsers(async ({ server, open, urlFor, errors }) => {
      const store = open('cards', 'secret');
      expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
      expect(names(await store.readStream(card('A'), 0))).to.deep.equal(['a']);
      expect(server.authorization).to.equal(`Basic ${Buffer.from('cards:secret').toString('base64')}`);
      const told =
        'EventStoreDB does not let the user "cards" read $all. With the connection string of an administrator as EVENTSTORE_URL, run "npm run -s cli -- eventstore grant --user cards"; it writes {"$acl":{"$r":["$admins","cards"]}} into the metadata of $all.';
      expect(await refusalOf(store.head())).to.equal(told);
      const following = follower(store);
      try {
        await eventually(() => errors.filter((error) => messageOf(error) === told).length > 1);
        const granted = await command(['eventstore', 'grant', '--user', 'cards'], {
          EVENTSTORE_URL: urlFor('admin', 'changeit'),
        });
        expect(granted).to.deep.equal({ code: 0, out: 'May read $all: $admins, cards\n', error: '' });
        await eventually(() => following.seen.length === 1);
      } finally {
        await following.end();
      }
      expect((await store.head()).event?.hash).to.equal('hash of a');
    }));

  it('are granted beside those of others, and only once', () =>
    withUsers(async ({ server, urlFor }) => {
      const EVENTSTORE_URL = urlFor('admin', 'changeit');
      const grant = (user: string) =>
        command(['eventstore', 'grant', '--user', user, '--json'], { EVENTSTORE_URL });
      await grant('cards');
      const records = server.records;
      expect(await grant('cards')).to.deep.include({ code: 0, out: '{"readers":["$admins","cards"]}\n' });
      expect(server.records).to.equal(records);
      expect(await grant('auditors')).to.deep.include({
        code: 0,
        out: '{"readers":["$admins","cards","auditors"]}\n',
      });
    }));

  it('are granted by an administrator alone, and the exit code tells why not', () =>
    withUsers(async ({ server, urlFor }) => {
      const grant = (environment: Readonly<Record<string, string>>) =>
        command(['eventstore', 'grant', '--user', 'cards'], environment);
      const refused = await grant({ EVENTSTORE_URL: urlFor('cards', 'secret') });
      expect([refused.code, refused.error]).to.deep.equal([
        1,
        'EventStoreDB denies the user "cards" of EVENTSTORE_URL the metadata of $all. Give the connection string of an administrator.\n',
      ]);
      expect((await grant({ EVENTSTORE_URL: urlFor('admin', 'wrong') })).code).to.equal(1);
      expect((await grant({})).code).to.equal(2);
      server.down();
      expect((await grant({ EVENTSTORE_URL: urlFor('admin', 'changeit') })).code).to.equal(69);
    }));

  it('count for nothing if the password is wrong: reads and appends name the user, and work once it is right', () =>
    withUsers(async ({ server, open }) => {
      const store = open('cards', 'changed');
      const told = 'EventStoreDB refuses the user "cards" of EVENTSTORE_URL, or its password.';
      expect(await refusalOf(store.head())).to.equal(told);
      expect(await refusalOf(store.readStream(card('A'), 0))).to.equal(told);
      expect(await refusalOf(store.append([first('A', 'a')]))).to.equal(told);
      server.users = new Map([['cards', { password: 'changed' }]]);
      expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
    }));
});
