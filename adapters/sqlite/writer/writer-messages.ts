import type { Gate } from '../gate.js';

/**
 * What the writer's thread is started with. `head` is shared: the position of the log's last committed event,
 * one 64-bit integer.
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

export type ToWriter =
  { readonly kind: 'run'; readonly requests: readonly WriteRequest[] } | { readonly kind: 'close' };

/**
 * What became of one request. `unwritten`: the disk is full or can't be written, nothing is stored.
 * `refused`: the operation itself threw.
 */
export type WriteReply =
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'unwritten'; readonly message: string; readonly errcode: number }
  | { readonly kind: 'refused'; readonly message: string };

/** `replies` answer the oldest requests that are still open, in their order. */
export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string; readonly errcode: number | null }
  | { readonly kind: 'replies'; readonly replies: readonly WriteReply[] }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string }
  | { readonly kind: 'closed' };
