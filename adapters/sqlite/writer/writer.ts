import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { isDamage } from '../database.js';
import { DamagedLog, NotWritten, UnknownOutcome } from '../errors.js';
import type { Gate } from '../gate.js';
import type { InputOf, OperationName, OutputOf } from './operations.js';
import type { FromWriter, ToWriter, WriteReply, WriteRequest, WriterStart } from './writer-messages.js';

export interface WriterOptions {
  readonly path: string;
  /**
   * Shared with readers in other threads: the position of the log's last committed event. Written before
   * anybody is told of a commit.
   */
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
  /**
   * A commit may or may not be on disk. Nothing is answered any more; the process must end (exit code 75).
   */
  readonly onUnknownOutcome: (error: UnknownOutcome) => void;
  /** The file turned out to be damaged while it was written to. The process should end. */
  readonly onDamage: (error: DamagedLog) => void;
}

interface OpenRequest {
  readonly settle: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The one writer of events.db, in a thread of its own. Requests that arrive while it commits share the next
 * transaction: one fsync for all of them. A settled request is durable.
 */
export class SqliteWriter {
  readonly #worker: Worker;
  readonly #options: WriterOptions;
  #unsent: WriteRequest[] = [];
  readonly #open: OpenRequest[] = [];
  readonly #listeners = new Set<() => void>();
  #state: 'running' | 'closing' | 'unknown' | 'closed' = 'running';

  /** Opens the file, made where there is none, and its tables. Throws DamagedLog where it is no database. */
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
    throw isDamage(errcode) ? new DamagedLog(1n, message) : new Error(`${path} can't be opened: ${message}`);
  }

  private constructor(worker: Worker, options: WriterOptions) {
    this.#worker = worker;
    this.#options = options;
    worker.on('message', (message: FromWriter) => this.#receive(message));
    worker.on('error', (error) => this.#lose(error.message));
    worker.on('exit', () => this.#lose('the writing thread ended'));
  }

  /**
   * Runs a write. `applied` is called with its output as soon as it is durable, before any promise of the
   * same commit settles and in the order of the commits. Throws NotWritten where certainly nothing was
   * stored, and an Error where the operation itself refused. Never settles where the outcome is unknown.
   */
  run<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    applied?: (output: OutputOf<Name>) => void,
  ): Promise<OutputOf<Name>> {
    if (this.#state === 'closing' || this.#state === 'closed')
      return Promise.reject(new NotWritten('The data directory is closed.', 0));
    return new Promise((resolve, reject) => {
      this.#open.push({ settle: this.#settler(resolve, applied), reject });
      this.#unsent.push({ name, input });
      if (this.#unsent.length === 1) setImmediate(() => this.#send());
    });
  }

  /** Calls `listener` after every commit, when all that it holds is applied. Answers how to stop that. */
  onCommitted(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Commits what is waiting and ends the thread. */
  async close(): Promise<void> {
    if (this.#state !== 'running') return;
    this.#send();
    this.#state = 'closing';
    const closed = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    this.#post({ kind: 'close' });
    await closed;
  }

  /** One message per turn of the event loop, however many requests it brought. */
  #send(): void {
    if (this.#unsent.length === 0) return;
    const requests = this.#unsent;
    this.#unsent = [];
    this.#post({ kind: 'run', requests });
  }

  #post(message: ToWriter): void {
    this.#worker.postMessage(message);
  }

  /** The thread runs the very operation that `name` stands for: its answer has that operation's type. */
  #settler<Output>(
    resolve: (output: Output) => void,
    applied: ((output: Output) => void) | undefined,
  ): (output: unknown) => void {
    return (output) => {
      applied?.(output as Output);
      resolve(output as Output);
    };
  }

  #receive(message: FromWriter): void {
    if (message.kind === 'replies') this.#answer(message.replies);
    else if (message.kind === 'damaged')
      this.#options.onDamage(new DamagedLog(this.#headPosition(), message.message));
    else if (message.kind === 'unknown') this.#lose(message.message);
    else if (message.kind === 'closed') this.#state = 'closed';
  }

  #answer(replies: readonly WriteReply[]): void {
    for (const [index, request] of this.#open.splice(0, replies.length).entries()) {
      const reply = replies[index];
      if (reply?.kind === 'done') request.settle(reply.output);
      else if (reply?.kind === 'unwritten') request.reject(new NotWritten(reply.message, reply.errcode));
      else request.reject(new Error(reply?.message ?? 'the write was not answered'));
    }
    for (const listener of this.#listeners) listener();
  }

  #headPosition(): bigint {
    return Atomics.load(new BigInt64Array(this.#options.head), 0);
  }

  /** Nobody can say what became of the open requests: they stay open. */
  #lose(reason: string): void {
    if (this.#state === 'unknown' || this.#state === 'closed') return;
    this.#state = 'unknown';
    this.#options.onUnknownOutcome(new UnknownOutcome(`A commit may or may not be on disk: ${reason}`));
  }
}
