import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { cannotOpen, isDamage } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { NotWritten, UnknownOutcome } from '../errors.js';
import type { SharedLog } from '../log/log-reader.js';
import type { InputOf, OperationName, OutputOf, SqlWrite } from './operations.js';
import type { FromWriter, ToWriter, WriteReply, WriteRequest } from './writer-thread.js';

export interface WriterOptions extends SharedLog {
  /** A commit may or may not be on disk: end the process with exit code 75. No write settles after this. */
  readonly onUnknownOutcome: (error: UnknownOutcome) => void;
  /** A write left nothing behind. */
  readonly onUnwritten?: (error: NotWritten) => void;
  /** The log turned out to be damaged: end the process with exit code 1. */
  readonly onDamage: (error: DamagedLog) => void;
}

export interface OpenRequest {
  readonly settle: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

export type SqliteWriter = Awaited<ReturnType<typeof startWriter>>;

/**
 * The only writer of events.db, in a thread of its own, which opens the file and its tables, and makes
 * whatever is missing. Requests that arrive while it commits share the next transaction: one fsync for all of
 * them. A request that has settled is durable. Throws DamagedLog if the file is no database.
 * (docs/engines.md#sqlite)
 */
export const startWriter = async ({ path, head, gate, ...told }: WriterOptions) => {
  const worker = new Worker(new URL('./writer-thread.js', import.meta.url), {
    workerData: { path, head, gate } satisfies SharedLog,
  });
  const [first]: FromWriter[] = await once(worker, 'message');
  if (first?.kind !== 'ready') {
    await worker.terminate();
    const { message, errcode } =
      first?.kind === 'failed' ? first : { message: 'the writer did not start', errcode: null };
    throw isDamage(errcode) ? new DamagedLog(1n, message) : cannotOpen(path, `${message}.`, errcode);
  }

  let unsent: WriteRequest[] = [];
  /** Oldest first. */
  const open: OpenRequest[] = [];
  const listeners: (() => void)[] = [];
  let state: 'running' | 'closing' | 'unknown' | 'closed' = 'running';

  const post = (message: ToWriter): void => worker.postMessage(message);

  /** Sends one message per turn of the event loop, however many requests were made in it. */
  const send = (): void => {
    if (unsent.length === 0) return;
    const requests = unsent;
    unsent = [];
    post({ kind: 'run', requests });
  };

  const settle = (replies: readonly WriteReply[]): void => {
    for (const [index, request] of open.splice(0, replies.length).entries()) {
      const reply = replies[index];
      if (reply?.kind === 'done') request.settle(reply.output);
      else if (reply?.kind === 'unwritten') {
        const error = new NotWritten(reply.message);
        told.onUnwritten?.(error);
        request.reject(error);
      } else request.reject(new Error(reply?.message ?? 'the write has no result'));
    }
    for (const listener of listeners) listener();
  };

  /** The outcome of the open requests can't be known: they never settle. */
  const endUnknown = (reason: string): void => {
    if (state === 'unknown' || state === 'closed') return;
    state = 'unknown';
    told.onUnknownOutcome(new UnknownOutcome(`A commit may or may not be on disk: ${reason}`));
  };

  worker.on('message', (message: FromWriter) => {
    if (message.kind === 'replies') settle(message.replies);
    else if (message.kind === 'damaged')
      told.onDamage(new DamagedLog(Atomics.load(new BigInt64Array(head), 0), message.message));
    else if (message.kind === 'unknown') endUnknown(message.message);
    else if (message.kind === 'closed') state = 'closed';
  });
  worker.on('error', (error) => endUnknown(error.message));
  worker.on('exit', () => endUnknown("the writer's thread ended"));

  /**
   * Runs a write. `onDurable` is called with its output as soon as that is durable: in the order of the
   * commits, and before the promise settles. Throws NotWritten if certainly nothing was stored, and an Error
   * if the operation threw. Never settles if the outcome is unknown.
   */
  const run = <Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    onDurable?: (output: OutputOf<Name>) => void,
  ): Promise<OutputOf<Name>> => {
    if (state === 'closing' || state === 'closed')
      return Promise.reject(new NotWritten('The data directory is closed.'));
    return new Promise((resolve, reject) => {
      const settled = (output: unknown): void => {
        // The thread runs the operation of that name, so its output has that operation's type.
        onDurable?.(output as OutputOf<Name>);
        resolve(output as OutputOf<Name>);
      };
      open.push({ settle: settled, reject });
      unsent.push({ name, input });
      if (unsent.length === 1) setImmediate(send);
    });
  };

  return {
    run,

    /** Runs writes in SQL, in one transaction. Returns how many rows they changed. */
    write: (...statements: readonly SqlWrite[]): Promise<number> => {
      const removes = statements.some(([sql]) => sql.startsWith('delete'));
      return run(removes ? 'removeRows' : 'write', statements);
    },

    /** Calls `listener` after every commit, when its requests have settled. */
    onCommitted: (listener: () => void): void => void listeners.push(listener),

    /** Empties the write-ahead log if it may hold deleted data, as soon as no reader needs it. */
    emptyLog: (): void => {
      if (state === 'running') post({ kind: 'empty' });
    },

    /** Commits waiting writes, then ends the thread. */
    close: async (): Promise<void> => {
      if (state !== 'running') return;
      send();
      state = 'closing';
      const closed = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
      post({ kind: 'close' });
      await closed;
    },
  };
};
