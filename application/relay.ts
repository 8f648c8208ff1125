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
import type { Deliveries } from './ports/deliveries.js';
import type { DeliveryQueue } from './ports/delivery-queue.js';
import type { NewDelivery } from './ports/delivery-log.js';
import type { DeliveryEndpoint } from './ports/endpoint-gates.js';
import { markOf, type EventMark, type EventStore } from './ports/event-store.js';
import type { Clock } from './ports/system.js';
import { deliveryOf, PublicEvents, windowOf, type DeliveryPolicy } from './public-deliveries.js';
import { untilAborted } from './until-aborted.js';

export interface RelayDeps {
  readonly store: EventStore;
  readonly deliveries: Pick<Deliveries, 'log' | 'gates' | 'relayMemory'>;
  readonly queue: DeliveryQueue;
  readonly checkpoints: Checkpoints;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
}

const checkpointName = 'relay';

/**
 * `rebuiltTo`: the head of the log when the relay started without a checkpoint. Events up to there may have
 * been delivered before.
 */
const RelayState = z.object({ rebuiltTo: z.string() });

/** Why a deleted endpoint's deliveries are dropped. */
export const deletedReason = 'the endpoint was deleted';
const tooOld = 'the event is older than the retry window';

export const deliveryEndpointOf = (org: OrganizationId, endpoint: Endpoint): DeliveryEndpoint => {
  const { id, url, secrets, version, enabledAt } = endpoint;
  return { endpoint: id, org, url, secrets, active: isActive(endpoint), version, enabledAt };
};

/**
 * Whether the relay has handled all events up to `rebuiltTo`. Nothing may be sent before, because a later
 * event may delete an endpoint.
 */
export const isRebuilt = async ({ checkpoints }: Pick<RelayDeps, 'checkpoints'>): Promise<boolean> => {
  const saved = await checkpoints.load(checkpointName);
  return saved !== null && saved.position >= BigInt(RelayState.parse(saved.state).rebuiltTo);
};

interface Progress {
  /** The last handled event. The checkpoint is at `saved`. */
  position: bigint;
  /** The event at the position. */
  event: EventMark | undefined;
  saved: bigint;
  readonly rebuiltTo: bigint;
  readonly endpoints: Map<OrganizationId, WebhookEndpoints>;
}

const begin = async ({ store, deliveries, checkpoints }: RelayDeps): Promise<Progress> => {
  const saved = await checkpoints.load(checkpointName);
  if (saved !== null) {
    const { position, event, state } = saved;
    return {
      position,
      event,
      saved: position,
      rebuiltTo: BigInt(RelayState.parse(state).rebuiltTo),
      endpoints: new Map(await deliveries.relayMemory.rememberedEndpoints()),
    };
  }
  const { position: rebuiltTo } = await store.head();
  return { position: 0n, event: undefined, saved: 0n, rebuiltTo, endpoints: new Map() };
};

const passed = (progress: Progress, logged: LoggedEvent): void => {
  progress.position = logged.position;
  progress.event = markOf(logged);
};

const save = async ({ checkpoints }: RelayDeps, progress: Progress): Promise<void> => {
  const { position, event, rebuiltTo } = progress;
  await checkpoints.save(checkpointName, {
    position,
    ...(event !== undefined && { event }),
    state: { rebuiltTo: String(rebuiltTo) },
  });
  progress.saved = position;
};

/** The deliveries of an event, by the subscriptions at this place in the log. */
const fanOut = async (
  deps: RelayDeps,
  publicEvents: PublicEvents,
  progress: Progress,
  logged: LoggedEvent,
): Promise<readonly NewDelivery[]> => {
  const { org } = logged.metadata;
  if (org !== null && !progress.endpoints.has(org)) return [];
  const event = await publicEvents.of(logged);
  const known = event === null ? undefined : progress.endpoints.get(event.org);
  if (event === null || known === undefined) return [];
  const { clock, policy } = deps;
  const late = logged.position <= progress.rebuiltTo && event.occurredAt + windowOf(policy) < clock.now();
  return known.endpoints
    .filter((endpoint) => subscribes(endpoint, event.type))
    .map((endpoint) => {
      const dropReason =
        endpoint.disabledReason === null
          ? late
            ? tooOld
            : null
          : `the endpoint is disabled: ${endpoint.disabledReason}`;
      return deliveryOf(event, endpoint, policy, dropReason);
    });
};

