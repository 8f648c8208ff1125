import { z } from 'zod';
import type { LoggedEvent } from '../domain/events.js';
import { parseEvent } from '../domain/events.js';
import { categoryOf, idOf, type Milliseconds, type OrganizationId } from '../domain/ids.js';
import {
  isActive,
  subscribes,
  webhookEndpoints,
  type Endpoint,
  type WebhookEndpoints,
} from '../domain/webhook-endpoints.js';
import type { Checkpoints } from './ports/checkpoints.js';
import type { Deliveries, DeliveryQueue, NewDelivery, DeliveryEndpoint } from './ports/deliveries.js';
import type { EventStore } from './ports/event-store.js';
import type { Clock } from './ports/system.js';
import { deliveryOf, PublicEvents, windowOf, type DeliveryPolicy } from './public-deliveries.js';
import { untilAborted } from './until-aborted.js';

export interface RelayDeps {
  readonly store: EventStore;
  readonly deliveries: Deliveries;
  readonly queue: DeliveryQueue;
  readonly checkpoints: Checkpoints;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
}

const checkpointName = 'relay';

/**
 * `rebuiltTo`: the head of the log when the relay began without a checkpoint. Until it has passed that,
 * deliveries may stand in the log that were made before.
 */
const RelayState = z.object({ rebuiltTo: z.string() });

/** Why a delivery is dropped that ended with its endpoint. */
export const deletedReason = 'the endpoint was deleted';
const tooOld = 'the event is older than the retry window';

/** An endpoint as attempts need to know it. */
export const deliveryEndpointOf = (org: OrganizationId, endpoint: Endpoint): DeliveryEndpoint => {
  const { id, url, secrets, version, enabledAt } = endpoint;
  return { endpoint: id, org, url, secrets, active: isActive(endpoint), version, enabledAt };
};

/**
 * Whether everything that the log held when the deliveries were lost has been seen again: nothing may be sent
 * before, since a deletion may still follow.
 */
export const isRebuilt = async ({ checkpoints }: Pick<RelayDeps, 'checkpoints'>): Promise<boolean> => {
  const saved = await checkpoints.load(checkpointName);
  return saved !== null && saved.position >= BigInt(RelayState.parse(saved.state).rebuiltTo);
};

interface Progress {
  /** Events up to here are handled, and saved as handled up to `saved`. */
  position: bigint;
  saved: bigint;
  readonly rebuiltTo: bigint;
  readonly endpoints: Map<OrganizationId, WebhookEndpoints>;
}

const begin = async ({ store, deliveries, checkpoints }: RelayDeps): Promise<Progress> => {
  const saved = await checkpoints.load(checkpointName);
  if (saved !== null) {
    const { position, state } = saved;
    return {
      position,
      saved: position,
      rebuiltTo: BigInt(RelayState.parse(state).rebuiltTo),
      endpoints: new Map(await deliveries.rememberedEndpoints()),
    };
  }
  const { position: rebuiltTo } = await store.head();
  return { position: 0n, saved: 0n, rebuiltTo, endpoints: new Map() };
};

const save = async ({ checkpoints }: RelayDeps, progress: Progress): Promise<void> => {
  const { position, rebuiltTo } = progress;
  await checkpoints.save(checkpointName, { position, state: { rebuiltTo: String(rebuiltTo) } });
  progress.saved = position;
};

/** The deliveries that an event is due, as the subscriptions stand at this place of the log. */
const fanOut = async (
  deps: RelayDeps,
  publisher: PublicEvents,
  progress: Progress,
  logged: LoggedEvent,
): Promise<readonly NewDelivery[]> => {
  const { org } = logged.metadata;
  if (org !== null && !progress.endpoints.has(org)) return [];
  const published = await publisher.of(logged);
  const known = published === null ? undefined : progress.endpoints.get(published.org);
  if (published === null || known === undefined) return [];
  const { clock, policy } = deps;
  const late = logged.position <= progress.rebuiltTo && published.occurredAt + windowOf(policy) < clock.now();
  return known.endpoints
    .filter((endpoint) => subscribes(endpoint, published.type))
    .map((endpoint) => {
      const dropReason =
        endpoint.disabledReason === null
          ? late
            ? tooOld
            : null
          : `the endpoint is disabled: ${endpoint.disabledReason}`;
      return deliveryOf(published, endpoint, policy, dropReason);
    });
};

