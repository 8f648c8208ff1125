import { SystemClock } from '../../../adapters/system/clock.js';
import type { Clock } from '../../../application/ports/system.js';
import type { Instant, Milliseconds } from '../../../domain/ids.js';

/** The machine's clock, which a test can put forward. Time limits that run feel nothing of it. */
export const skippingClock = (): Clock & { readonly skip: (time: Milliseconds) => void } => {
  const system = new SystemClock();
  let skipped = 0;
  return {
    now: () => system.now() + skipped,
    instant: () => new Date(system.now() + skipped).toISOString() as Instant,
    steady: () => system.steady() + skipped,
    monotonic: () => system.monotonic(),
    sleep: (time, signal) => system.sleep(time, signal),
    skip: (time) => void (skipped += time),
  };
};