/**
 * Inserts the rows before it tells the workers. A crash repeats both, which does no harm. Rows that existed
 * are announced too, because the hints may have been lost.
 */
const enqueue = async ({ deliveries, queue }: RelayDeps, rows: readonly NewDelivery[]): Promise<void> => {
  await deliveries.log.insert(rows);
  const waiting = rows.filter(({ dropReason }) => dropReason === null);
  await queue.announce(
    waiting.map(({ id: delivery, endpoint, due }) => ({ delivery, endpoint, attempt: 1, due })),
  );
};

/** Events without a delivery that are handled before a save, since each save is a commit. */
const mostUnsaved = 1_000n;

const isWorthSaving = ({ position, saved, rebuiltTo }: Progress): boolean =>
  position - saved >= mostUnsaved || (saved < rebuiltTo && position >= rebuiltTo);

/**
 * Applies an event of an organization's endpoints. The caller saves the checkpoint right before and after it,
 * so that subscriptions are never newer than the place in the log.
 */
const applyToEndpoints = async (deps: RelayDeps, progress: Progress, logged: LoggedEvent): Promise<void> => {
  const { deliveries, clock } = deps;
  const org = idOf(logged.stream) as OrganizationId;
  const event = parseEvent(webhookEndpoints, logged);
  const state = webhookEndpoints.evolve(progress.endpoints.get(org) ?? webhookEndpoints.initial, event);
  const { id } = event.data;
  const endpoint = state.endpoints.find((known) => known.id === id);
  if (endpoint !== undefined)
    await deliveries.gates.upsertEndpoint(deliveryEndpointOf(org, endpoint), clock.now());
  else if (event.type === 'EndpointDeleted') await deliveries.gates.deleteEndpoint(org, id, deletedReason);
  await deliveries.relayMemory.rememberEndpoints(org, logged.position, state);
  progress.endpoints.set(org, state);
};

const handle = async (
  deps: RelayDeps,
  publicEvents: PublicEvents,
  progress: Progress,
  batch: readonly LoggedEvent[],
): Promise<void> => {
  let rows: NewDelivery[] = [];
  for (const logged of batch) {
    const category = categoryOf(logged.stream);
    if (category === 'card') rows.push(...(await fanOut(deps, publicEvents, progress, logged)));
    if (category === webhookEndpoints.category) {
      if (rows.length > 0) await enqueue(deps, rows);
      rows = [];
      if (progress.position > progress.saved) await save(deps, progress);
      await applyToEndpoints(deps, progress, logged);
      passed(progress, logged);
      await save(deps, progress);
    }
    passed(progress, logged);
  }
  if (rows.length > 0) await enqueue(deps, rows);
  if (rows.length > 0 || isWorthSaving(progress)) await save(deps, progress);
};

const pause: Milliseconds = 1_000;
/** Small, so that nothing else waits long for the thread. */
const batchSize = 100;

/**
 * Reads the log in order and makes one delivery per event and subscribed endpoint, until the signal aborts.
 * Only one relay may run at a time. Without a checkpoint it starts at the beginning, and records deliveries
 * of events that are older than the retry window as dropped. (docs/architecture.md#delivery-of-webhooks)
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
    const publicEvents = new PublicEvents(store);
    for await (const batch of store.follow(progress.position, { signal, batch: batchSize }))
      await handle(deps, publicEvents, progress, batch);
  });
};
