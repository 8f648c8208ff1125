import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccessDeniedError } from '@eventstore/db-client';
import { expect } from 'chai';
import { VirtualClock } from '../../support/memory/clock.js';
import { Connection } from '../../../adapters/eventstoredb/connection.js';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import type { Clock } from '../../../application/ports/system.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import { clock, first, kinds, names, shortTimes, withRig } from './support.js';

const lost = new Error('the connection was lost');
const nowhere = 'esdb://127.0.0.1:1?tls=false';

const connectionTo = (url: string, time: Clock = clock, replace = 0): Connection =>
  new Connection({ url, clock: time, entropy: new SystemEntropy(), times: { ...shortTimes, replace } });

const using = async (url: string, run: (connection: Connection) => unknown): Promise<void> => {
  const connection = connectionTo(url);
  try {
    await run(connection);
  } finally {
    await connection.close();
  }
};

describe('the connection to EventStoreDB', () => {
  it('replaces its client after three failures in a row', () =>
    using(nowhere, (connection) => {
      const { session } = connection;
      connection.failed(session, lost);
      connection.failed(session, lost);
      connection.succeeded();
      connection.failed(session, lost);
      connection.failed(session, lost);
      expect(connection.session).to.equal(session);
      expect(session.replaced.aborted).to.equal(false);
      connection.failed(session, lost);
      const replacement = connection.session;
      expect(replacement.client).not.to.equal(session.client);
      expect(session.replaced.aborted).to.equal(true);
      for (let late = 0; late < 3; late += 1) connection.failed(session, lost);
      expect(connection.session).to.equal(replacement);
    }));

  it('replaces its client no more often than the pause allows', async () => {
    const virtual = new VirtualClock();
    const connection = connectionTo(nowhere, virtual, 1_000);
    try {
      const { session } = connection;
      for (let failures = 0; failures < 5; failures += 1) connection.failed(session, lost);
      expect(connection.session).to.equal(session);
      await virtual.advance(1_000);
      connection.failed(session, lost);
      expect(connection.session).not.to.equal(session);
    } finally {
      await connection.close();
    }
  });

  it('keeps its client if the server denies something, because it would deny that to any client', () =>
    using(nowhere, (connection) => {
      const { session } = connection;
      const denial = new AccessDeniedError();
      for (const error of [denial, new EventStoreUnavailable('what to do', { cause: denial }), denial])
        connection.failed(session, error);
      expect(connection.session).to.equal(session);
    }));

  it('reads the user from the connection string', async () => {
    await using('esdb://ada:p%40ss@127.0.0.1:2113', ({ credentials }) =>
      expect(credentials).to.deep.equal({ username: 'ada', password: 'p@ss' }),
    );
    await using('esdb+discover://ada:x@cluster.example:2113', ({ credentials }) =>
      expect(credentials).to.deep.equal({ username: 'ada', password: 'x' }),
    );
    await using('esdb://a:1,b:2,c:3?tls=false', ({ credentials }) =>
      expect(credentials.username).to.equal('nobody'),
    );
  });

  it('refuses a connection string that is malformed, or that uses TLS without a user', () => {
    expect(() => connectionTo('esdb://127.0.0.1:2113')).to.throw(/names no user/);
    expect(() => connectionTo('esdb://127.0.0.1:2113?tls=true')).to.throw(/names no user/);
    expect(() => connectionTo('http://127.0.0.1:2113?tls=false')).to.throw(/esdb:\/\//);
  });

  it('finds the leader of a cluster', () =>
    withRig(async ({ server }) => {
      const url = `esdb://127.0.0.1:1,127.0.0.1:${server.port}?tls=false`;
      const store = new EventStoreDbEventStore({
        url,
        clock,
        entropy: new SystemEntropy(),
        times: shortTimes,
      });
      try {
        expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
        expect(names(await store.readLog(0n, 10))).to.deep.equal(['a']);
        expect(server.calls.get('gossip')).to.be.greaterThan(0);
      } finally {
        await store.close();
      }
    }));

  it('uses TLS and sends the user of the connection string', async function () {
    const directory = mkdtempSync(join(tmpdir(), 'card-tls-'));
    const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(directory, name));
    if (key === undefined || certificate === undefined) throw new Error('two names');
    const request = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=stand-in',
      '-addext',
      'subjectAltName=DNS:localhost',
    ];
    const made = spawnSync('openssl', [...request, '-keyout', key, '-out', certificate]);
    if (made.status !== 0) this.skip();
    const server = await EventStoreDbStandIn.start(clock, 0, {
      key: readFileSync(key),
      certificate: readFileSync(certificate),
    });
    const url = `${server.url.replace('//127.0.0.1', '//ada:p%40ss@localhost')}?tlsCAFile=${encodeURIComponent(certificate)}`;
    const store = new EventStoreDbEventStore({ url, clock, entropy: new SystemEntropy() });
    try {
      expect(kinds(await store.append([first('A', 'a')]))).to.deep.equal(['appended']);
      expect(names(await store.readLog(0n, 10))).to.deep.equal(['a']);
      expect(server.authorization).to.equal(`Basic ${Buffer.from('ada:p@ss').toString('base64')}`);
      expect([server.calls.get('batchAppend'), server.calls.get('features')]).to.deep.equal([1, undefined]);
    } finally {
      await store.close();
      server.down();
      rmSync(directory, { recursive: true });
    }
  });

  it('throws EventStoreUnavailable while a cluster has no leader, and the process survives', async () => {
    const url = 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false&maxDiscoverAttempts=2&discoveryInterval=1';
    const times = { ...shortTimes, patience: 300 };
    const store = new EventStoreDbEventStore({ url, clock, entropy: new SystemEntropy(), times });
    try {
      const calls = [store.head(), store.append([first('A', 'a')]), store.readLog(0n, 1)].map(
        async (call) => {
          await call.catch((error: unknown) => expect(error).to.be.instanceOf(EventStoreUnavailable));
        },
      );
      await Promise.all(calls);
    } finally {
      await store.close();
    }
  });
});
