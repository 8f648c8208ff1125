import { pino, type Logger, type LoggerOptions } from 'pino';
import type { Clock } from '../../application/ports/system.js';
import { isPlainObject } from '../../domain/plain-object.js';
import type { Milliseconds } from '../../domain/ids.js';

const outageInterval: Milliseconds = 1_000;
const { warn = 0, error = 0 } = pino.levels.values;

const chainOf = (thrown: unknown): readonly Error[] =>
  thrown instanceof Error ? [thrown, ...chainOf(thrown.cause)] : [];

/** A warning or an error about a store that is away or takes no writes: its reason, or the error itself. */
const isOutage = (fields: unknown): fields is object =>
  isPlainObject(fields) &&
  (typeof fields['reason'] === 'string' ||
    chainOf(fields['err']).some(({ name }) => /^NotWritten$|Unavailable$|^Mongo/.test(name)));

/**
 * Logs to standard output: JSON lines, or colored text on a terminal. While a store is away every request and
 * every loop fails in the same way: such lines are limited to one a second, whose `left_out` counts the lines
 * that were dropped since the one before.
 */
export const makeLog = async (level: string, clock: Clock): Promise<Logger> => {
  let leftOut = 0;
  let lastAt = -Infinity;
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: {
      logMethod(given, method, at) {
        const [fields, ...rest] = given;
        if (at < warn || at > error || !isOutage(fields)) return method.apply(this, given);
        const isDue = clock.monotonic() >= lastAt + outageInterval;
        if (isDue) method.apply(this, [{ ...fields, left_out: leftOut }, ...rest]);
        leftOut = isDue ? 0 : leftOut + 1;
        if (isDue) lastAt = clock.monotonic();
      },
    },
  };
  if (!process.stdout.isTTY) return pino(options, pino.destination({ dest: 1, sync: false, minLength: 0 }));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ colorize: true }));
};
