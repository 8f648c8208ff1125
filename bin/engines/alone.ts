import type { Logger } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import { untilAborted } from '../../application/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine } from '../engine.js';

const pause: Milliseconds = 1_000;

/** For a process without others beside it: does the work at once, and again if it ends or fails. */
export const alone =
  (clock: Clock, log: Logger): Engine['exclusively'] =>
  (name, signal, work) => {
    const onError = (error: unknown) =>
      log.error({ err: error, process: name }, 'process failed, trying again');
    return untilAborted({ clock, signal, pause, onError }, () => work(signal));
  };
