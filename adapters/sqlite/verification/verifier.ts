import { Worker } from 'node:worker_threads';
import { DamagedLog } from '../../../application/damaged-log.js';
import type { Gate } from '../gate.js';
import type { SqliteWriter } from '../writer/writer.js';
import { verifiedMark, type CheckedLog } from './verification.js';

/** What the verifier's thread starts with. */
export interface VerifierStart {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
  /** One 32-bit integer. Any value but 0 stops the thread. */
  readonly stop: SharedArrayBuffer;
  readonly checked: CheckedLog;
}

export type FromVerifier =
  /** Every event up to the position has been read back since it was written. */
  | { readonly kind: 'verified'; readonly position: number }
  /** Every event that was in the log at the start has been read back since then. */
  | { readonly kind: 'passed' }
  | { readonly kind: 'damaged'; readonly position: bigint; readonly reason: string };

/**
 * Reads the log back in a thread of low priority: first what the start had no time for, then new events.
 * Keeps the verified mark.
 */
export class Verifier {
  readonly #worker: Worker;
  readonly #stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #ended: Promise<void>;
  readonly #saves = new Set<Promise<unknown>>();
  /**
   * Resolves when every event that was in the log at the start has been read back. Never resolves if one of
   * them is damaged.
   */
  readonly passed: Promise<void>;

  constructor(options: {
    readonly shared: { readonly path: string; readonly head: SharedArrayBuffer; readonly gate: Gate };
    readonly writer: SqliteWriter;
    readonly checked: CheckedLog;
    readonly onDamage: (error: DamagedLog) => void;
  }) {
    const { shared, writer, checked, onDamage } = options;
    this.#worker = new Worker(new URL('./verification-thread.js', import.meta.url), {
      workerData: {
        path: shared.path,
        head: shared.head,
        gate: shared.gate,
        stop: this.#stop,
        checked,
      } satisfies VerifierStart,
    });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    this.passed = new Promise((resolve) => {
      this.#worker.on('message', (message: FromVerifier) => {
        if (message.kind === 'verified') this.#saveMark(writer, message.position);
        else if (message.kind === 'passed') resolve();
        else onDamage(new DamagedLog(message.position, message.reason));
      });
    });
  }

  /** Ends the thread, then waits until the mark that it reached is saved. */
  async close(): Promise<void> {
    const stop = new Int32Array(this.#stop);
    Atomics.store(stop, 0, 1);
    Atomics.notify(stop, 0);
    this.#worker.ref();
    await this.#ended;
    await Promise.all(this.#saves);
  }

  /** If a mark can't be saved, the next start only reads back a little more. */
  #saveMark(writer: SqliteWriter, position: number): void {
    const save: Promise<unknown> = writer
      .run('saveMark', { name: verifiedMark, position })
      .catch(() => undefined)
      .finally(() => this.#saves.delete(save));
    this.#saves.add(save);
  }
}
