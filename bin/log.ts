import { pino, type Logger } from 'pino';

/** Logs to standard output: JSON lines, or colored text on a terminal. */
export const makeLog = async (level: string): Promise<Logger> => {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stdout.isTTY) return pino(options, pino.destination({ dest: 1, sync: false, minLength: 0 }));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ colorize: true }));
};
