import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { MissingEventKey } from '../../../domain/event-mac.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { WitnessStatus } from '../../../application/log/witnesses.js';
import type { LogTiles } from '../../../application/ports/log-tiles.js';
import type { RawLog } from '../../../application/ports/raw-log.js';
import type { Clock } from '../../../application/ports/system.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
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

const restartAfter: Milliseconds = 1_000;

interface NotaryThreadOptions {
  readonly shared: SharedLog;
  readonly writer: SqliteWriter;
  readonly notary: NotaryOptions;
  readonly isNew: boolean;
  readonly clock: Clock;
  readonly onDamage: (error: DamagedLog) => void;
}

/**
 * Runs the notary in a thread of low priority, and passes on its writes. It reads back every event that is in
 * the log at the start, and new ones as they come. If the thread ends by itself, another is started.
 */
export class NotaryThread {
  readonly #start: NotaryStart;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #worker: Worker | null = null;
  #pass: () => void = () => undefined;
  /** Resolves when every event of the start has been read back. Never resolves if one of them is damaged. */
  readonly passed = new Promise<void>((resolve) => (this.#pass = resolve));

  constructor(private readonly options: NotaryThreadOptions) {
    const { shared, notary, isNew, clock } = options;
    const { signers, scrubEvery, elsewhere } = notary;
    this.#start = { log: shared, signers, scrubEvery, elsewhere, eventKeys: notary.eventKeys(isNew) };
    const { signal } = this.#closing;
    const onError = (error: unknown): void => notary.onError?.(messageOf(error));
    this.#running = untilAborted({ clock, signal, pause: restartAfter, onError }, () => this.#run());
  }

  /** Ends the thread, which signs what it has notarized. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#worker?.postMessage({ kind: 'stop' } satisfies ToNotary);
    this.#worker?.ref();
    await this.#running;
  }

  /** Runs a thread to its end. Rejects if it ends by itself. */
  async #run(): Promise<void> {
    const worker = new Worker(this.options.notary.thread, { workerData: this.#start });
    this.#worker = worker;
    worker.unref();
    worker.on('message', (message: FromNotary) => this.#receive(message, worker));
    await once(worker, 'exit');
    if (!this.#closing.signal.aborted) throw new Error('its thread ended');
  }

  #receive(message: FromNotary, worker: Worker): void {
    const { notary, onDamage } = this.options;
    if (message.kind === 'write') this.#write(message.id, message.name, message.input, worker);
    else if (message.kind === 'scrubbed') this.#pass();
    else if (message.kind === 'failed') notary.onError?.(message.message);
    else if (message.kind === 'witnesses') notary.onWitnesses?.(message.all);
    else if (message.kind === 'missing key')
      notary.onMissingKey?.(new MissingEventKey(message.id, message.event));
    else onDamage(new DamagedLog(message.position, message.reason));
  }

  #write(id: number, name: TileOperation, input: unknown, worker: Worker): void {
    const answer = (message: ToNotary): void => worker.postMessage(message);
    this.options.writer.run(name, input as InputOf<TileOperation>).then(
      (output) => answer({ kind: 'written', id, output }),
      (error: unknown) => answer({ kind: 'unwritten', id, message: messageOf(error) }),
    );
  }
}
