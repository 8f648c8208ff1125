import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { cannotOpen, isDamage } from '../database.js';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { NotWritten, UnknownOutcome } from '../errors.js';
import type { Gate } from '../gate.js';
import type { InputOf, OperationName, OutputOf, SqlWrite } from './operations.js';
import type { FromWriter, ToWriter, WriteReply, WriteRequest, WriterStart } from './writer-thread.js';

export interface WriterOptions {
  readonly path: string;
  /**
   * The position of the log's last committed event, shared with readers in other threads. It is stored before
   * any request of that commit settles.
   */
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
  /** A commit may or may not be on disk. No request settles any more; end the process with exit code 75. */
  readonly onUnknownOutcome: (error: UnknownOutcome) => void;
  /** A write left nothing behind. */
  readonly onUnwritten?: (error: NotWritten) => void;
  /** A write found the file damaged. End the process. */
  readonly onDamage: (error: DamagedLog) => void;
}

interface OpenRequest {
  readonly settle: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The only writer of events.db, in a thread of its own. Requests that arrive while it commits share the next
 * transaction: one fsync for all of them. A request that has settled is durable. (docs/engines.md#sqlite)
 */
export class SqliteWriter {
  readonly #worker: Worker;
  readonly #options: WriterOptions;
  #unsent: WriteRequest[] = [];
  /** Oldest first. */
  readonly #open: OpenRequest[] = [];
  readonly #listeners: (() => void)[] = [];
  #state: 'running' | 'closing' | 'unknown' | 'closed' = 'running';

  /** Opens the file and its tables, and makes whatever is missing. Throws DamagedLog if it is no database. */
  static async open(options: WriterOptions): Promise<SqliteWriter> {
    const { path, head, gate } = options;
    const worker = new Worker(new URL('./writer-thread.js', import.meta.url), {
      workerData: { path, head, gate } satisfies WriterStart,
    });
    const [first]: FromWriter[] = await once(worker, 'message');
    if (first?.kind === 'ready') return new SqliteWriter(worker, options);
    await worker.terminate();
    const { message, errcode } =
      first?.kind === 'failed' ? first : { message: 'the writer did not start', errcode: null };
    throw isDamage(errcode) ? new DamagedLog(1n, message) : cannotOpen(path, `${message}.`, errcode);
  }

  private constructor(worker: Worker, options: WriterOptions) {
    this.#worker = worker;
    this.#options = options;
    worker.on('message', (message: FromWriter) => this.#receive(message));
    worker.on('error', (error) => this.#endUnknown(error.message));
    worker.on('exit', () => this.#endUnknown("the writer's thread ended"));
  }

  /**
   * Runs a write. `onDurable` is called with its output as soon as that is durable: in the order of the
   * commits, and before the promise settles. Throws NotWritten if certainly nothing was stored, and an Error
   * if the operation threw. Never settles if the outcome is unknown.
   */
  run<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    onDurable?: (output: OutputOf<Name>) => void,
  ): Promise<OutputOf<Name>> {
    if (this.#state === 'closing' || this.#state === 'closed')
      return Promise.reject(new NotWritten('The data directory is closed.'));
    return new Promise((resolve, reject) => {
      this.#open.push({ settle: this.#settler(resolve, onDurable), reject });
      this.#unsent.push({ name, input });
      if (this.#unsent.length === 1) setImmediate(() => this.#send());
    });
  }

  /** Runs writes in SQL, in one transaction. Returns how many rows they changed. */
  write(...statements: readonly SqlWrite[]): Promise<number> {
    const removes = statements.some(([sql]) => sql.startsWith('delete'));
    return this.run(removes ? 'removeRows' : 'write', statements);
  }

  /** Calls `listener` after every commit, when its requests have settled. */
  onCommitted(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Empties the write-ahead log if it may hold deleted data, as soon as no reader needs it. */
  emptyLog(): void {
    if (this.#state === 'running') this.#post({ kind: 'empty' });
  }

  /** Commits waiting writes, then ends the thread. */
  async close(): Promise<void> {
    if (this.#state !== 'running') return;
    this.#send();
    this.#state = 'closing';
    const closed = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    this.#post({ kind: 'close' });
    await closed;
  }

  /** Sends one message per turn of the event loop, however many requests were made in it. */
  #send(): void {
    if (this.#unsent.length === 0) return;
    const requests = this.#unsent;
    this.#unsent = [];
    this.#post({ kind: 'run', requests });
  }

  #post(message: ToWriter): void {
    this.#worker.postMessage(message);
  }

  /** The thread runs the operation of that name, so its output has that operation's type. */
  #settler<Output>(
    resolve: (output: Output) => void,
    onDurable: ((output: Output) => void) | undefined,
  ): (output: unknown) => void {
    return (output) => {
      onDurable?.(output as Output);
      resolve(output as Output);
    };
  }

  #receive(message: FromWriter): void {
    if (message.kind === 'replies') this.#settle(message.replies);
    else if (message.kind === 'damaged')
      this.#options.onDamage(new DamagedLog(this.#headPosition(), message.message));
    else if (message.kind === 'unknown') this.#endUnknown(message.message);
    else if (message.kind === 'closed') this.#state = 'closed';
  }

  #settle(replies: readonly WriteReply[]): void {
    for (const [index, request] of this.#open.splice(0, replies.length).entries()) {
      const reply = replies[index];
      if (reply?.kind === 'done') request.settle(reply.output);
      else if (reply?.kind === 'unwritten') {
        const error = new NotWritten(reply.message);
        this.#options.onUnwritten?.(error);
        request.reject(error);
      } else request.reject(new Error(reply?.message ?? 'the write has no result'));
    }
    for (const listener of this.#listeners) listener();
  }

  #headPosition(): bigint {
    return Atomics.load(new BigInt64Array(this.#options.head), 0);
  }

  /** The outcome of the open requests can't be known: they never settle. */
  #endUnknown(reason: string): void {
    if (this.#state === 'unknown' || this.#state === 'closed') return;
    this.#state = 'unknown';
    this.#options.onUnknownOutcome(new UnknownOutcome(`A commit may or may not be on disk: ${reason}`));
  }
}
