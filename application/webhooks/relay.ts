import { z } from 'zod';
import { card } from '../../domain/card.js';
import { parseEvent, schemaOf, type LoggedEvent } from '../../domain/events.js';
import {
  categoryOf,
  idOf,
  streamName,
  type Milliseconds,
  type OrganizationId,
  type StreamName,
} from '../../domain/ids.js';
import {
  isActive,
  subscribes,
  webhookEndpoints,
  type Endpoint,
  type WebhookEndpoints,
} from '../../domain/webhook-endpoints.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import type { Deliveries } from '../ports/deliveries.js';
import type { DeliveryQueue } from '../ports/delivery-queue.js';
import type { NewDelivery } from '../ports/delivery-log.js';
import type { DeliveryEndpoint } from '../ports/endpoint-gates.js';
import { larger, markOf, type EventStore } from '../ports/event-store.js';
import type { ReadModels } from '../ports/read-models.js';
import type { Clock } from '../ports/system.js';
import { announcedBy, deliveryOf, PublicEvents, windowOf, type DeliveryPolicy } from './public-deliveries.js';
import { assertSameLog, type ReadUpTo } from '../log/same-log.js';
import { untilAborted } from '../timing/until-aborted.js';

export interface RelayDeps {
  readonly store: EventStore;
  readonly deliveries: Pick<Deliveries, 'log' | 'gates' | 'relayMemory'>;
  readonly queue: DeliveryQueue;
  readonly checkpoints: Checkpoints;
  readonly clock: Clock;
  readonly policy: DeliveryPolicy;
  /** How long an ended delivery is kept. */
  readonly keep: Milliseconds;
  /** How many cards in production it keeps in mind, so that it need not read their streams. */
  readonly knownCards?: number;
  /** Where it looks the others up; without them, or if they don't show a card, in the card's stream. */
  readonly readModels?: Pick<ReadModels, 'get'> | null;
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

const handledAt = (logged: LoggedEvent): ReadUpTo => ({ position: logged.position, event: markOf(logged) });

interface RelayProgress {
  saved: ReadUpTo;
  readonly rebuiltTo: bigint;
  readonly endpoints: Map<OrganizationId, WebhookEndpoints>;
}

const readAtOnce = 1_000;

/** The revision of each stream's first event between two positions, for streams of endpoints. */
const firstBetween = async (
  { store }: Pick<RelayDeps, 'store'>,
  from: bigint,
  to: bigint,
): Promise<ReadonlyMap<StreamName, number>> => {
  const first = new Map<StreamName, number>();
  for (let at = from; at < to;) {
    const events = await store.readLog(at, readAtOnce);
    for (const { stream, revision } of events)
      if (categoryOf(stream) === webhookEndpoints.category && !first.has(stream)) first.set(stream, revision);
    at = events.at(-1)?.position ?? to;
  }
  return first;
};

/**
 * The endpoints as they were at a position. What is remembered may be ahead of it: it is stored before the
 * relay's position, and copied after it by a backup. No event may be folded twice, nor sent to an endpoint
 * that was registered later. Times don't tell the order of the log, and not every event store gives the
 * positions of a stream's events: revisions count.
 */
const endpointsAt = async (
  deps: RelayDeps,
  { position }: ReadUpTo,
): Promise<Map<OrganizationId, WebhookEndpoints>> => {
  const remembered = await deps.deliveries.relayMemory.rememberedEndpoints();
  const furthest = [...remembered.values()].reduce((most, each) => larger(most, each.position), position);
  const later = await firstBetween(deps, position, furthest);
  const found = new Map<OrganizationId, WebhookEndpoints>();
  for (const [org, { state }] of remembered) {
    const stream = streamName(webhookEndpoints.category, org);
    const end = later.get(stream);
    if (end === undefined) found.set(org, state);
    else {
      const events = end === 0 ? [] : await deps.store.readStream(stream, 0, end);
      const before = events.map((event) => parseEvent(webhookEndpoints, event));
      found.set(org, before.reduce(webhookEndpoints.evolve, webhookEndpoints.initial));
    }
  }
  return found;
};

const begin = async (deps: RelayDeps): Promise<RelayProgress> => {
  const { store, checkpoints } = deps;
  const saved = await checkpoints.load(checkpointName);
  if (saved !== null) {
    const { state, ...handled } = saved;
    await assertSameLog(store, 'The relay', handled);
    return {
      saved: handled,
      rebuiltTo: BigInt(RelayState.parse(state).rebuiltTo),
      endpoints: await endpointsAt(deps, handled),
    };
  }
  const { position: rebuiltTo } = await store.head();
  return { saved: { position: 0n }, rebuiltTo, endpoints: new Map() };
};

const save = async (
  { checkpoints }: RelayDeps,
  progress: RelayProgress,
  handled: ReadUpTo,
): Promise<void> => {
  const state = { rebuiltTo: String(progress.rebuiltTo) };
  await checkpoints.save(checkpointName, { ...handled, state });
  progress.saved = handled;
};

/**
 * The deliveries of an event of a card, by the subscriptions at this place in the log. The event is parsed
 * only if the organization has an endpoint, and the card looked up only if one of them wants the event.
 */
const fanOut = async (
  { deps, publicEvents, progress: { endpoints, rebuiltTo } }: RelayRun,
  logged: LoggedEvent,
): Promise<readonly NewDelivery[]> => {
  const { clock, policy, keep } = deps;
  const { org } = logged.metadata;
  const own = (org && endpoints.get(org)?.endpoints) ?? [];
  if (own.length === 0) {
    schemaOf(card, logged);
    return [];
  }
  const announced = announcedBy(logged);
  if (announced === null) return [];
  publicEvents.note(announced);
  const wanting = own.filter((endpoint) => subscribes(endpoint, announced.type));
  if (wanting.length === 0) return [];
  const windowEnd = Date.parse(logged.metadata.occurredAt) + windowOf(policy);
  const late = logged.position <= rebuiltTo && windowEnd < clock.now();
  if (late && windowEnd + keep < clock.now()) return [];
  const event = await publicEvents.of(announced);
  if (event === null) return [];
  return wanting.map((endpoint) => {
    const { disabledReason: off } = endpoint;
    const dropReason = off === null ? (late ? tooOld : null) : `the endpoint is disabled: ${off}`;
    return deliveryOf(event, endpoint, policy, clock.now(), dropReason);
  });
};

/** Events that may still need a delivery. */
interface Planned {
  readonly events: readonly LoggedEvent[];
  /** Of each event. */
  readonly rows: Promise<readonly (readonly NewDelivery[])[]>;
}

/** Events without a delivery that are handled before a save, since each save is a commit. */
const maxUnsaved = 1_000;
/** From outside a relay is as late as its checkpoint. */
const saveInterval: Milliseconds = 5_000;
/** How many events may wait for the store, beside the ones that are being stored. */
const maxWaiting = 1_000;

/**
 * Stores deliveries in the order of the log, and then the checkpoint: each time all that have come meanwhile.
 * After a failure it does nothing more.
 */
class Outbox {
  #waiting: Planned[] = [];
  #waitingEvents = 0;
  #unsavedEvents = 0;
  #stored: LoggedEvent | null = null;
  #working: Promise<void> | null = null;
  #round: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: RelayDeps,
    private readonly progress: RelayProgress,
    private readonly hints: Hints,
    private readonly onFailure: () => void,
  ) {}

