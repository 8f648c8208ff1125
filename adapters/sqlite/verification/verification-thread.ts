import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { openForReading } from '../database.js';
import { DamagedLog } from '../../../application/damaged-log.js';
import { insideGate } from '../gate.js';
import { logChecker } from './log-checker.js';
import type { FromVerifier, VerifierStart } from './verifier.js';

/** How many events are read back at once. A larger piece would hold up the write-ahead log's checkpoints. */
const chunk = 500;
/** How often the load is measured, and how long the thread sleeps if it has nothing to do. */
const tickMs = 1000;
/** With this many new events per tick the service counts as busy: reading back can wait. */
const busyFrom = 1000;
/**
 * If more events than this are not read back, a start after a crash would take long: then they are read back
 * even while the service is busy.
 */
const largestBacklog = 50_000;
const markEvery = { events: 20_000, ms: 30_000 };
/** How long the thread rests after each piece of work, as a multiple of the time that the work took. */
const rest = { quiet: 3, busy: 19 };

/** Positions to read back: after `next`, up to `to`. */
interface Range {
  next: number;
  readonly to: number;
}

/** Reads the log back until it is told to stop. Throws DamagedLog. */
const verify = (
  { path, head, gate, stop, checked }: VerifierStart,
  send: (message: FromVerifier) => void,
): void => {
  const headView = new BigInt64Array(head);
  const stopView = new Int32Array(stop);
  const headNow = () => Number(Atomics.load(headView, 0));
  const isStopped = () => Atomics.load(stopView, 0) !== 0;
  const pause = (ms: number) => void Atomics.wait(stopView, 0, 0, ms);
  const inGate = insideGate(gate);
  const { database, check } = inGate(() => {
    const opened = openForReading(path);
    return { database: opened, check: logChecker(opened) };
  });

  /** Events after the start are read back up to here. */
  let tail = checked.head;
  /**
   * What the start left: first the events that no run has read back, then those of earlier runs once more.
   */
  const leftByStart: Range[] = [
    { next: checked.mark, to: checked.from },
    { next: 0, to: checked.mark },
  ];
  let hasPassed = false;

  const backlog = () => headNow() - tail;
  const isUrgent = () => backlog() > largestBacklog;

  let load = { head: headNow(), at: elapsed() };
  let isBusy = false;
  const measureLoad = () => {
    const now = elapsed();
    if (now - load.at < tickMs) return;
    isBusy = headNow() - load.head > busyFrom;
    load = { head: headNow(), at: now };
  };

  /** The position after at most `limit` more events, which must be there. */
  const readBack = (after: number, limit: number): number => {
    const reached = inGate(() => check(after, limit));
    if (reached === after) throw new DamagedLog(BigInt(after + 1), 'the event is missing');
    return reached;
  };

  /** Does one piece of work. False if there is none, or none that can't wait. */
  const work = (): boolean => {
    const [first] = leftByStart;
    if (backlog() > 0 && (!isBusy || isUrgent())) tail = readBack(tail, chunk);
    else if (first !== undefined && first.next < first.to)
      first.next = readBack(first.next, Math.min(chunk, first.to - first.next));
    else if (first !== undefined) leftByStart.shift();
    else return false;
    return true;
  };

  let marked = { position: checked.from === checked.mark ? tail : checked.mark, at: elapsed() };
  /** The mark may not pass events that no run has read back. */
  const saveMark = () => {
    const isComplete = leftByStart.length <= 1;
    if (!isComplete || tail === marked.position) return;
    marked = { position: tail, at: elapsed() };
    send({ kind: 'verified', position: tail });
  };
  const saveMarkNowAndThen = () => {
    if (tail - marked.position >= markEvery.events || elapsed() - marked.at >= markEvery.ms) saveMark();
  };

  while (!isStopped()) {
    measureLoad();
    const began = elapsed();
    const hasWorked = work();
    saveMarkNowAndThen();
    if (!hasPassed && leftByStart.length === 0) {
      hasPassed = true;
      send({ kind: 'passed' });
    }
    const factor = isBusy && !isUrgent() ? rest.busy : rest.quiet;
    pause(hasWorked ? Math.max(1, (elapsed() - began) * factor) : tickMs);
  }
  saveMark();
  inGate(() => database.close());
};

/** Milliseconds since some moment. It measures work, which is no matter of the Clock's. */
const elapsed = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Only Linux has a priority per thread. Elsewhere the pauses have to do. */
const lowerPriority = (): void => {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, 19);
  } catch {
    return;
  }
};

if (parentPort !== null) {
  const port = parentPort;
  const settings: VerifierStart = workerData;
  const send = (message: FromVerifier) => port.postMessage(message);
  lowerPriority();
  try {
    verify(settings, send);
  } catch (error) {
    if (!(error instanceof DamagedLog)) throw error;
    send({ kind: 'damaged', position: error.position, reason: error.reason });
  }
}
