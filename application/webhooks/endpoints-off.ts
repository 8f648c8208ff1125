import { insteadOf } from '../../domain/errors.js';
import { parseEvent } from '../../domain/events.js';
import { streamName, type Instant, type OrganizationId, type Uuid } from '../../domain/ids.js';
import { isActive, webhookEndpoints, type Endpoint } from '../../domain/webhook-endpoints.js';
import { EventStoreUnavailable, type EventStore } from '../ports/event-store.js';

/** Since when each of the endpoints that is off has been; nothing while the event store is unavailable. */
export const offSince = async (
  { store }: { readonly store: Pick<EventStore, 'readStream'> },
  org: OrganizationId,
  endpoints: readonly Endpoint[],
): Promise<ReadonlyMap<Uuid, Instant>> => {
  const since = new Map<Uuid, Instant>();
  if (endpoints.every(isActive)) return since;
  const stream = streamName(webhookEndpoints.category, org);
  for (const stored of await store.readStream(stream, 0).catch(insteadOf(EventStoreUnavailable, []))) {
    const { type, data } = parseEvent(webhookEndpoints, stored);
    if (type === 'EndpointDisabled') since.set(data.id, stored.metadata.occurredAt);
    else if (type === 'EndpointEnabled' || type === 'EndpointDeleted') since.delete(data.id);
  }
  return since;
};
