import { FinalError } from '../../domain/errors.js';

/**
 * The format of the log, by the version that first wrote it: 1,000 for 1.0, and 1,001 for 1.1. Raise it with
 * whatever an earlier version can't read, such as a new type or category of events.
 */
export const logFormat = 1_000;

/** A newer version has written to the log, in a format that this one can't read. */
export class NewerLog extends FinalError {
  constructor(format: number) {
    super(`The event log was written by a newer version: ${Math.floor(format / 1_000)}.${format % 1_000}.`);
  }
}

/** `format`: what the log is marked with; 0 if it is not. Throws NewerLog. */
export const assertReadable = (format: number): void => {
  if (format > logFormat) throw new NewerLog(format);
};
