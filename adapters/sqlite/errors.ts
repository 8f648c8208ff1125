import { explainingFailures } from '../../application/timing/explaining-failures.js';
import { codeOf, FinalError, messageOf, NamedError } from '../../domain/errors.js';

/** The data directory is in use by another process. */
export class DataDirectoryInUse extends NamedError {
  constructor(readonly directory: string) {
    super(
      `The data directory ${directory} is in use by another process. Stop that process first, or set DATA_DIR to another directory.`,
    );
  }
}

/** A file in a data directory is damaged or no file: the message says which, and what to restore. */
export class UnusableFile extends FinalError {}

/** Advice on a file that a command, run as root, has made. */
export const ownership = "It must belong to the service's user: run the command line as that user, too.";

/** Whether the file system lets this process not use a file. */
export const isForbidden = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(String(codeOf(error)));

/** Why a file can't be used, and what to do about it where that is known. */
export const reasonOf = (error: unknown): string =>
  `${messageOf(error)}.${isForbidden(error) ? ` ${ownership}` : ''}`;

/** A reader has seen events that the log no longer has: events are missing from its end. */
export class CheckpointPastHead extends NamedError {
  constructor(
    readonly reader: string,
    readonly checkpoint: bigint,
    readonly head: bigint,
  ) {
    super(
      `${reader} has read up to position ${checkpoint}, but the event log ends at position ${head}: events are missing from its end. ` +
        'Restore events.db from a backup that reaches at least that position.',
    );
  }
}

/**
 * A write certainly left nothing behind: the disk is full or read-only, or the file can't be read. A later
 * write may succeed.
 */
export class NotWritten extends NamedError {}

/**
 * A commit may or may not be on disk. The process must end without another response (exit code 75); the next
 * start learns the outcome from the log. (docs/operations.md#exit-codes)
 */
export class UnknownOutcome extends NamedError {}

export type Unavailable = new (message: string, options: ErrorOptions) => Error;

/** The same port, whose failures are all its own error. */
export const reachable = <Port extends object>(Unavailable: Unavailable, port: Port): Port =>
  explainingFailures(port, (error) => new Unavailable(messageOf(error), { cause: error }));