  /** Resolves when there is room for more. Rejects if deliveries could not be stored. */
  async add(planned: Planned): Promise<void> {
    if (planned.events.length === 0) return;
    planned.rows.catch(() => undefined); // The round that stores them fails.
    this.#waiting.push(planned);
    this.#waitingEvents += planned.events.length;
    if (this.#working === null) {
      this.#working = this.#work();
      this.#working.catch(this.onFailure);
    }
    while (this.#waitingEvents >= maxWaiting) await this.#round;
  }

  /** Resolves when all deliveries are stored. Rejects if they could not be. */
  async emptied(): Promise<void> {
    await this.#working;
  }

  /** Stores everything, with the checkpoint at the last event. */
  async flush(): Promise<void> {
    await this.emptied();
    if (this.#stored !== null && this.#stored.position > this.progress.saved.position)
      await this.#save(this.#stored);
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const planned = this.#waiting;
      this.#waiting = [];
      this.#waitingEvents = 0;
      this.#round = this.#store(planned);
      await this.#round;
    }
    this.#working = null;
  }

  async #store(planned: readonly Planned[]): Promise<void> {
    const rows = (await Promise.all(planned.map((some) => some.rows))).flat(2);
    if (rows.length > 0) {
      await this.deps.deliveries.log.insert(rows);
      this.hints.announce(rows);
    }
    this.#unsavedEvents += planned.reduce((sum, { events }) => sum + events.length, 0);
    this.#stored = planned.at(-1)?.events.at(-1) ?? this.#stored;
    if (this.#stored !== null && (rows.length > 0 || this.#isWorthSaving(this.#stored)))
      await this.#save(this.#stored);
  }

  #isWorthSaving({ position }: LoggedEvent): boolean {
    const { saved, rebuiltTo } = this.progress;
    const rebuilds = saved.position < rebuiltTo && position >= rebuiltTo;
    return this.#unsavedEvents >= maxUnsaved || rebuilds;
  }

  async #save(event: LoggedEvent): Promise<void> {
    await save(this.deps, this.progress, handledAt(event));
    this.#unsavedEvents = 0;
  }
}

/** How many hints may be on their way to the workers before there is only one per endpoint. */
const maxHints = 5_000;

/**
 * Sends hints to workers without waiting: a sweep finds deliveries whose hint was lost. Deliveries that
 * existed already are announced too, because a crash may have lost their hints.
 */
