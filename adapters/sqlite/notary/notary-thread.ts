import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { workerData, type MessagePort } from 'node:worker_threads';
import { DamagedLog } from '../../../application/log/damaged-log.js';
import { runNotary, type Notarizing } from '../../../application/log/notarize.js';
import type { WitnessesDeps, WitnessStatus } from '../../../application/log/witnesses.js';
import type { Clock } from '../../../application/ports/system.js';
import { untilAborted } from '../../../application/timing/until-aborted.js';
import { eventMacs, MissingEventKey } from '../../../domain/event-mac.js';
import type { Milliseconds } from '../../../domain/ids.js';
import { checkpointText, parseSigner, signNote } from '../../../domain/signed-note.js';
import { messageOf } from '../../../domain/errors.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { errcodeOf, isDamage, openForReading } from '../database.js';
import { insideGate, type InsideGate } from '../gate.js';
import { keysOfThread } from '../keys/personal-keys.js';
import type { SharedLog } from '../log/log-reader.js';
import type { InputOf, OutputOf } from '../writer/operations.js';
import type { OpenRequest } from '../writer/writer.js';
import { sqliteLogTiles, type TileOperation } from './log-tiles.js';
import { sqliteRawLog } from './raw-log.js';

/**
 * The start data of the thread: the log, and the keys as in their file; without a key nothing is signed.
 * `elsewhere`: where else heads of the log are kept. `eventKeys`: for the MACs of
 * events.
 */
export interface NotaryStart<Elsewhere = unknown> {
  readonly log: SharedLog;
  readonly signers: readonly string[];
  readonly scrubEvery: Milliseconds;
  readonly elsewhere?: Elsewhere;
  readonly eventKeys: MasterKeys;
}

export type ToNotary =
  | { readonly kind: 'written'; readonly id: number; readonly output: unknown }
  | { readonly kind: 'unwritten'; readonly id: number; readonly message: string }
  | { readonly kind: 'stop' };

export type FromNotary =
  | { readonly kind: 'write'; readonly id: number; readonly name: TileOperation; readonly input: unknown }
  /** Every event has been read back against its leaf. */
  | { readonly kind: 'scrubbed' }
  | { readonly kind: 'witnesses'; readonly all: readonly WitnessStatus[] }
  | { readonly kind: 'damaged'; readonly position: bigint; readonly reason: string }
  | { readonly kind: 'missing key'; readonly id: string; readonly event: string }
  /** A failure, which is retried. */
  | { readonly kind: 'failed'; readonly message: string };

/** How long the thread rests after a piece of work, as a multiple of the time that it took. */
const rest = { quiet: 3, busy: 19, behind: 1 };
/** Where a piece takes long because the machine has no time for it, exports still wait for signatures. */
const maxRest: Milliseconds = 2_000;
/** With this many new events a second the service counts as busy: the notary can wait. */
const busyFrom = 1_000;
/** With more events than this that are not notarized yet, it can't. */
const maxBacklog = 50_000;

/**
 * Notarizes the log in the calling thread, for `startNotary` at the other end of the port. The thread's
 * `workerData` is a NotaryStart. `keptElsewhere`: where heads of the log are kept besides with its tiles.
 * Resolves after a message to stop.
 */
