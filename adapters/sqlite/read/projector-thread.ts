import { workerData, type MessagePort } from 'node:worker_threads';
import type { Clock, Entropy } from '../../../application/ports/system.js';
import { keyRing } from '../../../application/personal/key-ring.js';
import { openedLog } from '../../../application/personal/personal.js';
import { Projector } from '../../../application/projecting/project.js';
import type { ProjectorStatus } from '../../../application/projecting/projection-board.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import type { Projection } from '../../../projections/projection.js';
import { emptyInterval } from '../database.js';
import { openLogReader, type SharedLog } from '../log/log-reader.js';
import { keysOfThread, openPersonalKeys } from '../keys/personal-keys.js';
import { insideGate } from '../gate.js';
import { sqliteProjectionStore } from './projection-store.js';

/** The start data of the thread: the log, and the path of the read models' file. */
export interface ProjectorStart {
  readonly log: SharedLog;
  readonly path: string;
  /** The file of the keys of personal data, and the keys that encrypt it. */
  readonly keys: { readonly path: string; readonly masters: MasterKeys };
}

export type ToProjector =
  | { readonly kind: 'rebuild'; readonly name: string }
  | { readonly kind: 'replace' }
  | { readonly kind: 'stop' };

export type FromProjector =
  | { readonly kind: 'status'; readonly status: ProjectorStatus }
  | { readonly kind: 'moved'; readonly position: bigint }
  /** Another file may be in the place of the one that readers have open. */
  | { readonly kind: 'reopen' }
  /** A FinalError; also that the log is damaged. */
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Runs the projector in the calling thread, for `openReadFile` at the other end of the port.
 * The thread's `workerData` is a ProjectorStart. Resolves after a message to stop.
 */
export const serveProjector = async ({
  port,
  projections,
  clock,
  entropy,
}: {
  readonly port: MessagePort;
  readonly projections: readonly Projection<unknown>[];
  readonly clock: Clock;
  readonly entropy: Entropy;
}): Promise<void> => {
  const { log: shared, path, keys }: ProjectorStart = workerData;
  const send = (message: FromProjector): void => port.postMessage(message);
  const stop = new AbortController();
  const log = openLogReader(shared, {
    clock,
    onDamage: ({ message }) => send({ kind: 'failed', message }),
  });
  const personalKeys = openPersonalKeys(keys.path, { readOnly: true, inGate: insideGate(shared.gate) });
  const opening = { store: personalKeys, masters: keysOfThread(keys.masters), clock, entropy };
  let restart = (): void => undefined;
  const store = sqliteProjectionStore({
    path,
    inGate: insideGate(shared.gate),
    onReplaced: () => {
      send({ kind: 'reopen' });
      restart();
    },
  });
  store.keep(projections);
  // This thread, or one before it that died, may have replaced the file unnoticed.
  send({ kind: 'reopen' });
  const projector = new Projector({
    projections,
    log: openedLog(log.reader, keyRing(opening), clock),
    store,
    clock,
    reports: {
      status: (status) => send({ kind: 'status', status }),
      moved: (position) => send({ kind: 'moved', position }),
    },
    fail: ({ message }) => send({ kind: 'failed', message }),
  });
  restart = () => projector.restart();
  port.on('message', (message: ToProjector) => {
    if (message.kind === 'stop') stop.abort();
    else if (message.kind === 'replace') store.replace();
    else void projector.rebuild(message.name);
  });
  try {
    await Promise.all([
      projector.run(stop.signal),
      // The projector meets the same failures, and reports them.
      untilAborted({ clock, signal: stop.signal, pause: emptyInterval, onError: () => undefined }, () =>
        store.tidy(),
      ),
    ]);
  } finally {
    port.close();
    store.close();
    personalKeys.close();
    log.close();
  }
};
