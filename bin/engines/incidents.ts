import type { Logger } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import { messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

const repeatedAfter: Milliseconds = 5_000;

/** Logs an engine's failures; the same message at most every few seconds. */
export const incidentLog = (log: Logger, clock: Clock, engine: string): ((error: unknown) => void) => {
  let last = '';
  let lastAt = -Infinity;
  return (error) => {
    const reason = messageOf(error);
    if (reason === last && clock.monotonic() - lastAt < repeatedAfter) return;
    last = reason;
    lastAt = clock.monotonic();
    log.warn({ engine, reason }, 'engine failed, trying again');
  };
};
