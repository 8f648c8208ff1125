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
export interface NotaryOptions extends Pick<NotaryStart, 'signers' | 'scrubEvery' | 'elsewhere'> {
  /** The module that runs the notary in a thread of its own: it calls `serveNotary`. */
  readonly thread: URL;
  /** The keys for the MACs of events. `isNew`: the log is empty. */
  readonly eventKeys: (isNew: boolean) => MasterKeys;
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

/**
 * Runs the notary in a thread of low priority, and passes on its writes. It reads back every event that is in
 * the log at the start, and new ones as they come. If the thread ends by itself, another is started.
 */
export const startNotary = ({
  shared,
  writer,
  notary,
  isNew,
  clock,
  onDamage,
}: {
  readonly shared: SharedLog;
  readonly writer: Pick<SqliteWriter, 'run'>;
  readonly notary: NotaryOptions;
  readonly isNew: boolean;
  readonly clock: Clock;
  readonly onDamage: (error: DamagedLog) => void;
}) => {
  const { signers, scrubEvery, elsewhere } = notary;
  const start: NotaryStart = {
    log: shared,
    signers,
    scrubEvery,
    elsewhere,
    eventKeys: notary.eventKeys(isNew),
  };
  const closing = new AbortController();
  let worker: Worker | null = null;
  let pass = (): void => undefined;
  const passed = new Promise<void>((resolve) => (pass = resolve));

  const write = (id: number, name: TileOperation, input: unknown, thread: Worker): void => {
    const answer = (message: ToNotary): void => thread.postMessage(message);
    writer.run(name, input as InputOf<TileOperation>).then(
      (output) => answer({ kind: 'written', id, output }),
      (error: unknown) => answer({ kind: 'unwritten', id, message: messageOf(error) }),
    );
  };

  const receive = (message: FromNotary, thread: Worker): void => {
    if (message.kind === 'write') write(message.id, message.name, message.input, thread);
    else if (message.kind === 'scrubbed') pass();
    else if (message.kind === 'failed') notary.onError?.(message.message);
    else if (message.kind === 'witnesses') notary.onWitnesses?.(message.all);
    else if (message.kind === 'missing key')
      notary.onMissingKey?.(new MissingEventKey(message.id, message.event));
    else onDamage(new DamagedLog(message.position, message.reason));
  };

  /** Runs a thread to its end. Rejects if it ends by itself. */
  const run = async (): Promise<void> => {
    const thread = new Worker(notary.thread, { workerData: start });
    worker = thread;
    thread.unref();
    thread.on('message', (message: FromNotary) => receive(message, thread));
    await once(thread, 'exit');
    if (!closing.signal.aborted) throw new Error('its thread ended');
  };

  const onError = (error: unknown): void => notary.onError?.(messageOf(error));
  const running = untilAborted({ clock, signal: closing.signal, pause: restartAfter, onError }, run);
  return {
    /** Resolves when every event of the start has been read back. Never resolves if one is damaged. */
    passed,
    /** Ends the thread, which signs what it has notarized. */
    close: async (): Promise<void> => {
      closing.abort();
      worker?.postMessage({ kind: 'stop' } satisfies ToNotary);
      worker?.ref();
      await running;
    },
  };
};
