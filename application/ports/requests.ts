import type { Actor } from '../../domain/events.js';
import type { Instant, Milliseconds, StreamName } from '../../domain/ids.js';

/** The place of an event that a request has written. */
export interface WrittenEvent {
  readonly stream: StreamName;
  readonly revision: number;
}

/** One request to the API, and its outcome: an operational record, not a domain event. */
export interface RequestRecord {
  /** `req_…` */
  readonly id: string;
  /** When it came. */
  readonly at: Instant;
  readonly method: string;
  /** The path as it is documented, without its values. */
  readonly route: string;
  /** 0 if the connection was dropped because the outcome was unknown. */
  readonly status: number;
  /** The code of the error; null if there was none. */
  readonly code: string | null;
  readonly ms: Milliseconds;
  /** Null if the request was not let in. */
  readonly actor: Actor | null;
  readonly org: string | null;
  /** The network address that it came from. */
  readonly address: string;
  /** As stores and events have it: equal for equal keys of an organization. */
  readonly idempotencyKey: string | null;
  readonly wrote: readonly WrittenEvent[];
  /**
   * The subjects of an operator's or a console request: codes of cards and ids, by which the records are
   * found. None for other callers.
   */
  readonly subjects: readonly string[];
}

/** Where a list of requests goes on: after a request, the newest first. */
export type RequestPlace = Pick<RequestRecord, 'at' | 'id'>;

/**
 * The requests of the last time. A record becomes durable a second later or so; a crash before that loses it.
 * `remove` may be repeated. Both reject while the database is away.
 */
export interface RequestRows {
  /** A record whose id is there already changes nothing. */
  save(records: readonly RequestRecord[]): Promise<void>;
  find(id: string): Promise<RequestRecord | null>;
  /** Requests that have the subject, the newest first; `org`: null for those of all organizations. */
  about(
    subject: string,
    org: string | null,
    after: RequestPlace | null,
    limit: number,
  ): Promise<readonly RequestRecord[]>;
  /** Removes earlier requests, bit by bit, until the signal aborts. */
  removeOld(before: Milliseconds, signal: AbortSignal): Promise<void>;
}
