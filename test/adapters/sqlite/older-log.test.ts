import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { scrubNow } from '../../../application/notarize.js';
import type { RawEvent } from '../../../application/hash-chain.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { inNewDirectory, openDirectory } from './setup.js';

const chain = (version: string): readonly RawEvent[] =>
  JSON.parse(
    readFileSync(new URL(`../../../../test/golden/chain/${version}.json`, import.meta.url), 'utf8'),
  ) as readonly RawEvent[];

/** A data directory as the version before this one left it: it knew no tree, and kept a mark instead. */
const olderFile = (directory: string, events: readonly RawEvent[]): void => {
  const database = new DatabaseSync(join(directory, 'events.db'));
  database.exec(`
    pragma journal_mode = wal;
    create table events (
      position integer primary key, stream text not null, revision integer not null, id text not null, type text not null,
      data text not null, personal text, metadata text not null, unique (stream, revision)
    ) strict;
    create table marks (name text primary key, position integer not null) strict, without rowid;
    insert into marks (name, position) values ('verified', ${events.length});`);
  const insert = database.prepare('insert into events values (?, ?, ?, ?, ?, ?, ?, ?)');
  for (const [index, { stream, revision, id, type, data, personal, metadata }] of events.entries())
    insert.run(index + 1, stream, revision, id, type, data, personal, metadata);
  database.close();
};

describe('a log of an older version', () => {
  for (const version of ['version-1', 'version-1-then-2'])
    it(`is opened, notarized from its first event, and read back: ${version}`, () =>
      inNewDirectory(async (directory) => {
        const events = chain(version);
        expect(events.length).to.be.at.least(1);
        olderFile(directory, events);
        const file = await openDirectory(directory);
        await file.verified;
        expect(await file.tiles.tree()).to.include({
          size: events.length,
          position: BigInt(events.length),
        });
        const { raw: log, tiles } = file;
        const deps = {
          log,
          tiles,
          clock: new SystemClock(),
          sign: null,
          scrubEvery: 86_400_000,
          restore: 'events.db',
        };
        expect(await scrubNow(deps)).to.equal(events.length);
        expect(file.damage).to.deep.equal([]);
        await file.close();
      }));

  it('is refused if an event of version 1 was changed', () =>
    inNewDirectory(async (directory) => {
      const changed = chain('version-1').map((event, index) =>
        index === 1 ? { ...event, type: 'Denied' } : event,
      );
      olderFile(directory, changed);
      const error = await openDirectory(directory).then(
        (file) => file.close(),
        (refused: unknown) => refused,
      );
      expect(error).to.include({ name: 'DamagedLog', position: 2n });
    }));
});
