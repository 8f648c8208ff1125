/** Another process holds the data directory. */
export class DataDirectoryInUse extends Error {
  override readonly name = 'DataDirectoryInUse';

  constructor(readonly directory: string) {
    super(
      `The data directory ${directory} is in use by another process. Stop that one first, or set DATA_DIR to another directory.`,
    );
  }
}

/**
 * The event log is not what was written. `position`: the first event that is missing, unreadable or changed,
 * as far as can be told.
 */
export class DamagedLog extends Error {
  override readonly name = 'DamagedLog';

  constructor(
    readonly position: bigint,
    readonly reason: string,
  ) {
    super(`The event log is damaged at position ${position}: ${reason}. Restore events.db from a backup.`);
  }
}

/** A reader of the log has seen events that the log does not hold (any more): its tail is missing. */
export class CheckpointPastHead extends Error {
  override readonly name = 'CheckpointPastHead';

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
 * A write that certainly left nothing behind: the disk is full or read-only, or the file can't be read. A
 * later one may succeed.
 */
export class NotWritten extends Error {
  override readonly name = 'NotWritten';

  constructor(
    message: string,
    /** SQLite's extended result code. */
    readonly errcode: number,
  ) {
    super(message);
  }
}

/**
 * A commit may or may not be on disk. The process must end without answering (exit code 75); the next start
 * knows from the log.
 */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}
