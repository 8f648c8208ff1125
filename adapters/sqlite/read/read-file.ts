import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../application/ports/system.js';
import { ProjectionBoard } from '../../../application/projecting/projection-board.js';
import { readsWait } from '../../../application/projecting/read-your-writes.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import { withTimeout } from '../../../application/timing/with-timeout.js';
import { FinalError, messageOf } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { errcodeOf, isDirectory, reading, rowsFrom } from '../database.js';
import { UnusableFile } from '../errors.js';
import { whileShut } from '../gate.js';
import { assertNotPast } from '../verification/verification.js';
import type { FromProjector, ProjectorStart, ToProjector } from './projector-thread.js';
import { sqliteReadModels } from './read-models.js';

export interface ReadFileOptions extends Pick<ProjectorStart, 'log' | 'keys'> {
  /** DATA_DIR. */
  readonly directory: string;
  readonly clock: Clock;
  /** The module of the projector's thread. It calls `serveProjector`. */
  readonly thread: URL;
  /** The projector found the log damaged, or met another error that stays: end the process, exit code 1. */
  readonly fail: (error: FinalError) => void;
}

const restartAfter: Milliseconds = 1_000;
const stopTimeout: Milliseconds = 5_000;

/** The checkpoints of the file's builds. None if the file is missing or can't be read: it is made again. */
const readCheckpoints = (path: string): readonly { readonly name: string; readonly checkpoint: number }[] => {
  if (!existsSync(path)) return [];
  try {
    return reading(path, (database) =>
      rowsFrom(database.prepare("select name, checkpoint from builds where state <> 'retired'")),
    );
  } catch (error) {
    if (errcodeOf(error) === null && !(error instanceof UnusableFile)) throw error;
    return [];
  }
};

export type ReadFile = Awaited<ReturnType<typeof openReadFile>>;

/**
 * Opens or makes read.db, with the read models of the embedded engine: queries on it, and the thread that
 * projects the log into it. Resolves when the projector starts to catch up. Throws CheckpointPastHead if a
 * projection has seen events that the log doesn't have, and UnusableFile.
 */
export const openReadFile = async ({ directory, log, keys, clock, thread, fail }: ReadFileOptions) => {
  const path = join(directory, 'read.db');
  if (isDirectory(path))
    throw new UnusableFile(`${path} is a folder. Move it aside: the next start makes the file again.`);
  const sharedHead = new BigInt64Array(log.head);
  const head = (): bigint => Atomics.load(sharedHead, 0);
  for (const { name, checkpoint } of readCheckpoints(path))
    assertNotPast(head(), `The projection ${name}`, checkpoint);

  const board = new ProjectionBoard(clock);
  const closing = new AbortController();
  let worker: Worker | null = null;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const send = (message: ToProjector): void => worker?.postMessage(message);
  const readModels = sqliteReadModels({ path, clock, onDamage: () => send({ kind: 'replace' }) });

  const receive = (message: FromProjector): void => {
    switch (message.kind) {
      case 'moved':
        return board.moved(message.position);
      case 'status':
        readModels.refresh();
        board.status(message.status);
        return begin();
      case 'reopen':
        return readModels.reopen();
      case 'failed':
        return whileShut(log.gate, () => fail(new FinalError(message.message)));
    }
  };

  /** Runs a thread to its end. Always rejects: then another is started. */
  const run = async (): Promise<void> => {
    const workerData: ProjectorStart = { log, path, keys };
    const running = new Worker(thread, { workerData });
    worker = running;
    running.on('message', receive);
    let reason: unknown = new Error('The projector ended.');
    running.on('error', (error) => (reason = error));
    // `once` of node:events would not wait, after an error, for what the thread has sent before.
    await new Promise((resolve) => running.on('exit', resolve));
    throw reason;
  };
  const onError = (error: unknown): void => {
    board.status({ ...board.current(), down: messageOf(error) });
    begin();
  };
  const running = untilAborted({ clock, signal: closing.signal, pause: restartAfter, onError }, run);
  await begun;
  return {
    readModels,
    readYourWrites: readsWait(board, head),
    status: () => board.current(),
    /** Starts a new build of a projection beside the one in use. Returns false for an unknown name. */
    rebuild: async (name: string): Promise<boolean> => {
      const isKnown = board.current().projections.some((projection) => projection.name === name);
      if (isKnown) send({ kind: 'rebuild', name });
      return isKnown;
    },
    /** Saves projected changes, then ends the thread. */
    close: async (): Promise<void> => {
      closing.abort();
      readModels.close();
      send({ kind: 'stop' });
      await withTimeout(clock, stopTimeout, running, () => worker?.terminate());
      await running;
      board.close();
    },
  };
};
