import { ReadModelNotBuilt } from '../../application/ports/read-models.js';
import { FinalError } from '../../domain/errors.js';
import type { ProcessContext } from './engine.js';

/**
 * Logs the failures of a process that is tried again, and ends this one if no other try can help. On empty
 * servers a process is often faster than the projector: that is no failure.
 */
export const reporter =
  ({ log, fail }: Pick<ProcessContext, 'log' | 'fail'>, process: string) =>
  (error: unknown): void => {
    if (error instanceof ReadModelNotBuilt) log.info({ process }, `process waits: ${error.message}`);
    else log.error({ err: error, process }, 'process failed, trying again');
    if (error instanceof FinalError) fail(error);
  };