/**
 * Inserts first, then tells the workers: a crash, or an answer that was lost, repeats rows and hints, which
 * changes nothing. Rows that stood already may never have been told.
 */
const enqueue = async ({ deliveries, queue }: RelayDeps, rows: readonly NewDelivery[]): Promise<void> => {
  await deliveries.insert(rows);
  const waiting = rows.filter(({ dropReason }) => dropReason === null);
  await queue.announce(
    waiting.map(({ id: delivery, endpoint, due }) => ({ delivery, endpoint, attempt: 1, due })),
  );
};

/**
 * Each save is a commit: so many events that brought no delivery are rather looked at again after a crash.
 */
const mostUnsaved = 1_000n;

const isWorthSaving = ({ position, saved, rebuiltTo }: Progress): boolean =>
  position - saved >= mostUnsaved || (saved < rebuiltTo && position >= rebuiltTo);

/**
 * Takes over what happened to an organization's endpoints. The checkpoint stands right before and right after
 * it: subscriptions are never newer than the place in the log.
 */
const follow = async (deps: RelayDeps, progress: Progress, logged: LoggedEvent): Promise<void> => {
  const { deliveries, clock } = deps;
  const org = idOf(logged.stream) as OrganizationId;
  const event = parseEvent(webhookEndpoints, logged);
  const state = webhookEndpoints.evolve(progress.endpoints.get(org) ?? webhookEndpoints.initial, event);
  const { id } = event.data;
  const endpoint = state.endpoints.find((known) => known.id === id);
  if (endpoint !== undefined) await deliveries.upsertEndpoint(deliveryEndpointOf(org, endpoint), clock.now());
  else if (event.type === 'EndpointDeleted') await deliveries.deleteEndpoint(org, id, deletedReason);
  await deliveries.rememberEndpoints(org, logged.position, state);
  progress.endpoints.set(org, state);
};

const handle = async (
  deps: RelayDeps,
  publisher: PublicEvents,
  progress: Progress,
  batch: readonly LoggedEvent[],
): Promise<void> => {
  let rows: NewDelivery[] = [];
  for (const logged of batch) {
    const category = categoryOf(logged.stream);
    if (category === 'card') rows.push(...(await fanOut(deps, publisher, progress, logged)));
    if (category === webhookEndpoints.category) {
      if (rows.length > 0) await enqueue(deps, rows);
      rows = [];
      if (progress.position > progress.saved) await save(deps, progress);
      await follow(deps, progress, logged);
      progress.position = logged.position;
      await save(deps, progress);
    }
    progress.position = logged.position;
  }
  if (rows.length > 0) await enqueue(deps, rows);
  if (rows.length > 0 || isWorthSaving(progress)) await save(deps, progress);
};

const pause: Milliseconds = 1_000;
/** Small enough that nothing else waits long for the thread. */
const batchSize = 100;

/**
 * Reads the log in order and makes one delivery per event and subscribed endpoint, until the signal aborts.
 * One at a time may run. Without a checkpoint it starts at the beginning, and what is older than the retry
 * window it records as dropped. (architecture.md, Fan-out)
 */
export const runRelay = async (
  deps: RelayDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, clock } = deps;
  await untilAborted({ clock, signal, pause, onError: report }, async () => {
    const progress = await begin(deps);
    await save(deps, progress);
    const publisher = new PublicEvents(store);
    for await (const batch of store.follow(progress.position, { signal, batch: batchSize }))
      await handle(deps, publisher, progress, batch);
  });
};
