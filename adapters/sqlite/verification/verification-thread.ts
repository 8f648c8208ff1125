import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { openForReading } from '../database.js';
import { DamagedLog } from '../errors.js';
import { insideGate } from '../gate.js';
import { logChecker, type FromVerifier, type VerifierStart } from './verification.js';

/** Small enough that the thread never holds a snapshot, and with it the write-ahead log, for long. */
const chunk = 500;
const tick = 1000;
/** So many new events in a tick: the service is busy, and reading back can wait. */
const busyFrom = 1000;
/**
 * More than this many events not read back would make the next start slow after a crash: then they are read
 * back even while the service is busy.
 */
const largestBacklog = 50_000;
const markEvery = { events: 20_000, ms: 30_000 };
/** Rest after each piece of work, as a multiple of the time that it took. */
const rest = { quiet: 3, busy: 19 };

/** Milliseconds since some moment: how long work takes is no matter of the Clock's. */
const elapsed = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Only Linux has a priority per thread; elsewhere the pauses must do. */
const lowerPriority = (): void => {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, 19);
  } catch {
    return;
  }
};

const run = (
  { path, head, gate, stop, checked }: VerifierStart,
  tell: (message: FromVerifier) => void,
): void => {
  const headView = new BigInt64Array(head);
  const stopView = new Int32Array(stop);
  const headNow = () => Number(Atomics.load(headView, 0));
  const stopped = () => Atomics.load(stopView, 0) !== 0;
  const pause = (ms: number) => void Atomics.wait(stopView, 0, 0, ms);
  const inside = insideGate(gate);
  const { database, check } = inside(() => {
    const opened = openForReading(path);
    return { database: opened, check: logChecker(opened) };
  });

  /** Events up to here are read back since they were written. */
  let tail = checked.head;
  let marked = { position: checked.from === checked.mark ? tail : checked.mark, at: elapsed() };
  /**
   * What the start has left: first the events that nobody has read back, then a second look at the others.
   */
  const left = [
    { next: checked.mark, to: checked.from },
    { next: 0, to: checked.mark },
  ];
  let passed = false;
  let seen = { head: headNow(), at: elapsed() };
  let busy = false;

  const lookAround = () => {
    const now = elapsed();
    if (now - seen.at < tick) return;
    busy = headNow() - seen.head > busyFrom;
    seen = { head: headNow(), at: now };
  };
  const owed = () => left.length > 1;
  const saveMark = (whatever: boolean) => {
    const since = elapsed() - marked.at;
    if (
      tail === marked.position ||
      owed() ||
      !(whatever || tail - marked.position >= markEvery.events || since >= markEvery.ms)
    )
      return;
    marked = { position: tail, at: elapsed() };
    tell({ kind: 'verified', position: tail });
  };
  const backlog = () => headNow() - tail;
  const urgent = () => backlog() > largestBacklog;
  /** Reads back up to `limit` events that must be there. */
  const advance = (from: number, limit: number): number => {
    const reached = inside(() => check(from, limit));
    if (reached === from) throw new DamagedLog(BigInt(from + 1), 'the event is missing');
    return reached;
  };
  /** One piece of work; false where there is none that can't wait. */
  const work = (): boolean => {
    const [first] = left;
    if (backlog() > 0 && (!busy || urgent())) tail = advance(tail, chunk);
    else if (first !== undefined && first.next < first.to)
      first.next = advance(first.next, Math.min(chunk, first.to - first.next));
    else if (first !== undefined) left.shift();
    else return false;
    return true;
  };

  while (!stopped()) {
    lookAround();
    const started = elapsed();
    const worked = work();
    saveMark(false);
    if (!passed && left.length === 0) {
      passed = true;
      tell({ kind: 'passed' });
    }
    pause(worked ? Math.max(1, (elapsed() - started) * (busy && !urgent() ? rest.busy : rest.quiet)) : tick);
  }
  saveMark(true);
  inside(() => database.close());
};

if (parentPort !== null) {
  const port = parentPort;
  const settings: VerifierStart = workerData;
  const tell = (message: FromVerifier) => port.postMessage(message);
  lowerPriority();
  try {
    run(settings, tell);
  } catch (error) {
    if (!(error instanceof DamagedLog)) throw error;
    tell({ kind: 'damaged', position: error.position, reason: error.reason });
  }
}
