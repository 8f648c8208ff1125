import { DomainError } from '../../domain/errors.js';
import type { RecordedEvent } from '../../domain/events.js';
import type { EventStore } from '../ports/event-store.js';
import type { RequestRecord } from '../ports/requests.js';
import type { Requests } from './request-log.js';

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
