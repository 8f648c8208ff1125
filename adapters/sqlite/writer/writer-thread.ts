import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { messageOf } from '../../../domain/errors.js';
import {
  errcodeOf,
  isCertainlyUnwritten,
  isDamage,
  isRefusal,
  numberFrom,
  openForWriting,
  type Database,
} from '../database.js';
import { insideGate, type InsideGate } from '../gate.js';
import type { OperationSet } from './operation-set.js';
import { openOperationSets } from './operations.js';
import type { FromWriter, ToWriter, WriteReply, WriteRequest, WriterStart } from './writer-messages.js';

/** Larger groups gain nothing and make everyone in them wait longer. */
const largestGroup = 1000;

class UnknownCommit extends Error {}

interface Writer {
  readonly database: Database;
  readonly run: (request: WriteRequest) => unknown;
  readonly committed: () => void;
  readonly rolledBack: () => void;
  /** Wakes the threads that wait for the log's head to move, if it has moved. */
  readonly wakeReaders: () => void;
}

/**
 * Moves the write-ahead log into the file, so that what it holds from now on is of this run. On a full disk
 * it stays as it is, which is no harm.
 */
const emptyLog = (database: Database): void => {
  try {
    database.exec('pragma wal_checkpoint(truncate)');
  } catch (error) {
    if (isDamage(errcodeOf(error))) throw error;
  }
};

const openWriter = (start: WriterStart): Writer => {
  const database = openForWriting(start.path);
  const shared = new BigInt64Array(start.head);
  let woken = 0;
  let head = 0;
  const announce = (position: number) => {
    head = position;
    Atomics.store(shared, 0, BigInt(position));
  };
  emptyLog(database);
  const sets: readonly OperationSet[] = openOperationSets(database, announce);
  const operations: ReadonlyMap<string, (input: never) => unknown> = new Map(
    sets.flatMap((set) => Object.entries(set.operations)),
  );
  announce(numberFrom(database.prepare('select max(position) from events')) ?? 0);
  return {
    database,
    run: ({ name, input }) => {
      const operation = operations.get(name);
      if (operation === undefined) throw new Error(`there is no write named ${name}`);
      return operation(input as never);
    },
    committed: () => sets.forEach((set) => set.committed?.()),
    rolledBack: () => sets.forEach((set) => set.rolledBack?.()),
    wakeReaders: () => {
      if (woken === head) return;
      woken = head;
      Atomics.notify(shared, 0);
    },
  };
};

const rollBack = (writer: Writer): void => {
  writer.rolledBack();
  try {
    if (writer.database.isTransaction) writer.database.exec('rollback');
  } catch (error) {
    throw new UnknownCommit(messageOf(error), { cause: error });
  }
};

const commit = ({ database }: Writer): void => {
  try {
    database.exec('commit');
  } catch (error) {
    if (isCertainlyUnwritten(errcodeOf(error))) throw error;
    throw new UnknownCommit(messageOf(error), { cause: error });
  }
};

/** Runs requests in one transaction. Throws where any of them can't be had: then none of them is stored. */
const runTogether = (writer: Writer, requests: readonly WriteRequest[]): readonly WriteReply[] => {
  try {
    writer.database.exec('begin immediate');
    const replies = requests.map((request): WriteReply => ({ kind: 'done', output: writer.run(request) }));
    commit(writer);
    writer.committed();
    return replies;
  } catch (error) {
    if (!(error instanceof UnknownCommit)) rollBack(writer);
    throw error;
  }
};

const refusal = (error: unknown): WriteReply => {
  const errcode = errcodeOf(error);
  return errcode === null || isRefusal(errcode)
    ? { kind: 'refused', message: messageOf(error) }
    : { kind: 'unwritten', message: messageOf(error), errcode };
};

/**
 * One request spoils the transaction of all: each gets one of its own, so that a smaller one may fit on a
 * full disk and a wrong one fails alone.
 */
const runApart = (
  writer: Writer,
  requests: readonly WriteRequest[],
  onDamage: (error: unknown) => void,
): readonly WriteReply[] =>
  requests.map((request) => {
    try {
      return runTogether(writer, [request])[0] ?? { kind: 'refused', message: 'nothing was answered' };
    } catch (error) {
      if (error instanceof UnknownCommit) throw error;
      if (isDamage(errcodeOf(error))) onDamage(error);
      return refusal(error);
    }
  });

const runGroup = (
  writer: Writer,
  requests: readonly WriteRequest[],
  onDamage: (error: unknown) => void,
): readonly WriteReply[] => {
  if (requests.length === 1) return runApart(writer, requests, onDamage);
  try {
    return runTogether(writer, requests);
  } catch (error) {
    if (error instanceof UnknownCommit) throw error;
    return runApart(writer, requests, onDamage);
  }
};

/**
 * Prepared statements keep a connection half open until they are collected, so closing alone would leave the
 * write-ahead log for the next start.
 */
const closeWriter = ({ database }: Writer): void => {
  emptyLog(database);
  database.close();
};

const serve = (port: MessagePort, writer: Writer, work: InsideGate): void => {
  const answer = (message: FromWriter) => port.postMessage(message);
  const onDamage = (error: unknown) => answer({ kind: 'damaged', message: messageOf(error) });
  let waiting: WriteRequest[] = [];
  let closing = false;
  const take = (message: ToWriter) => {
    if (message.kind === 'run') waiting.push(...message.requests);
    else closing = true;
  };
  /** Everything that arrived while the last group was committed: it shares the next transaction. */
  const takeArrived = () => {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      const message: ToWriter = next.message;
      take(message);
    }
  };
  const drain = () => {
    for (takeArrived(); waiting.length > 0; takeArrived()) {
      const group = waiting.slice(0, largestGroup);
      waiting = waiting.slice(largestGroup);
      answer({ kind: 'replies', replies: work(() => runGroup(writer, group, onDamage)) });
      // After the answer: a thread that is woken may take the processor from this one.
      writer.wakeReaders();
    }
  };
  const onMessage = (message: ToWriter) => {
    take(message);
    try {
      drain();
    } catch (error) {
      port.off('message', onMessage);
      answer({ kind: 'unknown', message: messageOf(error) });
      return;
    }
    if (!closing) return;
    port.off('message', onMessage);
    work(() => closeWriter(writer));
    answer({ kind: 'closed' });
  };
  port.on('message', onMessage);
};

const start = (port: MessagePort): void => {
  const settings: WriterStart = workerData;
  const work = insideGate(settings.gate);
  let writer: Writer;
  try {
    writer = work(() => openWriter(settings));
  } catch (error) {
    port.postMessage({
      kind: 'failed',
      message: messageOf(error),
      errcode: errcodeOf(error),
    } satisfies FromWriter);
    return;
  }
  serve(port, writer, work);
  port.postMessage({ kind: 'ready' } satisfies FromWriter);
};

if (parentPort !== null) start(parentPort);
