import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads';
import { logFormat } from '../../../application/log/log-format.js';
import { messageOf } from '../../../domain/errors.js';
import {
  emptyWriteAheadLog,
  errcodeOf,
  isCertainlyUnwritten,
  isDamage,
  isStatementError,
  numberFrom,
  openForWriting,
  type Database,
} from '../database.js';
import { insideGate, type InsideGate } from '../gate.js';
import type { SharedLog } from '../log/log-reader.js';
import { openOperations } from './operations.js';

export interface WriteRequest {
  readonly name: string;
  readonly input: unknown;
}

/** `empty`: empties the write-ahead log if it may hold deleted data. */
export type ToWriter =
  | { readonly kind: 'run'; readonly requests: readonly WriteRequest[] }
  | { readonly kind: 'empty' }
  | { readonly kind: 'close' };

/**
 * The result of one request. `unwritten`: nothing is stored, because the disk is full or can't be written.
 * `threw`: the operation itself threw.
 */
export type WriteReply =
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'unwritten'; readonly message: string }
  | { readonly kind: 'threw'; readonly message: string };

/**
 * `failed`: the file can't be opened. `replies`: the results of the oldest open requests, in their order.
 * `damaged`: the file turned out to be damaged. `unknown`: a commit may or may not be on disk.
 */
export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string; readonly errcode: number | null }
  | { readonly kind: 'replies'; readonly replies: readonly WriteReply[] }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'closed' };

/** Larger groups gain nothing, and all writes in them wait longer. */
const maxGroup = 1000;

/** The names of operations that delete or overwrite data that must not be found any more. */
const deletes = /^(erase|remove)/;

/** A commit may or may not be on disk. */
class UnknownCommit extends Error {}

const start = (port: MessagePort): void => {
  const shared: SharedLog = workerData;
  const inGate = insideGate(shared.gate);
  let writer: Writer;
  try {
    writer = inGate(() => openWriter(shared));
  } catch (error) {
    port.postMessage({
      kind: 'failed',
      message: messageOf(error),
      errcode: errcodeOf(error),
    } satisfies FromWriter);
    return;
  }
  serve(port, writer, inGate);
  port.postMessage({ kind: 'ready' } satisfies FromWriter);
};

/** Runs requests in groups: whatever arrives during a commit shares the next transaction. */
const serve = (port: MessagePort, writer: Writer, inGate: InsideGate): void => {
  const send = (message: FromWriter) => port.postMessage(message);
  const onDamage = (error: unknown) => send({ kind: 'damaged', message: messageOf(error) });
  let hasDeleted = false;
  let isAsked = false;
  const emptyLog = () => {
    if (!hasDeleted || !isAsked) return;
    isAsked = false;
    try {
      hasDeleted = !inGate(() => emptyWriteAheadLog(writer.database));
    } catch (error) {
      onDamage(error);
    }
  };
  let waiting: WriteRequest[] = [];
  let isClosing = false;
  const take = (message: ToWriter) => {
    if (message.kind === 'run') waiting.push(...message.requests);
    else if (message.kind === 'empty') isAsked = true;
    else isClosing = true;
  };
  const takeArrived = () => {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      const message: ToWriter = next.message;
      take(message);
    }
  };
  const drain = () => {
    for (takeArrived(); waiting.length > 0; takeArrived()) {
      const group = waiting.slice(0, maxGroup);
      waiting = waiting.slice(maxGroup);
      send({ kind: 'replies', replies: inGate(() => runGroup(writer, group, onDamage)) });
      // Only after the replies: a thread that wakes up may take the processor from this one.
      writer.wakeReaders();
      hasDeleted ||= group.some(({ name }) => deletes.test(name));
      emptyLog();
    }
    emptyLog();
  };
  const onMessage = (message: ToWriter) => {
    take(message);
    try {
      drain();
    } catch (error) {
      port.off('message', onMessage);
      send({ kind: 'unknown', message: messageOf(error) });
      return;
    }
    if (!isClosing) return;
    port.off('message', onMessage);
    inGate(() => closeWriter(writer));
    send({ kind: 'closed' });
  };
  port.on('message', onMessage);
};

/**
 * All requests in one transaction; or one for each, after one of them has spoiled that of all: so a small
 * request may still fit on a full disk, and one that throws fails alone.
 */
const runGroup = (
  writer: Writer,
  requests: readonly WriteRequest[],
  onDamage: (error: unknown) => void,
): readonly WriteReply[] => {
  try {
    return runInTransaction(writer, requests);
  } catch (error) {
    if (error instanceof UnknownCommit) throw error;
    if (requests.length > 1) return requests.flatMap((request) => runGroup(writer, [request], onDamage));
    if (isDamage(errcodeOf(error))) onDamage(error);
    return [replyFor(error)];
  }
};

const replyFor = (error: unknown): WriteReply => {
  const errcode = errcodeOf(error);
  const isUnwritten = errcode !== null && !isStatementError(errcode);
  return { kind: isUnwritten ? 'unwritten' : 'threw', message: messageOf(error) };
};

/** Runs requests in one transaction. All or nothing: throws if any of them fails. */
const runInTransaction = (writer: Writer, requests: readonly WriteRequest[]): readonly WriteReply[] => {
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

const commit = ({ database }: Writer): void => {
  try {
    database.exec('commit');
  } catch (error) {
    if (isCertainlyUnwritten(errcodeOf(error))) throw error;
    throw new UnknownCommit(messageOf(error), { cause: error });
  }
};

const rollBack = (writer: Writer): void => {
  writer.rolledBack();
  try {
    if (writer.database.isTransaction) writer.database.exec('rollback');
  } catch (error) {
    throw new UnknownCommit(messageOf(error), { cause: error });
  }
};

type Writer = ReturnType<typeof openWriter>;

/** Says which format the file has, in the file itself: its start does not read the write-ahead log for it. */
const markFormat = (database: Database): void => {
  if (numberFrom(database.prepare('pragma user_version')) === logFormat) return;
  database.exec(`pragma user_version = ${logFormat}`);
  emptyWriteAheadLog(database);
};

/** Opens the file as the thread does. */
export const openWriter = (shared: SharedLog) => {
  const database = openForWriting(shared.path);
  const sharedHead = new BigInt64Array(shared.head);
  let head = 0;
  let wokenAt = 0;
  const shareHead = (position: number) => {
    head = position;
    Atomics.store(sharedHead, 0, BigInt(position));
  };
  emptyWriteAheadLog(database);
  markFormat(database);
  const { operations, committed, rolledBack } = openOperations(database, shareHead);
  const byName: ReadonlyMap<string, (input: never) => unknown> = new Map(Object.entries(operations));
  shareHead(numberFrom(database.prepare('select max(position) from events')) ?? 0);
  return {
    database,
    run: ({ name, input }: WriteRequest): unknown => {
      const operation = byName.get(name);
      if (operation === undefined) throw new Error(`there is no write named ${name}`);
      return operation(input as never);
    },
    committed,
    rolledBack,
    /** Wakes the threads that wait for new events, if there are any. */
    wakeReaders: () => {
      if (wokenAt === head) return;
      wokenAt = head;
      Atomics.notify(sharedHead, 0);
    },
  };
};

/**
 * Prepared statements keep a closed connection half open until they are collected. Closing alone would leave
 * the write-ahead log to the next start. (docs/engines.md#sqlite)
 */
const closeWriter = ({ database }: Writer): void => {
  emptyWriteAheadLog(database);
  database.close();
};

if (parentPort !== null) start(parentPort);
