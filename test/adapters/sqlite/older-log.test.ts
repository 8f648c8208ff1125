import { expect } from 'chai';
import { scrubNow } from '../../../application/log/notarize.js';
import { SystemClock } from '../../../adapters/system/clock.js';
import { olderChain, olderFile } from '../../support/fixtures/older-file.js';
import { inNewDirectory, openDirectory } from './setup.js';

describe('a log of an older version', () => {
  for (const version of ['version-1', 'version-1-then-2'] as const)
    it(`is opened, notarized from its first event, and read back: ${version}`, () =>
      inNewDirectory(async (directory) => {
        const events = olderChain(version);
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
      const changed = olderChain('version-1').map((event, index) =>
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
