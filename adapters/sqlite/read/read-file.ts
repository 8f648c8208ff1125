import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../application/ports/system.js';
import { ProjectionBoard, type ProjectorStatus } from '../../../application/projecting/projection-board.js';
import { readsWait, type ReadYourWrites } from '../../../application/projecting/read-your-writes.js';
import { withTimeout } from '../../../application/timing/with-timeout.js';
import { FinalError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { errcodeOf, isDirectory, openForReading } from '../database.js';
import { UnusableFile } from '../errors.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import type { SharedLog } from '../log/log-reader.js';
import { whileShut } from '../gate.js';
import { assertNotPast } from '../verification/verification.js';
import type { FromProjector, ProjectorStart, ToProjector } from './projector-thread.js';
import { SqliteReadModels } from './read-models.js';

export interface ReadFileOptions {
  /** DATA_DIR. */
  readonly directory: string;
  readonly log: SharedLog;
  /** The file of the keys of personal data, and the keys that encrypt it. */
  readonly keys: { readonly path: string; readonly masters: MasterKeys };
  readonly clock: Clock;
  /** The module of the projector's thread. It calls `serveProjector`. */
  readonly thread: URL;
  /** The projector found the log damaged: end the process with exit code 1. */
  readonly onDamage: (error: DamagedLog) => void;
  /** The projector met an error that stays: end the process with exit code 1. */
  readonly fail: (error: FinalError) => void;
}

const restartAfter: Milliseconds = 1_000;
const stopTimeout: Milliseconds = 5_000;

/** The checkpoints of the file's builds. None if the file is missing or can't be read: it is made again. */
const readCheckpoints = (path: string): readonly { readonly name: string; readonly checkpoint: bigint }[] => {
  if (!existsSync(path)) return [];
  try {
    const database = openForReading(path);
    try {
      const rows: readonly { readonly name: string; readonly checkpoint: number }[] = database
        .prepare("select name, checkpoint from builds where state <> 'retired'")
        .all();
      return rows.map(({ name, checkpoint }) => ({ name, checkpoint: BigInt(checkpoint) }));
    } finally {
      database.close();
    }
  } catch (error) {
    if (errcodeOf(error) === null) throw error;
    return [];
  }
};

/**
 * Opens or makes read.db, and starts the projector's thread. Resolves when the projector starts to catch up.
 * Throws CheckpointPastHead if a projection has seen events that the log doesn't have, and UnusableFile.
 */
export const openReadFile = async (options: ReadFileOptions): Promise<ReadFile> => {
  const path = join(options.directory, 'read.db');
  if (isDirectory(path))
    throw new UnusableFile(`${path} is a folder. Move it aside: the next start makes the file again.`);
  const head = Atomics.load(new BigInt64Array(options.log.head), 0);
  for (const { name, checkpoint } of readCheckpoints(path))
    assertNotPast(head, { [`The projection ${name}`]: checkpoint });
  const file = new ReadFile(path, options);
  await file.begun;
  return file;
};

/**
 * The read models of the embedded engine: queries on read.db, and the thread that projects the log into it.
 */
export class ReadFile {
  readonly readModels: SqliteReadModels;
  readonly readYourWrites: ReadYourWrites;
  /** Resolves when the projector starts to catch up. */
  readonly begun: Promise<void>;
  readonly #board: ProjectionBoard;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #worker: Worker | null = null;
  #begin: () => void = () => undefined;

  constructor(
    private readonly path: string,
    private readonly options: ReadFileOptions,
  ) {
    this.#board = new ProjectionBoard(options.clock);
    this.readModels = new SqliteReadModels({
      path,
      clock: options.clock,
      onDamage: () => this.#send({ kind: 'replace' }),
    });
    const head = new BigInt64Array(options.log.head);
    this.readYourWrites = readsWait(this.#board, () => Atomics.load(head, 0));
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.#running = this.#run();
  }

  status(): ProjectorStatus {
    return this.#board.current();
  }

  /** Starts a new build of a projection beside the one in use. Returns false for an unknown name. */
  async rebuild(name: string): Promise<boolean> {
    const isKnown = this.status().projections.some((projection) => projection.name === name);
    if (isKnown) this.#send({ kind: 'rebuild', name });
    return isKnown;
  }

  /** Saves projected changes, then ends the thread. */
  async close(): Promise<void> {
    const { clock } = this.options;
    this.#closing.abort();
    this.readModels.close();
    this.#send({ kind: 'stop' });
    await withTimeout(clock, stopTimeout, this.#running, () => this.#worker?.terminate());
    await this.#running;
    this.#board.close();
  }

  #send(message: ToProjector): void {
    this.#worker?.postMessage(message);
  }

  /** Keeps a thread running: if it ends by itself, another is started. */
  async #run(): Promise<void> {
    const { clock, log, keys, thread } = this.options;
    while (!this.#closing.signal.aborted) {
      const start: ProjectorStart = { log, path: this.path, keys };
      const worker = new Worker(thread, { workerData: start });
      this.#worker = worker;
      worker.on('message', (message: FromProjector) => this.#receive(message));
      let reason = 'The projector ended.';
      worker.on('error', (error) => {
        reason = error.message;
      });
      await new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      this.#worker = null;
      this.#board.status({ ...this.status(), down: reason });
      this.#begin();
      await clock.sleep(restartAfter, this.#closing.signal);
    }
  }

  #receive(message: FromProjector): void {
    switch (message.kind) {
      case 'moved':
        return this.#board.moved(message.position);
      case 'status':
        this.readModels.refresh();
        this.#board.status(message.status);
        return this.#begin();
      case 'reopen':
        return this.readModels.reopen();
      case 'damagedLog':
        return this.#endWith(new DamagedLog(message.position, message.reason), this.options.onDamage);
      case 'failed':
        return this.#endWith(new FinalError(message.message), this.options.fail);
    }
  }

  #endWith<E>(error: E, end: (error: E) => void): void {
    whileShut(this.options.log.gate, () => end(error));
  }
}
