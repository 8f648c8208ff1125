import type { Milliseconds } from '../../domain/ids.js';
import { invalidCursor } from './invalid-cursor.js';
import type { KeyRing } from '../personal/key-ring.js';
import { storeWith, type EventStore } from '../ports/event-store.js';
import type { RequestRecord, RequestRows, WrittenEvent } from '../ports/requests.js';
import type { Clock } from '../ports/system.js';
import { untilAborted } from '../timing/until-aborted.js';
import { DomainError } from '../../domain/errors.js';
import type { RecordedEvent } from '../../domain/events.js';

const saveInterval: Milliseconds = 1_000;
/** While the database is away, no more than this many wait; later ones are lost. */
const maxWaiting = 100_000;
const savedAtOnce = 1_000;
/** Of requests that are not let in, no more are kept in a minute: anybody can send as many as they like. */
const maxStrangers = 300;

export type Requests = Pick<BufferedRequests, 'record' | 'find' | 'about' | 'removeOld'>;

/**
 * Notes requests in memory at once and saves them a second later, many at a time. A crash loses that second.
 */
export class BufferedRequests {
  readonly #fresh = new Map<string, RequestRecord>();
  #strangers = { minute: NaN, count: 0 };
  readonly #stopping = new AbortController();
  readonly #saving: Promise<void>;

  constructor(
    private readonly rows: RequestRows,
    private readonly keys: Pick<KeyRing, 'hashed'>,
    private readonly clock: Clock,
    onError: (error: unknown) => void,
  ) {
    const { signal } = this.#stopping;
    this.#saving = untilAborted({ clock, signal, pause: saveInterval, onError }, () => this.#save());
  }

  /** Called on every request, so it must be cheap. */
  record(request: RequestRecord): void {
    const { actor, status } = request;
    // A deleted hook has an actor, and so has a key that sends too much.
    const isIn = actor !== null && status !== 401 && status !== 429;
    if (this.#fresh.size < maxWaiting && (isIn || this.#isFew())) this.#fresh.set(request.id, request);
  }

  /** Counts a request that was not let in. */
  #isFew(): boolean {
    const minute = Math.floor(this.clock.monotonic() / 60_000);
    if (minute !== this.#strangers.minute) this.#strangers = { minute, count: 0 };
    return (this.#strangers.count += 1) <= maxStrangers;
  }

  async find(id: string): Promise<RequestRecord | null> {
    const fresh = this.#fresh.get(id);
    return fresh === undefined ? this.rows.find(id) : this.#kept(fresh);
  }

  /**
   * All that are known, the newest first; `org`: null for those of all organizations. Without the last ones
   * while they can't be saved. Throws `invalid_cursor` for an unknown id to start after.
   */
  async about(
    subject: string,
    org: string | null,
    startingAfter: string | null,
    limit: number,
  ): Promise<readonly RequestRecord[]> {
    await this.#save().catch(() => undefined);
    const last = startingAfter === null ? null : await this.rows.find(startingAfter);
    if (startingAfter !== null && (last === null || (org !== null && last.org !== org)))
      throw invalidCursor('request');
    return this.rows.about(subject, org, last, limit);
  }

  removeOld(before: Milliseconds, signal: AbortSignal): Promise<void> {
    return this.rows.removeOld(before, signal);
  }

  /** Saves what is fresh, if that is possible, and stops saving. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#saving;
    await this.#save().catch(() => undefined);
  }

  /** As a store may have it: without the Idempotency-Key itself. */
  async #kept(request: RequestRecord): Promise<RequestRecord> {
    const { idempotencyKey: key, org } = request;
    return key === null
      ? request
      : { ...request, idempotencyKey: await this.keys.hashed('key', org ?? '', key) };
  }

  async #save(): Promise<void> {
    while (this.#fresh.size > 0) {
      const records = [...this.#fresh.values()].slice(0, savedAtOnce);
      await this.rows.save(await Promise.all(records.map((record) => this.#kept(record))));
      for (const { id } of records) this.#fresh.delete(id);
    }
  }
}

/**
 * At most this many requests are tracked; the oldest is dropped. Without a limit, writes after the response
 * would stay forever.
 */
const maxUnderWay = 50_000;

/** The events written by requests that are under way. */
export class Writings {
  readonly #byRequest = new Map<string, WrittenEvent[]>();

  note(requestId: string, written: WrittenEvent): void {
    const known = this.#byRequest.get(requestId);
    if (known !== undefined) {
      known.push(written);
      return;
    }
    const [oldest] = this.#byRequest.size < maxUnderWay ? [] : this.#byRequest.keys();
    if (oldest !== undefined) this.#byRequest.delete(oldest);
    this.#byRequest.set(requestId, [written]);
  }

  /** Returns and forgets the events that a request has written. */
  take(requestId: string): readonly WrittenEvent[] {
    const written = this.#byRequest.get(requestId) ?? [];
    this.#byRequest.delete(requestId);
    return written;
  }
}

/** The store, with a note of each event that a request has written. */
export const notingWrites = (store: EventStore, writings: Writings): EventStore =>
  storeWith(store, {
    append: async (writes, completing) => {
      const outcomes = await store.append(writes, completing);
      writes.forEach(({ stream, expected, events }, index) => {
        if (outcomes[index]?.kind !== 'appended') return;
        events.forEach(({ metadata: { requestId } }, place) => {
          if (requestId !== null) writings.note(requestId, { stream, revision: expected + 1 + place });
        });
      });
      return outcomes;
    },
  });

export interface ReadRequestDeps {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly requests: Pick<Requests, 'find'>;
}

/** A request, and the events that it wrote, as the log has them. */
export interface ShownRequest {
  readonly request: RequestRecord;
  readonly events: readonly RecordedEvent[];
}

/** Throws `not_found` for a request that is unknown or no longer kept, EventStoreUnavailable. */
export const readRequest = async (
  { store, requests }: ReadRequestDeps,
  id: string,
): Promise<ShownRequest> => {
  const request = await requests.find(id);
  if (request === null)
    throw new DomainError('not_found', 'There is no such request, or it came too long ago to be kept.');
  const read = await Promise.all(
    request.wrote.map(async ({ stream, revision }) => (await store.readStream(stream, revision, 1))[0]),
  );
  const events = read.filter((event) => event?.metadata.requestId === id);
  return { request, events: events.filter((event) => event !== undefined) };
};
