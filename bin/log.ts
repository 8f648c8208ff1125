import { pino, type Logger } from 'pino';
import pretty from 'pino-pretty';

/** JSON lines on standard output; pretty on a terminal. */
export const makeLog = (level: string): Logger => {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return process.stdout.isTTY ? pino(options, pretty({ colorize: true })) : pino(options, pino.destination({ dest: 1, sync: false, minLength: 0 }));
};
