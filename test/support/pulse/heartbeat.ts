import { readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const beatMs = 10;

/** The processor time of the main thread, in milliseconds; null where it isn't told by thread. */
const ownTime = (): number | null => {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return null;
  }
};

/** How long the threads of this process worked, and how long they waited for a processor; null as above. */
const allTimes = (): { readonly worked: number; readonly waited: number } | null => {
  let [worked, waited] = [0, 0];
  try {
    for (const thread of readdirSync('/proc/self/task')) {
      const [own = 0, delay = 0] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8')
        .split(' ')
        .map(Number);
      worked += own;
      waited += delay;
    }
    return { worked, waited };
  } catch {
    return null;
  }
};

export interface Heartbeat {
  /** Forgets what was before. */
  readonly reset: () => void;
  /** The longest time in milliseconds since then in which this thread worked and did nothing else. */
  readonly longest: () => number;
  /** Of the time in which threads of this process had work to do, the share in which they had a processor. */
  readonly share: () => number;
}

/**
 * Beats every 10 ms, and measures how long this thread was at work between two beats. Time in which other
 * processes had the processor does not count: the machine may be busy.
 */
export const startHeartbeat = (): Heartbeat => {
  let last = { at: performance.now(), own: ownTime() };
  let longest = 0;
  let before = allTimes();
  const beat = (): void => {
    const now = { at: performance.now(), own: ownTime() };
    const passed = now.at - last.at;
    const worked = now.own === null || last.own === null ? passed : Math.min(passed, now.own - last.own);
    longest = Math.max(longest, worked);
    last = now;
  };
  setInterval(beat, beatMs).unref();
  return {
    reset: () => {
      beat();
      longest = 0;
      before = allTimes();
    },
    longest: () => {
      beat();
      return longest;
    },
    share: () => {
      const now = allTimes();
      if (now === null || before === null) return 1;
      const worked = now.worked - before.worked;
      return worked / (worked + now.waited - before.waited);
    },
  };
};
