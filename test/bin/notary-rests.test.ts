import { expect } from 'chai';
import { pino } from 'pino';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { Clock } from '../../application/ports/system.js';
import { notaryOf } from '../../bin/engines/notarized.js';
import { readSettings } from '../../bin/settings/settings.js';
import { Instant } from '../../domain/ids.js';
import { eventKeys } from '../support/fixtures/seal-events.js';
import { seventyHappenings, storedLog } from '../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../support/memory/log-tiles.js';
import { MemoryRawLog } from '../support/memory/raw-log.js';

describe('the notary of a log on servers', () => {
  it('rests nine times as long as it works, a quarter of a second at most', async () => {
    const log = new MemoryRawLog(storedLog(Array.from({ length: 40 }, seventyHappenings).flat()));
    const stop = new AbortController();
    let now = 0;
    let worked = 0;
    const rests = new Map<number, number>();
    const clock: Clock = {
      now: () => now,
      steady: () => now,
      monotonic: () => now,
      instant: () => Instant.parse(new Date(now).toISOString()),
      sleep: (time) => {
        if (!rests.has(worked)) rests.set(worked, time);
        now += time;
        worked = 0;
        return Promise.resolve();
      },
    };
    const takes = (time: number): void => {
      now += time;
      worked += time;
    };
    const readStored = log.readStored.bind(log);
    log.readStored = (after, limit) => {
      if (limit === 500) takes(after < 1_500n ? 10 : 40);
      return readStored(after, limit);
    };
    await notaryOf(
      {
        settings: readSettings({ DATA_DIR: '.' }),
        clock,
        entropy: new SystemEntropy(),
        eventKeys: () => eventKeys,
        personalMasters: () => {
          throw new Error('nothing is opened');
        },
        // Told of the end of the scrub, which is the end of the test.
        log: pino({}, { write: () => stop.abort() }),
        fail: (error) => {
          throw error;
        },
      },
      { log, tiles: new MemoryLogTiles() },
    )(stop.signal);
    expect([rests.get(10), rests.get(40)]).to.deep.equal([90, 250]);
  });
});
