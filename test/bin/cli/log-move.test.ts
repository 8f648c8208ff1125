import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { hash } from 'node:crypto';
import { cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { fileArtwork } from '../../../adapters/artwork/files.js';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { mongoArtwork } from '../../../adapters/mongodb/records/artwork.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { markIn, setMark } from '../../../adapters/mongodb/records/rehearsal.js';
import { Releases } from '../../../adapters/mongodb/read/releases.js';
import { NoCopy } from '../../../application/log/copy-log.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import { moveService } from '../../../bin/offline/move.js';
import { clientsOf } from '../../support/http/service.js';
import { pictureSizes } from '../../../application/ports/artwork.js';
import { noStream } from '../../../application/ports/event-store.js';
import { explain } from '../../../bin/wiring/exit.js';
import type { Role } from '../../../bin/wiring/roles.js';
import { startService } from '../../../bin/wiring/service.js';
import { markDirectory, markOfDirectory } from '../../../bin/settings/rehearsal-mark.js';
import { readSettings } from '../../../bin/settings/settings.js';
import { ArtworkDigest } from '../../../domain/artwork.js';
import { derivedUuid } from '../../../domain/ids.js';
import { event } from '../../adapters/eventstoredb/support.js';
import { freshUrl } from '../../adapters/mongodb/support.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { sealEvents } from '../../support/fixtures/seal-events.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { command } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];

type Environment = Readonly<Record<string, string>>;

const throwIt = (error: unknown): void => {
  throw error;
};

const start = (environment: Environment, role: Role = 'all', fail = throwIt) =>
  startService({
    settings: readSettings({ PORT: '0', DEMO: 'off', ...environment }),
    role,
    clock,
    entropy,
    log: pino({ level: 'silent' }),
    fail,
  });

/** Servers at which nobody is. */
const nowhere = {
  EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
  MONGODB_URL: 'mongodb://127.0.0.1:1',
  RABBITMQ_URL: 'amqp://127.0.0.1:1',
};

describe('files of a service', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    await (await start({ DATA_DIR: directory })).stop();
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('keep one from starting on servers beside them: exit code 78, and what to do', async () => {
    const refused: unknown = await start({ DATA_DIR: directory, ...nowhere }).catch(
      (error: unknown) => error,
    );
    const { code, message } = explain(refused);
    expect(code).to.equal(78);
    expect(message).to.include(`DATA_DIR ${directory} holds the events of a service: move it`);
  });

  it('are not copied to other files, nor to nowhere', async () => {
    const copy = (to: string, environment: Environment = nowhere) =>
      command(['log', 'copy', '--from', directory, '--to', to], { DATA_DIR: directory, ...environment });
    for (const refused of [await copy(`${directory}-2`), await copy(directory), await copy('esdb://x', {})])
      expect(refused).to.include({ code: 2, out: '' });
    const missing = await command(['log', 'copy', '--from', './none', '--to', 'esdb://x?tls=false'], nowhere);
    expect([missing.code, missing.error]).to.deep.equal([1, 'There is no none/events.db. Set DATA_DIR.\n']);
  });

  it('are promoted only where they are whole', async () => {
    const copy = `${directory}-copy`;
    await cp(directory, copy, { recursive: true });
    try {
      markDirectory(copy, { why: 'it is an unfinished copy', state: 'unfinished' });
      const { code, error } = await command(['promote'], { DATA_DIR: copy });
      expect([code, error]).to.deep.equal([
        1,
        'This is an unfinished copy. Run `log copy`, or `restore`, again first.\n',
      ]);
      expect(markOfDirectory(copy)).to.have.property('state', 'unfinished');
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });
});

