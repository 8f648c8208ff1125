import { expect } from 'chai';
import { followLog } from '../../../adapters/sqlite/log/log-reader.js';
import { standingClock } from '../../support/time/standing-clock.js';

describe('Following the log file', () => {
  it('pauses between looks at a log that lacks events which were committed', async () => {
    const end = new AbortController();
    const looks: string[] = [];
    const clock = {
      ...standingClock(0),
      sleep: async (time: number): Promise<void> => {
        looks.push(`pause of ${String(time)} ms`);
        if (looks.length >= 4) end.abort();
      },
    };
    const readLog = (): readonly [] => {
      looks.push('read');
      if (looks.length > 100) end.abort();
      return [];
    };
    const following = followLog(
      { readLog, headPosition: () => 3n, untilCommittedAfter: async () => undefined, clock },
      1n,
      { signal: end.signal },
    );
    expect(await following.next()).to.deep.equal({ value: undefined, done: true });
    expect(looks).to.deep.equal(['read', 'pause of 1000 ms', 'read', 'pause of 1000 ms']);
  });
});
