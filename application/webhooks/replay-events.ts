import type { LoggedEvent } from '../../domain/events.js';
import { categoryOf, type OrganizationId } from '../../domain/ids.js';
import { card } from '../../domain/card.js';
import { endpointOf, subscribes, webhookEndpoints, type Endpoint } from '../../domain/webhook-endpoints.js';
import type { NewDelivery } from '../ports/delivery-log.js';
import type { Place } from '../ports/event-store.js';
import { announcedBy, deliveryOf, PublicEvents, windowOf } from './public-deliveries.js';
import { announce, type WebhookDeps } from './webhooks.js';

const batchSize = 100;

/** Whether the event may be one that the endpoint gets. */
const mayBeFor = (org: OrganizationId, from: Place, { stream, metadata }: LoggedEvent): boolean =>
  categoryOf(stream) === card.category &&
  metadata.org === org &&
  ('position' in from || Date.parse(metadata.occurredAt) >= from.time);

/**
 * Sends an endpoint all undelivered events that it subscribes to, from a place in the log on. Exhausted and
 * dropped deliveries become due again under their ids, and missing ones are made of events that are younger
 * than deliveries are kept: older ones may have been accepted. Returns how many of either there were, or null
 * if the signal aborted: a repeat does the rest. Throws `not_found`.
 */
export const replayEvents = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  from: Place,
  signal: AbortSignal,
): Promise<number | null> => {
  const { store, streams, deliveries } = deps;
  const endpoint = endpointOf((await streams.load(webhookEndpoints, org)).state, id);
  const publicEvents = new PublicEvents(store);
  const { position: head } = await store.head();
  let after = await store.positionBefore(from, signal);
  let count = 0;
  while (after < head && !signal.aborted) {
    const batch = await store.readLog(after, batchSize);
    const candidates = batch.filter((logged) => mayBeFor(org, from, logged));
    const rows = await Promise.all(
      candidates.map((logged) => rowOf(deps, publicEvents, org, endpoint, logged)),
    );
    count += await deliveries.log.replay(rows.filter((row) => row !== null));
    after = batch.at(-1)?.position ?? head;
  }
  await announce(deps, endpoint.id);
  return signal.aborted ? null : count;
};

const rowOf = async (
  { clock, policy, keep, deliveries }: WebhookDeps,
  publicEvents: PublicEvents,
  org: OrganizationId,
  endpoint: Endpoint,
  logged: LoggedEvent,
): Promise<NewDelivery | null> => {
  const announced = announcedBy(logged);
  if (announced === null || !subscribes(endpoint, announced.type)) return null;
  const event = await publicEvents.of(announced);
  if (event?.org !== org) return null;
  const now = clock.now();
  const row = { ...deliveryOf(event, endpoint, policy, now, null), expires: now + windowOf(policy) };
  const isKept = event.occurredAt + keep > now || (await deliveries.log.get(org, row.id)) !== null;
  return isKept ? row : null;
};
