import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

/** The machine's clock, for tests that talk to real sockets. */
export class RealClock implements Clock {
  now(): Milliseconds {
    return Date.now();
  }

  steady(): Milliseconds {
    return Date.now();
  }

  instant(): Instant {
    return new Date().toISOString() as Instant;
  }

  monotonic(): Milliseconds {
    return Math.floor(performance.now());
  }

  sleep(time: Milliseconds, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, time);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}
