import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventStoreDbEventStore } from '../../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../../adapters/mongodb/client/database.js';
import { mongoLogTiles } from '../../../adapters/mongodb/records/log-tiles.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { notarizeNow } from '../../../application/log/notarize.js';
import type { StoredEvent } from '../../../application/ports/raw-log.js';
import { EventStoreDbStandIn } from '../../engines/eventstoredb-stand-in.js';
import { recordOf } from '../../support/fixtures/records.js';
import { sealed, seventyHappenings, storedLog } from '../../support/fixtures/stored-log.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { command } from '../../support/servers/programs.js';
import { freshUrl } from '../../adapters/mongodb/support.js';
import { macs, writeEventKeys } from '../../support/fixtures/seal-events.js';

const [clock, entropy] = [new SystemClock(), new SystemEntropy()];
const events = storedLog(seventyHappenings(), (index) => BigInt(index * 1_000 + 5_000), sealed);

describeWithEngines(['MONGODB_URL'], 'a log in EventStoreDB', (mongo) => {
  let directory: string;
  let database: MongoDatabase;
  let source: EventStoreDbStandIn;
  let target: EventStoreDbStandIn;
  let stores: readonly EventStoreDbEventStore[];
  let root: string;
  let environment: Readonly<Record<string, string>>;

  const put = (server: EventStoreDbStandIn, all: readonly StoredEvent[]): void => {
    const own = server.kept.filter(({ stream, commit }) => stream.startsWith('$') && commit < 5_000n);
    server.replace([...own, ...all.map(recordOf)]);
  };
  const copied = (): Promise<readonly StoredEvent[]> =>
    stores[1]?.readStored(0n, 1_000) ?? Promise.resolve([]);
  const copy = (more: Readonly<Record<string, string>> = {}, monotonic?: () => number) =>
    command(['log', 'copy', '--to', target.url, '--json'], { ...environment, ...more }, monotonic);

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    writeEventKeys(directory);
    [source, target] = [await EventStoreDbStandIn.start(clock), await EventStoreDbStandIn.start(clock)];
    const url = freshUrl(mongo);
    database = new MongoDatabase(url, clock);
    environment = {
      DATA_DIR: directory,
      EVENTSTORE_URL: source.url,
      MONGODB_URL: url,
      RABBITMQ_URL: 'amqp://127.0.0.1:1',
    };
    stores = [source, target].map(
      (server) => new EventStoreDbEventStore({ url: server.url, clock, entropy }),
    );
    put(source, events);
    const [log] = stores;
    if (log === undefined) throw new Error('there is a store');
    await notarizeNow({
      log,
      tiles: mongoLogTiles(database),
      macs,
      clock,
      sign: ({ size }) => `signed ${size}`,
      scrubEvery: 86_400_000,
      restoreHint: 'the event store',
    });
    root = (await mongoLogTiles(database).newest())?.root.toString('base64') ?? '';
  });
  after(async () => {
    for (const store of stores) await store.close();
    await database.dropAll();
    await database.close();
    for (const server of [source, target]) server.down();
    await rm(directory, { recursive: true, force: true });
  });

  it('is copied to another one text for text, so that every proof holds there', async () => {
    const { code, out, error } = await copy();
    expect([code, error]).to.deep.equal([0, '']);
    expect(JSON.parse(out)).to.deep.equal({ events: events.length, root });
    const texts = ({ position: _position, ...rest }: StoredEvent): object => rest;
    expect((await copied()).map(texts)).to.deep.equal(events.map(texts));
    const rebuilt = await command(['log', 'rebuild', '--json'], {
      ...environment,
      EVENTSTORE_URL: target.url,
    });
    expect([rebuilt.code, rebuilt.error]).to.deep.equal([0, '']);
  });

  it('is copied on from where a copy was broken off, and says how far it is', async () => {
    target.replace(target.kept.slice(0, 40));
    const begun = (await copied()).length;
    expect(begun).to.be.within(1, events.length - 1);
    let now = 0;
    const { code, out, error } = await copy({}, () => (now += 60_000));
    expect([code, error]).to.deep.equal([0, `${events.length} events ...\n`]);
    expect(JSON.parse(out)).to.include({ events: events.length, root });
    expect(await copied()).to.have.lengthOf(events.length);
    const again = await copy();
    expect(JSON.parse(again.out)).to.deep.equal({ events: events.length, root });
  });

  it('is not copied into a store that holds another one, nor before all of it is signed', async () => {
    const whole = [...target.kept];
    put(target, events.slice(1, 2));
    const other = await copy();
    expect([other.code, other.out]).to.deep.equal([1, '']);
    expect(other.error).to.include('Copy into an empty store');
    expect(await copied()).to.have.lengthOf(1);
    target.replace(whole);
    put(source, events.slice(0, -1));
    const shorter = await copy();
    expect([shorter.code, shorter.out]).to.deep.equal([1, '']);
    put(source, events);
    target.replace([]);
    await database.collection('log_checkpoints').deleteMany({});
    const unsigned = await copy();
    expect(unsigned.code).to.equal(1);
    expect(unsigned.error).to.include('Let the role notary sign the rest');
  });

  it('is copied from servers to another server only', async () => {
    const embedded = await command(['log', 'copy', '--to', target.url], { DATA_DIR: directory });
    expect([embedded.code, embedded.error.includes('backup')]).to.deep.equal([2, true]);
    const itself = await command(['log', 'copy', '--to', source.url], environment);
    expect([itself.code, itself.error.includes('--to')]).to.deep.equal([2, true]);
  });
});
