import { AccessDeniedError, MaxAppendSizeExceededError } from '@eventstore/db-client';
import { uncounted, type CountCall } from '../../application/ports/tracing.js';
import shared, { type UUID } from '@eventstore/db-client/generated/shared_pb.js';
import streams, {
  type BatchAppendReq,
  type BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { Clock, Entropy } from '../../application/ports/system.js';
import { codeOf, messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { ProposedEvent } from './events.js';
import { AppendFailed, isNotReady, Overdue, wasUnsent } from './failures.js';

/** `revision`: of the last event. `position`: null if the server doesn't tell it. */
export type AppendAnswer =
  | { readonly kind: 'appended'; readonly revision: number; readonly position: bigint | null }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'tombstoned' };

/** Events for one stream of the server. `expected`: -1 for a stream that doesn't exist. */
export interface ServerWrite {
  readonly name: string;
  readonly expected: number;
  readonly events: readonly ProposedEvent[];
}

/** The duplex call that carries appends, as gRPC gives it. */
export interface BatchCall {
  write(request: BatchAppendReq): unknown;
  on(event: 'data', listener: (response: BatchAppendResp) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  cancel(): void;
}

/** An append that waits for its answer. `request` is null once it was handed to the call. */
interface Pending {
  readonly began: Milliseconds;
  request: BatchAppendReq | null;
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: AppendFailed) => void;
}

export interface BatchOptions {
  /** Opens the call. Rejects if no server can be found. */
  readonly open: () => Promise<BatchCall>;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** How long an append may take. */
  readonly time: Milliseconds;
  readonly count?: CountCall;
}

/**
 * The appends of one client over one call (BatchAppend), each under an id of its own and watched by a clock
 * of our own. It replaces the client's batch append, whose promises are shared by all clients of a process
 * and may stay pending forever. (docs/engines.md#eventstoredb)
 */
export class BatchAppends {
  readonly #pending = new Map<string, Pending>();
  readonly #closed = new AbortController();
  #call: BatchCall | null = null;
  #opening = false;
  #watching = false;
  #heardAt: Milliseconds = -Infinity;
  /** Whether the call has brought a response: from then on its server is known to take appends. */
  #isProven = false;
  /** False once a server has said that it has no such call: nothing was appended by it. */
  isSupported = true;

  constructor(private readonly options: BatchOptions) {}

  /** Whether an append has waited for so long, while nothing came back. */
  isSilentFor(time: Milliseconds): boolean {
    const now = this.options.clock.monotonic();
    for (const { began } of this.#pending.values()) return now - began >= time && now - this.#heardAt >= time;
    return false;
  }

  /** Rejects with AppendFailed. */
  append(write: ServerWrite): Promise<AppendAnswer> {
    const { clock, entropy, count = uncounted } = this.options;
    if (this.#closed.signal.aborted)
      return Promise.reject(new AppendFailed('none', new Error('the connection is closed')));
    count('batch append');
    return new Promise((resolve, reject) => {
      const began = clock.monotonic();
      const id = entropy.uuid();
      const call = this.#call;
      const request = requestOf(id, write);
      this.#pending.set(id, { began, request: call === null ? request : null, resolve, reject });
      if (call === null) void this.#open();
      else call.write(request);
      if (!this.#watching) void this.#watch();
    });
  }

  /** Gives up everything that waits. */
  close(reason: Error): void {
    this.#closed.abort('closed');
    this.#end(this.#call, reason);
    this.#reject('unsent', () => new AppendFailed('none', reason));
  }

  async #open(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    try {
      const call = await this.options.open();
      call.on('data', (response) => this.#settle(call, response));
      call.on('error', (error) => this.#end(call, error));
      call.on('end', () => this.#end(call, new Error('the server ended the batch of appends')));
      if (this.#closed.signal.aborted) call.cancel();
      else {
        this.#call = call;
        this.#isProven = false;
        // Everything that was not handed to a call before.
        for (const pending of this.#pending.values()) {
          const { request } = pending;
          pending.request = null;
          if (request !== null) call.write(request);
        }
      }
    } catch (error) {
      this.#reject('unsent', () => new AppendFailed('none', error));
    } finally {
      this.#opening = false;
    }
  }

  /** Drops a response to an append whose caller has given up: its outcome was looked for. */
  #settle(call: BatchCall, response: BatchAppendResp): void {
    if (call !== this.#call) return;
    this.#heardAt = this.options.clock.monotonic();
    this.#isProven = true;
    const id = idOf(response.getCorrelationId());
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    try {
      pending.resolve(answerOf(response));
    } catch (error) {
      pending.reject(error instanceof AppendFailed ? error : new AppendFailed('open', error));
    }
  }

  /** Ends the call: its appends may be stored or not, unless the call never began. */
  #end(call: BatchCall | null, reason: unknown): void {
    if (call === null || call !== this.#call) return;
    this.#call = null;
    call.cancel();
    const code = codeOf(reason);
    if (code === unimplemented) this.isSupported = false;
    const failed =
      denials.has(code) && !this.#isProven
        ? new AppendFailed(
            'refused',
            Object.assign(new AccessDeniedError(undefined, messageOf(reason)), { code }),
          )
        : new AppendFailed(code === unimplemented || wasUnsent(reason) ? 'none' : 'open', reason);
    this.#reject('sent', () => failed);
  }

  #reject(which: 'sent' | 'unsent', failed: () => AppendFailed): void {
    for (const [id, { request, reject }] of this.#pending) {
      if ((request === null) !== (which === 'sent')) continue;
      this.#pending.delete(id);
      reject(failed());
    }
  }

  /** Wakes when the oldest append is due; all have the same time. */
  async #watch(): Promise<void> {
    const { clock, time } = this.options;
    this.#watching = true;
    while (!this.#closed.signal.aborted) {
      const [oldest] = this.#pending;
      if (oldest === undefined) break;
      const [id, pending] = oldest;
      const left = pending.began + time - clock.monotonic();
      if (left > 0) await clock.sleep(left, this.#closed.signal);
      else this.#expire(id, pending);
    }
    this.#watching = false;
  }

  /**
   * A call that has brought nothing for as long as an append may take is given up with all that it carries.
   */
  #expire(id: string, { request, began, reject }: Pending): void {
    const overdue = new Overdue(`no response within ${this.options.time} ms`);
    this.#pending.delete(id);
    reject(new AppendFailed(request === null ? 'open' : 'none', overdue));
    if (request === null && this.#heardAt < began) this.#end(this.#call, overdue);
  }
}

const unimplemented = 12;
/** PERMISSION_DENIED, UNAUTHENTICATED: the server looks at the user before it takes anything from a call. */
const denials: ReadonlySet<unknown> = new Set([7, 16]);

/**
 * Reads an id in either form: the server mostly echoes the form that it got, and uses the other one for its
 * own ids.
 */
const idOf = (uuid: UUID | undefined): string => {
  const parts = uuid?.getStructured();
  if (parts === undefined) return uuid?.getString() ?? '';
  const hex = [parts.getMostSignificantBits(), parts.getLeastSignificantBits()]
    .map((bits) => BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, '0'))
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

const requestOf = (id: string, { name, expected, events }: ServerWrite): BatchAppendReq => {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(
    new shared.StreamIdentifier().setStreamName(Buffer.from(name)),
  );
  if (expected < 0) options.setNoStream(new shared.Empty());
  else options.setStreamPosition(String(expected));
  const request = new streams.BatchAppendReq()
    .setCorrelationId(new shared.UUID().setString(id))
    .setOptions(options)
    .setIsFinal(true);
  for (const event of events) {
    const message = request.addProposedMessages();
    message.setId(new shared.UUID().setString(event.id));
    message.setData(event.data);
    message.setCustomMetadata(event.metadata);
    message.getMetadataMap().set('type', event.type).set('content-type', 'application/json');
  }
  return request;
};

const answerOf = (response: BatchAppendResp): AppendAnswer => {
  const success = response.getSuccess();
  if (success !== undefined) {
    const position = success.getPosition()?.getCommitPosition();
    return {
      kind: 'appended',
      revision: Number(success.getCurrentRevision()),
      position: position === undefined ? null : BigInt(position),
    };
  }
  const error = response.getError();
  switch (error?.getDetails()?.getTypeName()) {
    case 'event_store.client.WrongExpectedVersion':
      return { kind: 'conflict' };
    case 'event_store.client.StreamDeleted':
      return { kind: 'tombstoned' };
    case 'event_store.client.AccessDenied':
      throw new AppendFailed('refused', new AccessDeniedError(undefined, 'Access Denied'));
    case 'event_store.client.MaximumAppendSizeExceeded':
      throw new AppendFailed('refused', MaxAppendSizeExceededError.fromMaxAppendSize(mebibyte));
    case 'event_store.client.BadRequest':
      throw new AppendFailed('refused', new Error(error?.getMessage()));
    default: {
      const cause = new Error(error?.getMessage() ?? 'the response says nothing');
      throw new AppendFailed(isNotReady(cause) ? 'none' : 'open', cause);
    }
  }
};

const mebibyte = 1_048_576;
