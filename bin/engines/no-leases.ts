import { untilAborted } from '../../application/timing/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { Engine, EngineOptions } from '../wiring/engine.js';
import { reporter } from '../wiring/reporter.js';

const pause: Milliseconds = 1_000;

/** For a process that runs alone: does the work at once, and again if it ends or fails. */
export const withoutLeases =
  ({ clock, log, fail }: Pick<EngineOptions, 'clock' | 'log' | 'fail'>): Engine['exclusively'] =>
  (name, signal, work) =>
    untilAborted({ clock, signal, pause, onError: reporter({ log, fail }, name) }, () => work(signal));
