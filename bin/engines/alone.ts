import type { Logger } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import { untilAborted } from '../../application/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine } from '../engine.js';

const pause: Milliseconds = 1_000;

/** There is no other process: the work is done at once, and again where it fails. */
export const alone =
  (clock: Clock, log: Logger): Engine['exclusively'] =>
  (name, signal, work) => {
    const onError = (error: unknown) =>
      log.error({ err: error, process: name }, 'process failed, trying again');
    return untilAborted({ clock, signal, pause, onError }, () => work(signal));
  };
