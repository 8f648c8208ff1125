import { expect } from 'chai';
import { pino } from 'pino';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import type { Clock } from '../../application/ports/system.js';
import { notaryOf } from '../../bin/engines/notarized.js';
import { readSettings } from '../../bin/settings/settings.js';
import type { EngineOptions } from '../../bin/wiring/engine.js';
import { messageOf } from '../../domain/errors.js';
import { Instant, type OrganizationId } from '../../domain/ids.js';
import { eventKeys } from '../support/fixtures/seal-events.js';
import { seventyHappenings, storedLog } from '../support/fixtures/stored-log.js';
import { MemoryLogTiles } from '../support/memory/log-tiles.js';
import { MemoryRawLog } from '../support/memory/raw-log.js';
import { standingClock } from '../support/time/standing-clock.js';

const optionsOf = (clock: Clock, told: () => void): EngineOptions => ({
  settings: readSettings({ DATA_DIR: '.' }),
  clock,
  entropy: new SystemEntropy(),
  eventKeys: () => eventKeys,
  personalMasters: () => {
    throw new Error('nothing is opened');
  },
  log: pino({}, { write: told }),
  fail: (error) => {
    throw error;
  },
});

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
    // Told of the end of the scrub, which is the end of the test.
    const options = optionsOf(clock, () => stop.abort());
    await notaryOf(options, { log, tiles: new MemoryLogTiles(), rehearsal: () => null })(stop.signal);
    expect([rests.get(10), rests.get(40)]).to.deep.equal([90, 250]);
  });

  it('goes on where it was when it failed while it looked back', async () => {
    const others = Array.from({ length: 19 }, seventyHappenings).flat();
    const small = others.map((each) => ({ ...each, org: each.org && ('small' as OrganizationId) }));
    const all = storedLog([...small, ...seventyHappenings()]);
    const log = new MemoryRawLog(all.slice(0, small.length));
    const tiles = new MemoryLogTiles();
    const stop = new AbortController();
    const standing = standingClock(0);
    let sleeps = -Infinity;
    const sleep = (time: number): Promise<void> => {
      sleeps += 1;
      return sleeps === 2 ? Promise.reject(new Error('away')) : standing.sleep(time);
    };
    let told = (): void => undefined;
    const options = optionsOf({ ...standing, sleep }, () => told());
    const notary = notaryOf(options, { log, tiles, rehearsal: () => null });
    const first = new AbortController();
    told = () => first.abort();
    await notary(first.signal);
    log.events = all;
    const read = new Set<number>();
    const leaves = tiles.leaves.bind(tiles);
    tiles.leaves = (n) => {
      read.add(n);
      return leaves(n);
    };
    sleeps = 0;
    expect(await notary(stop.signal).catch(messageOf)).to.equal('away');
    expect([...read]).to.deep.equal([5, 4]);
    read.clear();
    told = () => stop.abort();
    await notary(stop.signal);
    expect([...read]).to.deep.equal([5, 3, 2, 1, 0]);
  });
});