describeWithEngines(['MONGODB_URL'], 'a move between files and servers', (mongo) => {
  let directory: string;
  let server: EventStoreDbStandIn;
  let environment: Environment;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    server = await EventStoreDbStandIn.start(clock);
    environment = {
      ...nowhere,
      DATA_DIR: directory,
      EVENTSTORE_URL: server.url,
      MONGODB_URL: freshUrl(mongo),
    };
    const service = await start({ DATA_DIR: directory });
    const { api } = await clientsOf(service).tenant();
    await api('/api/v1/contacts', { body: { external_id: 'c-1', name: 'Ada Lovelace' } });
    await eventually(async () => {
      const { text } = await clientsOf(service).operator('/metrics');
      return /^log_events_unsigned 0$/m.test(text);
    });
    await service.stop();
  });
  afterEach(async () => {
    const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
    await database.dropAll();
    await database.close();
    server.down();
    await rm(directory, { recursive: true, force: true });
  });

  const move = (from = directory, to = server.url) =>
    command(['log', 'copy', '--from', from, '--to', to], environment);
  const refusalOf = async (moving: ReturnType<typeof move>): Promise<string> => {
    const { code, out, error } = await moving;
    expect([code, out]).to.deep.equal([1, '']);
    return error;
  };

  it('is not begun where another service is, and changes nothing there', async () => {
    server.plant('card-A', { type: 'CardQueued', data: Buffer.from('{}'), metadata: Buffer.from('') });
    const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
    await database.collection('deliveries').insertOne({ a: 1 });
    expect(await refusalOf(move())).to.include('the event store: another service is there');
    expect(await database.collectionNames('')).to.deep.equal(['deliveries']);
    expect(markOfDirectory(directory)).to.equal(null);
    await database.close();
  });

  it('leaves files that are no service any more, and are not moved again', async () => {
    expect(await move()).to.include({ code: 0, error: '' });
    expect(markOfDirectory(directory)).to.deep.equal({
      why: 'it was moved to the event store',
      state: 'moved',
    });
    expect(await refusalOf(move())).to.include('this is not the service, it was moved to the event store');
    const records = server.records;
    const other = await EventStoreDbStandIn.start(clock);
    expect(await refusalOf(move(directory, other.url))).to.include('this is not the service');
    other.down();
    expect(server.records).to.equal(records);
  });

  it('carries on the key by which repeated sends are known, and leaves what others have in the database', async () => {
    expect(await move()).to.include({ code: 0 });
    const keys = (): unknown => {
      const database = new DatabaseSync(join(directory, 'keys.db'), { readOnly: true });
      const blocks: unknown = database.prepare('select number, wrappedBy, iv, sealed from blocks').all();
      database.close();
      return blocks;
    };
    const before = keys();
    expect(before).to.have.property('length').that.is.above(0);
    const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
    await database.collection('others').insertOne({ a: 1 });
    expect(await move(server.url, directory)).to.include({ code: 0, error: '' });
    expect(keys()).to.deep.equal(before);
    expect(markOfDirectory(directory)).to.equal(null);
    expect(await refusalOf(move(server.url, directory))).to.include(
      'the event store: this is not the service',
    );
    expect(await move()).to.include({ code: 0, error: '' });
    expect(await database.collection('others').countDocuments()).to.equal(1);
    await database.close();
  });

  it('copies fronts of cards, and says which is damaged', async () => {
    const [bytes, damaged] = [Buffer.from('a print master'), Buffer.from('another one')];
    const digest = ArtworkDigest.parse(hash('sha256', bytes));
    const pictures = (master: Buffer) => ({
      master,
      preview: Buffer.from('smaller'),
      thumbnail: Buffer.from('smallest'),
    });
    const files = fileArtwork(join(directory, 'artwork'), clock);
    await files.put(digest, pictures(damaged));
    expect(await refusalOf(move())).to.equal(`The front ${digest} is damaged. Restore it from a backup.\n`);
    expect(markOfDirectory(directory)).to.equal(null);
    await files.remove(digest, Infinity);
    await files.put(digest, pictures(bytes));
    expect(await move()).to.include({ code: 0, error: '' });
    const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
    const copied = await Promise.all(
      pictureSizes.map((size) => mongoArtwork(database, clock).get(digest, size)),
    );
    await database.close();
    expect(copied).to.deep.equal(Object.values(pictures(bytes)));
    await files.remove(digest, Infinity);
    expect(await move(server.url, directory)).to.include({ code: 0, error: '' });
    expect(await files.get(digest, 'thumbnail')).to.deep.equal(pictures(bytes).thumbnail);
  });

  it('is not replaced by an empty log that is signed with the key of the files', async () => {
    const service = await start({ DATA_DIR: directory });
    await eventually(async () => (await fetch(`${service.baseUrl}/log/checkpoint`)).status === 200);
    await service.stop();
    await rename(join(directory, 'events.db'), join(directory, 'aside.db'));
    const head = await readFile(join(directory, 'log.head'), 'utf8');
    const failures: unknown[] = [];
    const notary = await start(environment, 'notary', (error) => failures.push(error));
    await eventually(() => failures.length > 0);
    await notary.stop();
    const { code, message } = explain(failures[0]);
    expect(code).to.equal(1);
    expect(message).to.match(/the log ends after 0 events; a checkpoint of \d+ was signed/);
    expect(await readFile(join(directory, 'log.head'), 'utf8')).to.equal(head);
  });

  const onDatabase = async (work: (database: MongoDatabase) => Promise<void>): Promise<void> => {
    const database = new MongoDatabase(environment['MONGODB_URL'] ?? '', clock);
    try {
      await work(database);
    } finally {
      await database.close();
    }
  };

  it('is refused while a process of the servers runs, which ends once it is moved', () =>
    onDatabase(async (database) => {
      expect(await move()).to.include({ code: 0 });
      const failures: unknown[] = [];
      const service = await start(environment, 'api', (error) => failures.push(error));
      try {
        const { operator } = clientsOf(service);
        await service.prepared;
        const still = `The process ${hostname()} ${process.pid} still runs. Stop every process`;
        expect(await refusalOf(move(server.url, directory))).to.include(still);
        expect(await refusalOf(move(server.url, 'esdb://127.0.0.1:1?tls=false'))).to.include(still);
        expect([await markIn(database), markOfDirectory(directory)?.state]).to.deep.equal([null, 'moved']);
        await setMark(database, { why: 'it was moved to events.db', state: 'moved' });
        await eventually(() => failures.length > 0);
        expect(explain(failures[0])).to.deep.equal({
          code: 1,
          message: 'This is not the service any more: it was moved to events.db.',
        });
        const { status, code } = await operator('/operator/v1/organizations', { body: { name: 'Acme' } });
        expect([status, code]).to.deep.equal([503, 'rehearsal']);
      } finally {
        await service.stop();
      }
    }));

  it('stops between its marks if a process was started meanwhile, and leaves one service when it is run again', () =>
    onDatabase(async (database) => {
      expect(await move()).to.include({ code: 0 });
      const releases = new Releases({ database, clock, release: 'another', by: 'late' });
      const [from, to] = [readSettings(environment), readSettings({ DATA_DIR: directory })];
      const ended = new AbortController();
      const showing: Promise<void>[] = [];
      const show = (): void => {
        const repetition = { clock, signal: ended.signal, pause: 100, onError: throwIt };
        if (showing.length === 0) showing.push(untilAborted(repetition, () => releases.look()));
      };
      const refused: unknown = await moveService(from, to, show).catch((error: unknown) => error);
      ended.abort();
      await Promise.all(showing);
      expect(refused).to.be.instanceOf(NoCopy);
      expect(refused).to.have.property('message').that.includes('The process late still runs');
      const states = async () => [(await markIn(database))?.state, markOfDirectory(directory)?.state];
      expect(await states()).to.deep.equal(['moved', 'unfinished']);
      expect(await move(server.url, directory)).to.include({ code: 0, error: '' });
      expect(await states()).to.deep.equal(['moved', undefined]);
      expect(markOfDirectory(directory)).to.equal(null);
    }));

  it('is refused from servers of two services, and leaves each what it was', () =>
    onDatabase(async (database) => {
      expect(await move()).to.include({ code: 0 });
      const wrong = [
        [{ EVENTSTORE_PREFIX: 'other_' }, 'its settings name two services, or events are missing'],
        [
          { MONGODB_URL: freshUrl(mongo) },
          'no checkpoint of this log is there. Check DATA_DIR or MONGODB_URL',
        ],
      ] as const;
      const to = `${directory}-to`;
      for (const [more, says] of wrong) {
        const moving = command(['log', 'copy', '--from', server.url, '--to', to], {
          ...environment,
          ...more,
        });
        expect(await refusalOf(moving)).to.include(says);
        expect([await markIn(database), markOfDirectory(to)?.state]).to.deep.equal([null, 'unfinished']);
        await rm(to, { recursive: true });
      }
      await rename(join(directory, 'keys.db'), join(directory, 'aside.db'));
      await database.collection('personal_keys').deleteMany({});
      expect(await refusalOf(move(server.url, to))).to.match(
        /the event store: keys of personal data are missing for \d+ events\. Start the service there/,
      );
      expect(await markIn(database)).to.equal(null);
      await rm(to, { recursive: true });
    }));

  it('waits for a redrive that is not finished', async () => {
    const { records } = server;
    const database = new DatabaseSync(join(directory, 'events.db'));
    database.exec("insert into redrives (input) values ('{}')");
    database.close();
    expect(await refusalOf(move())).to.include('A redrive is not finished');
    expect(server.records).to.equal(records);
  });

  it('waits for half-done work, which nobody would finish in files', async () => {
    expect(await move()).to.include({ code: 0 });
    const store = new EventStoreDbEventStore({ url: server.url, clock, entropy });
    const stream = 'credits-acme' as Parameters<typeof event>[0];
    const slot = { card: 'HC-7K3M9QX', revision: 0, command: 'c' };
    const { metadata } = event(stream, 'any');
    const events = sealEvents(stream, null, [
      { id: derivedUuid('1'), type: 'CreditSpent', data: { cause: slot, amount: 1, balance: 0 }, metadata },
    ]);
    await store.append([{ stream, expected: noStream, events }]);
    await store.close();
    expect(await refusalOf(move(server.url, directory))).to.include('Work is half-done');
  });
});
