import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NotaryOptions } from '../../../adapters/sqlite/notary/notary.js';
import { openEventsFile, type EventsFile } from '../../../adapters/sqlite/log/events-file.js';
import type { DamagedLog } from '../../../application/log/damaged-log.js';
import type { UnknownOutcome } from '../../../adapters/sqlite/errors.js';
import { eventKeys } from '../../support/fixtures/seal-events.js';
import { standingClock } from '../../support/time/standing-clock.js';

export const start = Date.parse('2026-03-01T12:00:00.000Z');

export interface OpenedFile extends EventsFile {
  readonly directory: string;
  readonly clock: ReturnType<typeof standingClock>;
  readonly damage: DamagedLog[];
  readonly unknown: UnknownOutcome[];
}

const notary: NotaryOptions = {
  thread: new URL('../../../bin/notary-thread.js', import.meta.url),
  signers: [],
  eventKeys: () => eventKeys,
  scrubEvery: 86_400_000,
};

/**
 * Opens a data directory and keeps the errors that are reported about it. Its log is notarized, and so
 * verified, in a thread of its own, unless the test says that it needs none.
 */
export const openDirectory = async (
  directory: string,
  { isNotarized = true }: { readonly isNotarized?: boolean } = {},
): Promise<OpenedFile> => {
  const clock = standingClock(start);
  const damage: DamagedLog[] = [];
  const unknown: UnknownOutcome[] = [];
  const file = await openEventsFile({
    directory,
    clock,
    onDamage: (error) => damage.push(error),
    onUnknownOutcome: (error) => unknown.push(error),
    ...(isNotarized && { notary }),
  });
  return { ...file, directory, clock, damage, unknown };
};

/** Makes a directory for `body` and deletes it afterwards. */
export const inNewDirectory = async <T>(body: (directory: string) => Promise<T>): Promise<T> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-sqlite-'));
  try {
    return await body(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

/** Opens a new directory, which is deleted when it is closed. Nothing notarizes its log. */
export const openNew = async (): Promise<OpenedFile> => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-sqlite-'));
  const file = await openDirectory(directory, { isNotarized: false });
  const close = async () => {
    await file.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { ...file, close };
};
