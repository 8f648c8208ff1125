import { expect } from 'chai';
import { MongoClient, type Document } from 'mongodb';
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoLogTiles } from '../../adapters/mongodb/records/log-tiles.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { StoredEvent } from '../../application/ports/raw-log.js';
import { OtherLog } from '../../application/log/same-log.js';
import { explain } from '../../bin/wiring/exit.js';
import { logKeys } from '../../bin/settings/log-keys.js';
import type { Role } from '../../bin/wiring/roles.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { signerFrom, signerText } from '../../domain/signed-note.js';
import type { EventStoreDbStandIn } from '../engines/eventstoredb-stand-in.js';
import { dropped, grownOtherwise, withMoreCredits, withoutTheLast } from '../support/fixtures/insiders.js';
import { writeLogKey } from '../support/fixtures/log-key.js';
import { recordOf } from '../support/fixtures/records.js';
import { takesNothingOut, type Change } from '../support/fixtures/served-manipulations.js';
import { aCard, clientsOf } from '../support/http/service.js';
import { describeWithEngines } from '../support/runner/engines.js';
import { distributedWiring } from '../support/runner/wiring.js';
import { command } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
const origin = 'cards.example.com/log';
const signer = signerFrom(origin, 'note', Buffer.alloc(32, 7));
const patient = { within: 60_000 };

type Collections = ReadonlyMap<string, readonly Document[]>;
const ofLog = (name: string): boolean => name.startsWith('log_');
/** What an insider who rewrites the log leaves: without it letters can't be read. */
const isKeys = (name: string): boolean => name.startsWith('personal_key');

