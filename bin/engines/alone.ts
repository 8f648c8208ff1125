import { untilAborted } from '../../application/until-aborted.js';
import { FinalError } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine, EngineOptions } from '../engine.js';

const pause: Milliseconds = 1_000;

/** For a process without others beside it: does the work at once, and again if it ends or fails. */
export const alone =
  ({ clock, log, fail }: Pick<EngineOptions, 'clock' | 'log' | 'fail'>): Engine['exclusively'] =>
  (name, signal, work) => {
    const onError = (error: unknown): void => {
      log.error({ err: error, process: name }, 'process failed, trying again');
      if (error instanceof FinalError) fail(error);
    };
    return untilAborted({ clock, signal, pause, onError }, () => work(signal));
  };
