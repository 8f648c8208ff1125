import type { Clock } from '../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../domain/ids.js';

/** The longest time that a timer takes; longer sleeps are several of them. */
const longestTimer: Milliseconds = 2 ** 31 - 1;

const timer = (time: Milliseconds, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const wake = () => {
      clearTimeout(handle);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const handle = setTimeout(wake, time);
    signal?.addEventListener('abort', wake, { once: true });
  });

export class SystemClock implements Clock {
  now(): Milliseconds {
    return Date.now();
  }

  instant(): Instant {
    return new Date().toISOString() as Instant;
  }

  async sleep(time: Milliseconds, signal?: AbortSignal): Promise<void> {
    const end = performance.now() + time;
    for (let left = time; left > 0 && signal?.aborted !== true; left = Math.ceil(end - performance.now())) await timer(Math.min(left, longestTimer), signal);
  }
}