describeWithEngines(
  ['MONGODB_URL', 'RABBITMQ_URL'],
  'somebody who has EventStoreDB and MongoDB, but not log.key,',
  () => {
    let directory: string;
    let wiring: Awaited<ReturnType<typeof distributedWiring>>;
    let client: MongoClient;
    let database: MongoDatabase;
    let store: EventStoreDbEventStore;
    let server: EventStoreDbStandIn;
    let tiles: LogTiles;
    let events: readonly StoredEvent[];
    let records: EventStoreDbStandIn['kept'];
    let [yesterday, today]: readonly Collections[] = [];
    const files = new Map<string, string>();
    const services: Service[] = [];
    const failures: unknown[] = [];

    const settings = () => ({
      PORT: '0',
      DATA_DIR: directory,
      DEMO: 'off',
      ...wiring.environment,
    });
    const start = async (role: Role): Promise<Service> => {
      const service = await startService({
        settings: readSettings(settings()),
        role,
        clock,
        entropy,
        log: pino({ level: 'silent' }),
        fail: (error) => failures.push(error),
        namespace: wiring.namespace,
        timeouts: { lease: 3_000 },
      });
      services.push(service);
      return service;
    };
    const stopAll = async (): Promise<void> => {
      for (const service of services.splice(0).toReversed()) await service.stop();
    };
    const dumped = async (): Promise<Collections> => {
      const names = (await client.db().listCollections().toArray()).map(({ name }) => name);
      return new Map(
        await Promise.all(
          names.map(async (name) => [name, await client.db().collection(name).find().toArray()] as const),
        ),
      );
    };
    const load = async (all: Collections | undefined, wanted: (name: string) => boolean): Promise<void> => {
      for (const { name } of await client.db().listCollections().toArray())
        await client.db().collection(name).deleteMany({});
      for (const [name, rows] of all ?? [])
        if (wanted(name) && rows.length > 0)
          await client
            .db()
            .collection(name)
            .insertMany([...rows]);
    };
    const put = (to: Change): void => {
      const others = records.filter(({ stream }) => !stream.startsWith(wiring.namespace));
      const own = to(events).map((event) => ({
        ...recordOf(event),
        stream: `${wiring.namespace}${event.stream}`,
      }));
      server.replace([...others, ...own].toSorted((one, other) => (one.commit < other.commit ? -1 : 1)));
    };
    const signedAll = () =>
      eventually(async () => {
        const all = await store.readStored(0n, 10_000);
        return (await tiles.newest())?.size === all.length ? all : null;
      }, patient);

    before(async function () {
      this.timeout(180_000);
      directory = await mkdtemp(join(tmpdir(), 'cards-'));
      wiring = await distributedWiring(directory);
      // Nobody can change an event of a real server.
      if (wiring.eventStore.standIn === null) return this.skip();
      server = wiring.eventStore.standIn;
      const { MONGODB_URL: mongo = '', EVENTSTORE_URL: url = '' } = wiring.environment;
      client = new MongoClient(mongo, { ignoreUndefined: true, promoteLongs: false, promoteValues: false });
      database = new MongoDatabase(mongo, clock);
      tiles = mongoLogTiles(database);
      store = new EventStoreDbEventStore({ url, prefix: wiring.namespace, clock, entropy });
      await writeLogKey(directory, signer);
      const api = await start('api');
      await api.prepared;
      await start('projector');
      await start('notary');
      const { api: customer } = await clientsOf(api).tenant();
      await customer('/api/v1/cards', { body: aCard() });
      await signedAll();
      await stopAll();
      yesterday = await dumped();
      const again = await start('api');
      await start('notary');
      for (let number = 0; number < dropped; number += 1)
        await clientsOf(again).operator('/operator/v1/organizations', { body: { name: `Last ${number}` } });
      events = await signedAll();
      await stopAll();
      today = await dumped();
      records = [...server.kept];
      for (const name of ['log.key', 'log.head'])
        files.set(name, await readFile(join(directory, name), 'utf8'));
    });
    beforeEach(async () => {
      failures.length = 0;
      server.replace(records);
      await load(today, () => true);
      for (const [name, text] of files) await writeFile(join(directory, name), text, { mode: 0o600 });
    });
    afterEach(async function () {
      this.timeout(60_000);
      await stopAll();
    });
    after(async () => {
      await store?.close();
      await database?.close();
      await client?.close();
      await wiring.clear();
      await rm(directory, { recursive: true, force: true });
    });

    /** Rewrites the log, and drops everything that was made of it. */
    const rewritten = (to: Change) => async (): Promise<void> => {
      put(to);
      await load(today, isKeys);
    };
    const backToYesterday = async (): Promise<void> => {
      put(withoutTheLast);
      await load(yesterday, (name) => ofLog(name) || isKeys(name));
    };
    const anotherKey = (): Promise<void> =>
      writeFile(
        join(directory, 'log.key'),
        `${signerText(signerFrom(origin, 'note', Buffer.alloc(32, 9)))}\n`,
      );
    const without = (name: string): Promise<void> => rm(join(directory, name));

    const ends = /the log ends after \d+ events; .* of \d+ was signed.*Restore the event store/;
    const otherRoot = /the first \d+ events do not give the root that was signed.*Restore the event store/;
    const attacks: readonly {
      readonly what: string;
      readonly to: () => Promise<void>;
      readonly code: 1 | 78;
      readonly says: RegExp;
    }[] = [
      {
        what: 'an event is rewritten, its stream is chained anew, and the collections of the log are emptied',
        to: rewritten(withMoreCredits),
        code: 1,
        says: otherRoot,
      },
      {
        what: 'the last events are dropped with checkpoints, tree and marks',
        to: rewritten(withoutTheLast),
        code: 1,
        says: ends,
      },
      {
        what: 'the last events are dropped, and others put in their place, more than were signed',
        to: rewritten(grownOtherwise((last, index) => last.position + BigInt(1_000 * (index + 1)))),
        code: 1,
        says: otherRoot,
      },
      {
        what: "both stores are swapped for yesterday's copies",
        to: backToYesterday,
        code: 1,
        says: /accept-restore/,
      },
      {
        what: 'the last signed head is deleted',
        to: () => without('log.head'),
        code: 78,
        says: /LOG_HEAD_FILE .* is missing.*Restore it/,
      },
      {
        what: 'the last signed head is deleted, and the collections of the log are emptied',
        to: async () => {
          await without('log.head');
          await load(today, (name) => !ofLog(name));
        },
        code: 78,
        says: /LOG_HEAD_FILE .* is missing.*Restore it/,
      },
      {
        what: 'log.key is deleted',
        to: () => without('log.key'),
        code: 78,
        says: /LOG_KEY_FILE .* does not exist/,
      },
      {
        what: 'log.key and the last signed head are deleted and made anew, and the collections of the log are emptied',
        to: async () => {
          await load(today, (name) => !ofLog(name));
          await rm(join(directory, 'log.head'));
          await rm(join(directory, 'log.key'));
          logKeys(readSettings(settings()), entropy, true);
          const later = clock.now() / 1_000 + 7_200;
          await utimes(join(directory, 'log.head'), later, later);
        },
        code: 78,
        says: /LOG_HEAD_FILE .* says that nothing was signed yet.*Restore the key/,
      },
      {
        what: 'log.key is replaced',
        to: anotherKey,
        code: 78,
        says: /No key in LOG_KEY_FILE has signed the newest checkpoint/,
      },
      {
        what: 'log.key is replaced, and the collections of the log are emptied',
        to: async () => {
          await anotherKey();
          await load(today, (name) => !ofLog(name));
        },
        code: 78,
        says: /No key in LOG_KEY_FILE has signed the head in LOG_HEAD_FILE/,
      },
      {
        what: 'log.key is replaced, and the last signed head is deleted',
        to: async () => {
          await anotherKey();
          await without('log.head');
        },
        code: 78,
        says: /No key in LOG_KEY_FILE has signed the newest checkpoint/,
      },
      {
        what: 'log.key is replaced, the last signed head is deleted, and the collections of the log are emptied',
        to: async () => {
          await anotherKey();
          await without('log.head');
          await load(today, (name) => !ofLog(name));
        },
        code: 78,
        says: /LOG_HEAD_FILE .* is missing.*Restore it/,
      },
    ];

    for (const { what, to, code, says } of attacks)
      it(`is found out where ${what}: nothing is published, and the role notary ends with exit code ${code}`, async () => {
        await to();
        const [published, head] = [
          await tiles.kept(),
          await readFile(join(directory, 'log.head')).catch(() => null),
        ];
        const refused: unknown = await start('notary').then(
          () => null,
          (error: unknown) => error,
        );
        const ended = explain(
          refused ??
            (await eventually(() => failures.find((each) => !(each instanceof OtherLog)) ?? null, patient)),
        );
        expect(ended.message).to.match(says);
        expect(ended.code).to.equal(code);
        await stopAll();
        expect(await tiles.kept()).to.deep.equal(published);
        expect(await readFile(join(directory, 'log.head')).catch(() => null)).to.deep.equal(head);
      }).timeout(90_000);

    for (const { what, to, code } of attacks)
      if (code === 1)
        it(`gets no export and no checkpoint from a role api that knows the last head, before any notary has looked, where ${what}`, async () => {
          await to();
          const api = await start('api');
          await takesNothingOut(clientsOf(api), events);
          const ready = await (await fetch(`${api.baseUrl}/readyz`)).text();
          expect(ready).to.match(/"name":"log","ready":false/);
        }).timeout(90_000);

    it('changes nothing where only the collections of the log are emptied: they are made again as they were', async () => {
      const newest = await tiles.newest();
      await load(today, (name) => !ofLog(name));
      await start('notary');
      await eventually(async () => (await tiles.newest())?.note === newest?.note, patient);
      await stopAll();
      expect(failures).to.deep.equal([]);
    }).timeout(90_000);

    it('is told from an operator who has put older copies back, and says so with `log accept-restore`', async () => {
      const given = await tiles.newest();
      await backToYesterday();
      const { code, out, error } = await command(['log', 'accept-restore', '--by', 'Ada', '--json'], {
        ...settings(),
        EVENTSTORE_PREFIX: wiring.namespace,
      });
      const root = given?.root.toString('base64');
      const left = events.length - dropped;
      expect([code, error, JSON.parse(out)]).to.deep.equal([
        0,
        '',
        { given_up: { size: events.length, root }, events: left },
      ]);
      const recorded = (await store.readStored(0n, 10_000)).slice(left);
      expect(recorded.map(({ type, data }) => [type, JSON.parse(data) as unknown])).to.deep.equal([
        ['HeadGivenUp', { size: events.length, root, from: left, by: 'Ada' }],
      ]);
      const api = await start('api');
      await start('notary');
      await eventually(async () => ((await tiles.newest())?.size ?? 0) > left, patient);
      expect((await clientsOf(api).operator('/operator/v1/exports?from=0')).text).to.include('HeadGivenUp');
      expect(failures).to.deep.equal([]);
    }).timeout(90_000);
  },
);
