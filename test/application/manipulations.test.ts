import { join } from 'node:path';
import { expect } from 'chai';
import { openForWriting } from '../../adapters/sqlite/database.js';
import { openLogFile } from '../../adapters/sqlite/notary/offline.js';
import { appendOperations } from '../../adapters/sqlite/writer/append.js';
import { assertUndamaged } from '../../application/damaged-log.js';
import { notarizeNow, scrubNow, type Notarizing } from '../../application/notarize.js';
import type { LogTiles } from '../../application/ports/log-tiles.js';
import type { RawLog, StoredEvent } from '../../application/ports/raw-log.js';
import { inNewDirectory } from '../adapters/sqlite/setup.js';
import { manipulations } from '../support/fixtures/manipulations.js';
import { seventyHappenings, storedLog } from '../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../support/memory/log-tiles.js';
import { MemoryRawLog } from '../support/memory/raw-log.js';
import { standingClock } from '../support/time/standing-clock.js';

const clock = standingClock(Date.parse('2026-03-02T12:00:00.000Z'));

/** A store that is at rest, with what is kept of its log. */
interface Store {
  readonly log: RawLog;
  readonly tiles: LogTiles;
  /** Puts other events in place of all. */
  readonly replace: (events: readonly StoredEvent[]) => void;
  readonly close: () => void;
}

const notarizing = ({ log, tiles }: Pick<Store, 'log' | 'tiles'>): Notarizing => ({
  log,
  tiles,
  clock,
  sign: ({ size, root }) => `${size} ${root.toString('base64')}`,
  scrubEvery: 86_400_000,
  restore: 'the log',
});

/** The error of the notary that begins now and reads everything back; null if it finds nothing. */
const found = async (deps: Notarizing): Promise<unknown> => {
  try {
    await notarizeNow(deps);
    await scrubNow(deps);
    return null;
  } catch (error) {
    return error;
  }
};

const inMemory = (): Store & { readonly tiles: MemoryLogTiles } => {
  const log = new MemoryRawLog([]);
  return {
    log,
    tiles: new MemoryLogTiles(),
    replace: (events) => void (log.events = [...events]),
    close: () => undefined,
  };
};

const inFile = (directory: string): Store => {
  const path = join(directory, 'events.db');
  const database = openForWriting(path);
  appendOperations(database, () => undefined);
  const insert = database.prepare('insert into events values (?, ?, ?, ?, ?, ?, ?, ?)');
  const { log, tiles, close } = openLogFile(path);
  return {
    log,
    tiles,
    replace: (events) => {
      database.exec('begin; delete from events');
      for (const { position, stream, revision, id, type, data, personal, metadata } of events)
        insert.run(Number(position), stream, revision, id, type, data, personal, metadata);
      database.exec('commit');
    },
    close: () => {
      close();
      database.close();
    },
  };
};

const kinds = {
  'in memory, with gaps between positions': {
    position: (index: number) => BigInt(index * 100 + 700),
    run: (test: (store: Store) => Promise<void>) => test(inMemory()),
    namesMissing: false,
  },
  'in events.db': {
    position: (index: number) => BigInt(index + 1),
    run: (test: (store: Store) => Promise<void>) =>
      inNewDirectory(async (directory) => {
        const store = inFile(directory);
        await test(store).finally(store.close);
      }),
    namesMissing: true,
  },
};

for (const [where, { position, run, namesMissing }] of Object.entries(kinds))
  describe(`a change behind the back of the service, ${where},`, () => {
    const events = storedLog(seventyHappenings(), position);

    it('is not seen if there is none', () =>
      run(async (store) => {
        store.replace(events);
        expect(events).to.have.lengthOf(70);
        expect(await notarizeNow(notarizing(store))).to.equal(70);
        expect(await found(notarizing(store))).to.equal(null);
        expect(await store.tiles.newest()).to.have.property('size', 70);
      }));

    for (const { number, what, seenAt, to, tree, copy } of manipulations)
      it(`is seen: ${number}, ${what}`, () =>
        run(async (store) => {
          const { tiles } = store;
          const changed = to(events);
          store.replace(copy === 'older' ? changed : events);
          await notarizeNow(notarizing(store));
          const elsewhere = inMemory();
          elsewhere.replace(events);
          await notarizeNow(notarizing(elsewhere));
          store.replace(changed);
          if (tree === 'set back') {
            // As the tree was when the log ended there. What was signed is in other hands, too.
            const earlier = inMemory();
            earlier.replace(changed);
            await notarizeNow(notarizing(earlier));
            await tiles.reset();
            await tiles.extend(0, earlier.tiles.leafList, changed.at(-1)?.position ?? 0n, 9);
          }
          const before = await tiles.kept();
          const error = await found({
            ...notarizing(store),
            knownElsewhere: () => elsewhere.tiles.kept(),
          });
          expect(error).to.include({ name: 'DamagedLog' });
          const at = position(seenAt - 1);
          // Where positions have gaps, a place that is empty now can't be told from one that always was.
          const next = changed.find((event) => event.position >= at)?.position;
          const past = (changed.at(-1)?.position ?? 0n) + 1n;
          expect(error).to.have.property('position', namesMissing ? at : (next ?? past));
          expect(await tiles.kept()).to.deep.equal(before);
          await assertUndamaged(tiles).then(
            () => expect.fail('exports would show it'),
            (refused: unknown) => expect(refused).to.have.property('code', 'log_damaged'),
          );
        }));
  });
