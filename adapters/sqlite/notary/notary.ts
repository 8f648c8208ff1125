import { Worker } from 'node:worker_threads';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { MissingEventKey } from '../../../domain/event-mac.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { WitnessStatus } from '../../../application/log/witnesses.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { messageOf } from '../../../domain/errors.js';
import type { SharedLog } from '../log/log-reader.js';
import type { InputOf } from '../writer/operations.js';
import type { SqliteWriter } from '../writer/writer.js';
import type { TileOperation } from './log-tiles.js';
import type { FromNotary, NotaryStart, ToNotary } from './notary-thread.js';

/** How the log of the log is kept. */
export interface NotaryOptions {
  /** The module that runs the notary in a thread of its own: it calls `serveNotary`. */
  readonly thread: URL;
  /** The keys that sign, as in their file. None: nothing is signed. */
  readonly signers: readonly string[];
  /** The keys for the MACs of events. `isNew`: the log is empty. */
  readonly eventKeys: (isNew: boolean) => MasterKeys;
  readonly scrubEvery: Milliseconds;
  /** Tells the thread where heads of the log are kept elsewhere. It is copied to the thread. */
  readonly elsewhere?: unknown;
  /** Makes sure, before anything else is done with the log, that it can be the one that was signed last. */
  readonly assertNotSetBack?: (
    log: { readonly log: RawLog; readonly tiles: LogTiles },
    last: bigint,
  ) => Promise<void>;
  /** Called with the state of the witnesses. */
  readonly onWitnesses?: (all: readonly WitnessStatus[]) => void;
  /** Called with failures, which are retried. */
  readonly onError?: (message: string) => void;
  /** An event names a key that `eventKeys` lacks: end the process with exit code 78. */
  readonly onMissingKey?: (error: MissingEventKey) => void;
}

/**
 * Runs the notary in a thread of low priority, and passes on its writes. It reads back every event that is in
 * the log at the start, and new ones as they come.
 */
export class NotaryThread {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #writer: SqliteWriter;
  /** Resolves when every event of the start has been read back. Never resolves if one of them is damaged. */
  readonly passed: Promise<void>;

  constructor({
    shared,
    writer,
    notary,
    isNew,
    onDamage,
  }: {
    readonly shared: SharedLog;
    readonly writer: SqliteWriter;
    readonly notary: NotaryOptions;
    readonly isNew: boolean;
    readonly onDamage: (error: DamagedLog) => void;
  }) {
    const { thread, scrubEvery, elsewhere, onWitnesses, onError = () => undefined } = notary;
    const signers = [...notary.signers];
    const eventKeys: NotaryStart['eventKeys'] = [...notary.eventKeys(isNew)];
    const start: NotaryStart = { log: shared, signers, scrubEvery, elsewhere, eventKeys };
    this.#writer = writer;
    this.#worker = new Worker(thread, { workerData: start });
    this.#worker.unref();
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    this.#worker.on('error', (error) => onError(messageOf(error)));
    this.passed = new Promise((resolve) => {
      this.#worker.on('message', (message: FromNotary) => {
        if (message.kind === 'write') this.#write(message.id, message.name, message.input);
        else if (message.kind === 'scrubbed') resolve();
        else if (message.kind === 'failed') onError(message.message);
        else if (message.kind === 'witnesses') onWitnesses?.(message.all);
        else if (message.kind === 'missing key')
          notary.onMissingKey?.(new MissingEventKey(message.id, message.event));
        else onDamage(new DamagedLog(message.position, message.reason));
      });
    });
  }

  /** Ends the thread, which signs what it has notarized. */
  async close(): Promise<void> {
    this.#post({ kind: 'stop' });
    this.#worker.ref();
    await this.#ended;
  }

  #write(id: number, name: TileOperation, input: unknown): void {
    this.#writer.run(name, input as InputOf<TileOperation>).then(
      (output) => this.#post({ kind: 'written', id, output }),
      (error: unknown) => this.#post({ kind: 'unwritten', id, message: messageOf(error) }),
    );
  }

  #post(message: ToNotary): void {
    this.#worker.postMessage(message);
  }
}
