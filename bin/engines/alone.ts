import type { Logger } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine } from '../engine.js';

const pause: Milliseconds = 1_000;

/** There is no other process: the work is done at once, and again where it fails. */
export const alone =
  (clock: Clock, log: Logger): Engine['exclusively'] =>
  async (name, signal, work) => {
    while (!signal.aborted) {
      try {
        await work(signal);
      } catch (error) {
        log.error({ err: error, process: name }, 'process failed, trying again');
      }
      await clock.sleep(pause, signal);
    }
  };