export const serveNotary = async <Elsewhere>({
  port,
  clock,
  keptElsewhere,
}: {
  readonly port: MessagePort;
  readonly clock: Clock;
  readonly keptElsewhere: (
    elsewhere: Elsewhere,
    deps: Omit<WitnessesDeps, 'policy' | 'ask'>,
  ) => Promise<Partial<Notarizing>>;
}): Promise<void> => {
  const start: NotaryStart<Elsewhere> = workerData;
  const { log: shared, scrubEvery, elsewhere } = start;
  lowerPriority();
  const signers = start.signers.map(parseSigner);
  const [first] = signers;
  const send = (message: FromNotary): void => port.postMessage(message);
  const stop = new AbortController();
  const inGate = insideGate(shared.gate);
  const database = inGate(() => openForReading(shared.path));
  const open = new Map<number, OpenRequest>();
  let writes = 0;
  const write = <Name extends TileOperation>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> =>
    new Promise((resolve, reject) => {
      writes += 1;
      // The writer runs the operation of that name, so its output has that operation's type.
      open.set(writes, { settle: (output) => resolve(output as OutputOf<Name>), reject });
      send({ kind: 'write', id: writes, name, input });
    });
  port.on('message', (message: ToNotary) => {
    if (message.kind === 'stop') return stop.abort();
    const request = open.get(message.id);
    open.delete(message.id);
    if (message.kind === 'written') request?.settle(message.output);
    else request?.reject(new Error(message.message));
  });

  /** Tiles that can't be read are damage of the log's file, as events are. */
  const reading: InsideGate = (work) => {
    try {
      return inGate(work);
    } catch (error) {
      if (isDamage(errcodeOf(error))) throw new DamagedLog(1n, "the log's tiles can't be read");
      throw error;
    }
  };
  const tiles = sqliteLogTiles({ database, write, inGate: reading });
  const load = loadMeter(shared.head, clock);
  const restAfter = async (worked: Milliseconds, signal: AbortSignal): Promise<void> => {
    const { position } = await tiles.tree();
    const isBehind = load.head() - Number(position) > maxBacklog;
    const factor = isBehind ? rest.behind : load.isBusy() ? rest.busy : rest.quiet;
    await clock.sleep(Math.min(Math.max(1, worked * factor), maxRest), signal);
  };
  const report = (error: unknown): void => send({ kind: 'failed', message: messageOf(error) });
  const onStatus = (all: readonly WitnessStatus[]): void => send({ kind: 'witnesses', all });
  const lookedBack = { last: null };
  const notarize = async (): Promise<void> =>
    runNotary(
      {
        log: sqliteRawLog(database, inGate),
        tiles,
        macs: eventMacs(keysOfThread(start.eventKeys)),
        clock,
        sign:
          first === undefined
            ? null
            : ({ size, root }) => signNote(checkpointText({ origin: first.name, size, root }), signers),
        ...(elsewhere !== undefined && (await keptElsewhere(elsewhere, { tiles, clock, report, onStatus }))),
        scrubEvery,
        restoreHint: 'events.db',
        onScrubbed: () => send({ kind: 'scrubbed' }),
        rest: restAfter,
        lookedBack,
        onError: report,
      },
      stop.signal,
    );
  let isOver = false;
  const onError = (error: unknown): void => {
    if (error instanceof DamagedLog) {
      isOver = true;
      send({ kind: 'damaged', position: error.position, reason: error.reason });
    } else if (error instanceof MissingEventKey) {
      isOver = true;
      send({ kind: 'missing key', id: error.id, event: error.event });
    } else if (!stop.signal.aborted) report(error);
  };
  try {
    // After damage there is nothing to sign, and this process can't repair it.
    await untilAborted({ clock, signal: stop.signal, pause: 1_000, onError }, async () => {
      if (!isOver) await notarize();
    });
  } finally {
    port.close();
    inGate(() => database.close());
  }
};

/** Whether the service is busy: measured by the events that it has written. */
const loadMeter = (head: SharedArrayBuffer, clock: Clock) => {
  const headNow = (): number => Number(Atomics.load(new BigInt64Array(head), 0));
  let last = { head: headNow(), at: clock.monotonic() };
  let isBusy = false;
  return {
    head: headNow,
    isBusy: (): boolean => {
      const now = clock.monotonic();
      const passed = now - last.at;
      if (passed >= 1_000) {
        isBusy = ((headNow() - last.head) * 1_000) / passed > busyFrom;
        last = { head: headNow(), at: now };
      }
      return isBusy;
    },
  };
};

/** The lowest would starve it on a machine that is always busy, and nothing would be signed. */
const niceness = 10;

/** Only Linux has a priority per thread. Elsewhere the pauses have to do. */
const lowerPriority = (): void => {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    return;
  }
};