class Hints {
  readonly #underWay = new Set<Promise<void>>();
  #count = 0;

  constructor(private readonly queue: DeliveryQueue) {}

  announce(rows: readonly NewDelivery[]): void {
    const waiting = rows.filter(({ dropReason }) => dropReason === null);
    const all = waiting.map(({ id: delivery, endpoint, due }) => ({ delivery, endpoint, attempt: 1, due }));
    const hints =
      this.#count + all.length <= maxHints
        ? all
        : [...new Map(all.map((hint) => [hint.endpoint, hint])).values()];
    if (hints.length === 0) return;
    this.#count += hints.length;
    const announced = this.queue.announce(hints).finally(() => {
      this.#count -= hints.length;
      this.#underWay.delete(announced);
    });
    this.#underWay.add(announced);
  }

  async arrived(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}

/**
 * Applies an event of an organization's endpoints. The caller saves the checkpoint right before and after it,
 * so that subscriptions are never newer than the place in the log.
 */
const applyToEndpoints = async ({ deps, progress }: RelayRun, logged: LoggedEvent): Promise<void> => {
  const { deliveries, clock } = deps;
  const org = idOf(logged.stream) as OrganizationId;
  const event = parseEvent(webhookEndpoints, logged);
  const state = webhookEndpoints.evolve(progress.endpoints.get(org) ?? webhookEndpoints.initial, event);
  const { id } = event.data;
  const endpoint = state.endpoints.find((known) => known.id === id);
  if (endpoint !== undefined)
    await deliveries.gates.upsertEndpoint(deliveryEndpointOf(org, endpoint), clock.now());
  else if (event.type === 'EndpointDeleted')
    await deliveries.gates.deleteEndpoint(org, id, deletedReason, clock.now());
  await deliveries.relayMemory.rememberEndpoints(org, logged.position, state);
  progress.endpoints.set(org, state);
};

/** Runs after the deliveries of all earlier events were made, so that none of them keeps erased data. */
const eraseDeliveries = async ({ deps, publicEvents }: RelayRun, { stream }: LoggedEvent): Promise<void> => {
  publicEvents.forget(stream);
  await deps.deliveries.log.erase(idOf(stream), deps.clock.now());
};

interface RelayRun {
  readonly deps: RelayDeps;
  readonly publicEvents: PublicEvents;
  readonly progress: RelayProgress;
  readonly outbox: Outbox;
}

/** Events without an endpoint's event between them: their deliveries can be made at the same time. */
const plan = (run: RelayRun, events: readonly LoggedEvent[]): Planned => {
  const rowsOf = async (logged: LoggedEvent): Promise<readonly NewDelivery[]> =>
    categoryOf(logged.stream) === card.category ? fanOut(run, logged) : [];
  return { events, rows: Promise.all(events.map(rowsOf)) };
};

const handle = async (run: RelayRun, batch: readonly LoggedEvent[]): Promise<void> => {
  const { deps, progress, outbox } = run;
  let first = 0;
  for (const [index, logged] of batch.entries()) {
    const isErasure = logged.type === 'CardErased' && categoryOf(logged.stream) === card.category;
    if (!isErasure && categoryOf(logged.stream) !== webhookEndpoints.category) continue;
    await outbox.add(plan(run, batch.slice(first, index)));
    await outbox.flush();
    if (isErasure) await eraseDeliveries(run, logged);
    else await applyToEndpoints(run, logged);
    await save(deps, progress, handledAt(logged));
    first = index + 1;
  }
  await outbox.add(plan(run, batch.slice(first)));
};

const pause: Milliseconds = 1_000;
/** Small, so that nothing else waits long for the thread. */
const batchSize = 100;

/**
 * Reads the log in order and makes one delivery per event and subscribed endpoint, until the signal aborts.
 * Only one relay may run at a time. Without a checkpoint it starts at the beginning, and records deliveries
 * of events that are older than the retry window as dropped; it makes none that would be removed by now.
 * (docs/architecture.md#delivery-of-webhooks)
 */
export const runRelay = async (
  deps: RelayDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, clock, queue } = deps;
  const hints = new Hints(queue);
  await untilAborted({ clock, signal, pause, onError: report }, async () => {
    const progress = await begin(deps);
    await save(deps, progress, progress.saved);
    const failed = new AbortController();
    const outbox = new Outbox(deps, progress, hints, () => failed.abort());
    const run = { deps, publicEvents: new PublicEvents(store, deps), progress, outbox };
    const either = AbortSignal.any([signal, failed.signal]);
    // Where this fails, making deliveries does, too.
    const keeping = untilAborted(
      { clock, signal: either, pause: saveInterval, onError: () => undefined },
      () => outbox.flush(),
    );
    try {
      for await (const batch of store.follow(progress.saved.position, { signal: either, batch: batchSize }))
        await handle(run, batch);
      await outbox.emptied();
    } finally {
      failed.abort();
      await keeping;
    }
  });
  await hints.arrived();
};
