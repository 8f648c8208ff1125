import type { LoggedEvent } from '../../domain/events.js';
import { categoryOf, type StreamName, type Uuid } from '../../domain/ids.js';
import { erasureFinder } from '../personal/erased.js';
import { erasedData, openedNow, withheldData } from '../personal/personal.js';
import type { EventStore } from '../ports/event-store.js';

/** Null: any. */
export interface LogFilter {
  readonly category: string | null;
  readonly stream: StreamName | null;
  readonly organization: string | null;
  readonly types: ReadonlySet<string> | null;
}

const isAnything = ({ category, stream, organization, types }: LogFilter): boolean =>
  category === null && stream === null && organization === null && types === null;

const isWanted = ({ category, stream, organization, types }: LogFilter, event: LoggedEvent): boolean =>
  (stream === null || event.stream === stream) &&
  (category === null || categoryOf(event.stream) === category) &&
  (organization === null || event.metadata.org === organization) &&
  (types === null || types.has(event.type));

/**
 * The JSON of an event that every program outside the service gets. `log`: the id of its log.
 * (docs/architecture.md#following-the-events)
 */
export const externalEvent = (
  { position, stream, revision, id, type, data, metadata }: LoggedEvent,
  log: Uuid | null,
) => ({
  log,
  position: String(position),
  stream,
  revision: String(revision),
  id,
  type,
  at: metadata.occurredAt,
  data,
  metadata,
});

/** The attributes of a CloudEvent whose data is `externalEvent`. (decision 77: CloudEvents) */
export const cloudEventAttributes = ({ stream, id, type, metadata }: LoggedEvent, log: Uuid | null) => ({
  specversion: '1.0',
  id,
  source: log === null ? 'urn:log' : `urn:uuid:${log}`,
  type: `${categoryOf(stream)}.${type}`,
  subject: stream,
  time: metadata.occurredAt,
});

/** Small, because each event is written out before another task has a turn. */
const batchSize = 100;

const withData = (event: LoggedEvent, data: object): LoggedEvent => {
  const { id, stream, revision, position, type, metadata } = event;
  return { id, stream, revision, position, type, data, metadata };
};

/** The event without its personal data. Its digest stays, and the hash chain with it. */
export const withoutPersonal = (event: LoggedEvent): LoggedEvent => withData(event, withheldData(event));

/**
 * The events of the log after a position that a filter wants, then live, until the signal aborts, or, if
 * `until` is a position, up to there. Each is opened when it is asked for.
 */
export class LogWatch implements AsyncIterable<LoggedEvent> {
  #position: bigint;

  constructor(
    private readonly store: Pick<EventStore, 'follow' | 'readStream'>,
    private readonly options: {
      readonly after: bigint;
      readonly until: bigint | null;
      readonly filter: LogFilter;
      /** Leaves closed what an erasure has covered since, too, for which it reads the streams. */
      readonly closesErased: boolean;
      readonly signal: AbortSignal;
    },
  ) {
    this.#position = options.after;
  }

  /** Everything up to here was handed out, as far as the filter wants it. */
  get position(): bigint {
    return this.#position;
  }

  /** Whether it skips events, so that `position` is ahead of the last event that was handed out. */
  get skips(): boolean {
    return !isAnything(this.options.filter);
  }

  /** Whether it has come to the end that `until` names. */
  get isDone(): boolean {
    const { until } = this.options;
    return until !== null && this.#position >= until;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LoggedEvent, void, undefined> {
    const { after, until, filter, closesErased, signal } = this.options;
    const isErased = erasureFinder((stream, from) => this.store.readStream(stream, from));
    if (this.isDone) return;
    for await (const batch of this.store.follow(after, { signal, batch: batchSize })) {
      for (const event of batch) {
        if (until !== null && event.position > until) {
          this.#position = until;
          return;
        }
        if (isWanted(filter, event)) {
          const isClosed = closesErased && event.metadata.keyId !== null && (await isErased(event));
          yield isClosed ? withData(event, erasedData(event)) : openedNow(event);
        }
        this.#position = event.position;
        if (this.isDone) return;
      }
    }
  }
}
