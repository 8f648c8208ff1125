import type { Gate } from '../gate.js';

/**
 * The start data of the writer's thread. `head` is shared by all threads: the position of the log's last
 * committed event, one 64-bit integer.
 */
export interface WriterStart {
  readonly path: string;
  readonly head: SharedArrayBuffer;
  readonly gate: Gate;
}

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
