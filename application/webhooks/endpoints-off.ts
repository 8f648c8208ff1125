import { insteadOf } from '../../domain/errors.js';
import { parseEvent, type RecordedEvent } from '../../domain/events.js';
import { streamName, type Instant, type OrganizationId, type Uuid } from '../../domain/ids.js';
import { isActive, webhookEndpoints, type Endpoint } from '../../domain/webhook-endpoints.js';
import { EventStoreUnavailable, type EventStore } from '../ports/event-store.js';
import { streamPages } from '../writing/stream-pages.js';

/** Since when each of the endpoints that is off has been; nothing while the event store is unavailable. */
export const offSince = async (
  { store }: { readonly store: Pick<EventStore, 'readStream'> },
  org: OrganizationId,
  endpoints: readonly Endpoint[],
): Promise<ReadonlyMap<Uuid, Instant>> => {
  const since = new Map<Uuid, Instant>();
  if (endpoints.every(isActive)) return since;
  const stream = streamName(webhookEndpoints.category, org);
  const note = (stored: RecordedEvent): void => {
    const { type, data } = parseEvent(webhookEndpoints, stored);
    if (type === 'EndpointDisabled') since.set(data.id, stored.metadata.occurredAt);
    else if (type === 'EndpointEnabled' || type === 'EndpointDeleted') since.delete(data.id);
  };
  const reading = async (): Promise<ReadonlyMap<Uuid, Instant>> => {
    for await (const page of streamPages(store, stream, 0)) page.forEach(note);
    return since;
  };
  return reading().catch(insteadOf(EventStoreUnavailable, new Map()));
};
