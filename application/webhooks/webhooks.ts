import { DomainError, unwrap, insteadOf, type Captured } from '../../domain/errors.js';
import { parseEvent, type Command, type RecordedEvent, type LoggedEvent } from '../../domain/events.js';
import {
  derivedUuid,
  streamName,
  categoryOf,
  type Milliseconds,
  type OrganizationId,
  type Uuid,
  type Instant,
} from '../../domain/ids.js';
import type { PublicEventType } from '../../domain/public-events.js';
import { testPayload } from '../../domain/delivery-payload.js';
import {
  change,
  disable,
  enable,
  endpointOf,
  endpointOfUrl,
  isActive,
  register,
  remove,
  rotate,
  secretsAt,
  webhookEndpoints,
  subscribes,
  type Endpoint,
  type EndpointChange,
  type WebhookEndpoints,
  type WebhookEvent,
} from '../../domain/webhook-endpoints.js';
import { signingSecret, type MasterKeys, type SigningSecret } from '../../domain/webhook-signing.js';
import { checkTarget, type WebhookUrl, type WebhookUrlRules } from '../../domain/webhook-url.js';
import { organizationAt } from '../organizations/administer.js';
import { asOf, type AsOf, type Moment } from '../history/as-of.js';
import { newCommand, service, execute, OutcomeUnknown, type WriteDeps } from '../writing/execute.js';
import { signedHeaders } from './attempt-delivery.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import { unusedEndpoint, type EndpointHealth, type TrippedEndpoint } from '../ports/endpoint-gates.js';
import type {
  DeadLetterFilter,
  Delivery,
  DeliveryChange,
  DeliveryFilter,
  NewDelivery,
} from '../ports/delivery-log.js';
import type { Deliveries } from '../ports/deliveries.js';
import type { DeliveryQueue } from '../ports/delivery-queue.js';
import { EventStoreUnavailable, streamPages, type EventStore, type Place } from '../ports/event-store.js';
import type { Page } from '../ports/read-models.js';
import type { AttemptResult, WebhookRequest, WebhookSender } from '../ports/webhook-sender.js';
import { windowOf, announcedBy, deliveryOf, PublicEvents, type DeliveryPolicy } from './public-deliveries.js';
import { deletedReason, deliveryEndpointOf } from './relay.js';
import { withTimeout } from '../timing/with-timeout.js';
import { card } from '../../domain/card.js';

export interface WebhookDeps extends WriteDeps {
  readonly deliveries: Pick<Deliveries, 'log' | 'gates' | 'relayMemory'>;
  readonly queue: DeliveryQueue;
  readonly sender: WebhookSender;
  readonly keys: MasterKeys;
  readonly policy: DeliveryPolicy;
  /** For how long ended deliveries are kept. */
  readonly keep: Milliseconds;
  readonly urlRules: () => WebhookUrlRules;
  readonly maxEndpoints: number;
  /** Called if the delivery store was unavailable, and something is left to the relay. */
  readonly report: (error: unknown) => void;
}

/** Notifies the workers of a change at once. The relay does, too, a little later. */
const notifyWorkers = async (deps: WebhookDeps, org: OrganizationId, endpoint: Endpoint): Promise<void> => {
  const { deliveries, clock } = deps;
  try {
    await deliveries.gates.upsertEndpoint(deliveryEndpointOf(org, endpoint), clock.now());
    if (isActive(endpoint)) await announce(deps, endpoint.id);
  } catch (error) {
    deps.report(error);
  }
};

/** Changes one endpoint. Throws `not_found`. */
const decideOn = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  command: Command,
  decide: (state: WebhookEndpoints) => readonly WebhookEvent[],
): Promise<Endpoint> => {
  const { state } = await execute(deps, webhookEndpoints, org, command, decide);
  const endpoint = endpointOf(state, id);
  await notifyWorkers(deps, org, endpoint);
  return endpoint;
};

/** How long a request waits until what must not be sent is dropped. The rest of it goes on by itself. */
const dropPatience: Milliseconds = 1_000;

/** Drops what a change of the endpoint left, so that no list shows it as pending. */
const dropLeftovers = async (deps: WebhookDeps, endpoint: Uuid): Promise<void> => {
  const { deliveries, clock, report } = deps;
  const dropped = deliveries.log
    .dropExpired(clock.now(), endpoint)
    .then(() => announce(deps, endpoint))
    .catch(report);
  await withTimeout(clock, dropPatience, dropped, () => undefined);
};

/** The fields of a registration, of which the URL is checked first. (decision 2: the order of refusals) */
export interface Registration {
  readonly url: WebhookUrl;
  readonly events: Captured<readonly string[]>;
  readonly description: Captured<string | null>;
}

/**
 * Registers an endpoint, whose secret is shown only here, or returns the one that the URL has, and no secret.
 * Throws `invalid_url`, then the refusals of the other fields. (decision 55: registering an endpoint again)
 */
export const registerEndpoint = async (
  deps: WebhookDeps,
  org: OrganizationId,
  wanted: Registration,
  command: Command,
): Promise<{ readonly endpoint: Endpoint; readonly secret: SigningSecret | null }> => {
  const { streams, sender, keys, urlRules, maxEndpoints } = deps;
  const { url } = wanted;
  checkTarget(new URL(url), urlRules());
  const before = (await streams.load(webhookEndpoints, org)).state;
  const known = endpointOfUrl(before, url);
  if (known === null) await sender.vet(url, org);
  const events = [...new Set(unwrap(wanted.events))];
  const description = unwrap(wanted.description);
  if (known !== null) return { endpoint: known, secret: null };
  const id = derivedUuid('webhook endpoint', command.id);
  const made = { id, url, events, description, key: keys[0].id, at: command.at, maxEndpoints };
  const { state, events: registered } = await execute(deps, webhookEndpoints, org, command, register(made));
  const endpoint = endpointOfUrl(state, url) ?? endpointOf(state, id);
  if (registered.length === 0) return { endpoint, secret: null };
  await notifyWorkers(deps, org, endpoint);
  return { endpoint, secret: signingSecret(keys, id, endpoint.secrets[0]) };
};

/**
 * Deletes an endpoint and drops its queued deliveries. When this returns, nothing is sent to it any more. An
 * unknown id changes nothing. (decision 57: deleting and listing endpoints)
 */
export const deleteEndpoint = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  command: Command,
): Promise<void> => {
  const { state } = await execute(deps, webhookEndpoints, org, command, remove(id));
  const deleted = state.deleted.find((gone) => gone === id.toLowerCase());
  if (deleted === undefined) return;
  try {
    await deps.deliveries.gates.deleteEndpoint(org, deleted, deletedReason, deps.clock.now());
  } catch (error) {
    deps.report(error);
    throw new OutcomeUnknown(command.id);
  }
  await dropLeftovers(deps, deleted);
};

export interface ListedEndpoint extends EndpointHealth {
  readonly endpoint: Endpoint;
}

/** The endpoints from their stream; while the event store is unavailable, as the relay remembers them. */
const endpointsOf = async (
  { streams, deliveries }: WebhookDeps,
  org: OrganizationId,
): Promise<WebhookEndpoints> => {
  try {
    return (await streams.load(webhookEndpoints, org)).state;
  } catch (error) {
    if (!(error instanceof EventStoreUnavailable)) throw error;
    return (await deliveries.relayMemory.rememberedEndpoints()).get(org)?.state ?? webhookEndpoints.initial;
  }
};

/** The organization's endpoints, newest first. */
export const listEndpoints = async (
  deps: WebhookDeps,
  org: OrganizationId,
): Promise<readonly ListedEndpoint[]> => {
  const { endpoints } = await endpointsOf(deps, org);
  const health = await deps.deliveries.gates.health(org);
  return endpoints
    .map((endpoint) => ({ ...(health.get(endpoint.id) ?? unusedEndpoint), endpoint }))
    .toReversed();
};

/**
 * The endpoints as they were at a moment, newest first. Throws `not_found` if the organization was not there
 * yet, DamagedStream, EventStoreUnavailable.
 */
export const listEndpointsAt = async (
  deps: WebhookDeps,
  org: OrganizationId,
  moment: Moment,
): Promise<{ readonly was: readonly Endpoint[]; readonly asOf: AsOf | null }> => {
  await organizationAt(deps, org, moment);
  const { state, last } = await deps.streams.loadAt(webhookEndpoints, org, moment);
  return { was: state.endpoints.toReversed(), asOf: last && asOf(last) };
};

const withHealth = async (
  { deliveries }: WebhookDeps,
  org: OrganizationId,
  endpoint: Endpoint,
): Promise<ListedEndpoint> => ({
  ...((await deliveries.gates.health(org)).get(endpoint.id) ?? unusedEndpoint),
  endpoint,
});

/** One endpoint of the organization. Throws `not_found`. */
export const readEndpoint = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
): Promise<ListedEndpoint> => withHealth(deps, org, endpointOf(await endpointsOf(deps, org), id));

/**
 * Changes the subscription and the description of an endpoint. Events that occurred
 * before are delivered as they were. Throws `not_found`. (decision 67: endpoints are their owner's, too)
 */
export const changeEndpoint = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  wanted: EndpointChange,
  command: Command,
): Promise<ListedEndpoint> => {
  const events = wanted.events && [...new Set(wanted.events)];
  return withHealth(deps, org, await decideOn(deps, org, id, command, change(id, { ...wanted, events })));
};

/**
 * Enables an endpoint: its consecutive failures are reset, and deliveries whose window has not ended go on.
 * Throws `not_found`. (decision 61: switching an endpoint off and on)
 */
export const enableEndpoint = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  command: Command,
): Promise<ListedEndpoint> => {
  const hasTripped = (await deps.deliveries.gates.tripped()).some(
    ({ endpoint }) => endpoint === id.toLowerCase(),
  );
  const { state, events } = await execute(deps, webhookEndpoints, org, command, enable(id, hasTripped));
  const endpoint = endpointOf(state, id);
  if (events.length === 0) await deps.deliveries.gates.resetFailures(endpoint.id);
  await notifyWorkers(deps, org, endpoint);
  await dropLeftovers(deps, endpoint.id);
  return withHealth(deps, org, endpoint);
};

/** Disables an endpoint that has failed too often, unless it was enabled since. */
export const disableEndpoint = async (
  deps: WebhookDeps,
  { org, endpoint: id, enabledAt, consecutiveFailures, lastFailure }: TrippedEndpoint,
): Promise<void> => {
  const command = newCommand(deps, service('webhooks'), org);
  const reason = `${consecutiveFailures} failures in a row, the last one: ${lastFailure}`;
  const { state } = await execute(deps, webhookEndpoints, org, command, disable(id, enabledAt, reason));
  const endpoint = state.endpoints.find((known) => known.id === id);
  if (endpoint !== undefined)
    await deps.deliveries.gates.upsertEndpoint(deliveryEndpointOf(org, endpoint), deps.clock.now());
};

/**
 * Gives an endpoint a new secret. For 24 hours deliveries are signed with the old one too. Throws
 * `not_found`. (decision 59: secrets and their rotation)
 */
export const rotateSecret = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  command: Command,
): Promise<SigningSecret> => {
  const rotation = rotate(id, deps.keys[0].id, command.at);
  const endpoint = await decideOn(deps, org, id, command, rotation);
  return signingSecret(deps.keys, endpoint.id, endpoint.secrets[0]);
};

/**
 * Sends one made-up event, also to a disabled endpoint, without counting or logging it. Throws `not_found`.
 * (decision 62: test events)
 */
export const sendTestEvent = async (
  deps: WebhookDeps,
  org: OrganizationId,
  id: string,
  type: PublicEventType = 'card.created',
): Promise<AttemptResult> => {
  const { streams, sender, clock, entropy, keys } = deps;
  const endpoint = endpointOf((await streams.load(webhookEndpoints, org)).state, id);
  const unique = entropy.bytes(12).toString('hex');
  const body = testPayload(`evt_test_${unique}`, type, clock.instant());
  const request = { delivery: `dlv_test_${unique}`, type, body, at: clock.now() };
  const headers = signedHeaders(keys, endpoint.id, endpoint.secrets, request);
  const result = await sender.send({ org, url: endpoint.url, headers, body, mayStart: () => true });
  await announce(deps, endpoint.id);
  const error = 'too many host names are being looked up just now: try again in a minute';
  return result === 'withheld' ? { httpStatus: null, error, body: null, duration: 0 } : result;
};

/** The delivery log, newest first. Throws `invalid_cursor`. */
export const listDeliveries = async (
  { deliveries }: WebhookDeps,
  org: OrganizationId,
  filter: DeliveryFilter,
  page: Page,
): Promise<readonly Delivery[]> => {
  const found = await deliveries.log.page(org, filter, page);
  if (found === null) throw invalidCursor('delivery of this organization');
  return found;
};

/** A page of the dead letters of all organizations. Throws `invalid_cursor`. */
export const listDeadLetters = async (
  { deliveries }: WebhookDeps,
  page: Page,
): Promise<readonly Delivery[]> => {
  const found = await deliveries.log.deadLetters(page);
  if (found === null) throw invalidCursor('delivery');
  return found;
};

const noDelivery = (): DomainError =>
  new DomainError('not_found', 'There is no such delivery in this organization.');

/** One delivery of the organization. Throws `not_found`. */
export const readDelivery = async (
  { deliveries }: Pick<WebhookDeps, 'deliveries'>,
  org: OrganizationId,
  id: string,
): Promise<Delivery> => {
  const found = await deliveries.log.get(org, id);
  if (found === null) throw noDelivery();
  return found;
};

/** Makes the workers look at an endpoint now, even if it rests. */
export const announce = ({ queue, clock }: WebhookDeps, endpoint: Delivery['endpoint']): Promise<void> =>
  queue.announce([{ endpoint, delivery: null, attempt: 0, due: clock.now() }]);

/**
 * Makes a delivery due now. An exhausted or dropped one gets one more attempt. Throws `not_found`,
 * `invalid_transition`. (decision 62: retries by hand)
 */
export const retryDelivery = async (deps: WebhookDeps, org: OrganizationId, id: string): Promise<void> => {
  const now = deps.clock.now();
  const found = await deps.deliveries.log.retry(org, id, now, now + windowOf(deps.policy));
  if (found === 'unknown') throw noDelivery();
  if (found === 'refused')
    throw new DomainError(
      'invalid_transition',
      'This delivery was delivered, or its endpoint was deleted. It is not sent again. Look up its card instead.',
    );
  await announce(deps, found.endpoint);
};

/**
 * Makes the dead letters that match due now, each for one more attempt. Returns how many there are;
 * if `more`, some of them become due in the background. Throws `not_found` for an unknown endpoint.
 */
export const redriveDeliveries = async (
  deps: WebhookDeps,
  org: OrganizationId,
  which: DeadLetterFilter,
): Promise<{ readonly deliveries: number; readonly more: boolean }> => {
  if (which.endpoint !== null)
    endpointOf((await deps.streams.load(webhookEndpoints, org)).state, which.endpoint);
  const now = deps.clock.now();
  const { counts, more } = await deps.deliveries.log.redrive(org, which, now, now + windowOf(deps.policy));
  for (const endpoint of counts.keys()) await announce(deps, endpoint);
  return { deliveries: [...counts.values()].reduce((sum, count) => sum + count, 0), more };
};

export interface WatchedChange extends DeliveryChange {
  /** As it would be sent now, signed, for a program that passes it on; null if the endpoint is deleted. */
  readonly request: Pick<WebhookRequest, 'headers' | 'body'> | null;
}

/** Every change of the organization's deliveries as it happens, with the request to pass on. */
export async function* watchDeliveries(
  deps: WebhookDeps,
  org: OrganizationId,
  signal: AbortSignal,
): AsyncGenerator<WatchedChange> {
  const { deliveries, streams, keys, clock } = deps;
  for await (const change of deliveries.log.watch(org, signal)) {
    const now = await deliveries.log.get(org, change.delivery.id);
    if (now === null) continue;
    // It may have been erased while the watcher did not read.
    const row = now.body === change.delivery.body ? change.delivery : now;
    const { id: delivery, type, body, endpoint: id, traceparent } = row;
    const endpoint = (await streams.load(webhookEndpoints, org)).state.endpoints.find(
      (known) => known.id === id,
    );
    const signable = { delivery, type, body, at: clock.now(), traceparent };
    const headers = endpoint && signedHeaders(keys, id, endpoint.secrets, signable);
    yield { kind: change.kind, delivery: row, request: headers === undefined ? null : { headers, body } };
  }
}

/**
 * The ids of master keys that the key file lacks, and from which signing secrets in use are derived. The
 * service must not start without them.
 */
export const missingKeys = async ({
  deliveries,
  keys,
  clock,
}: Pick<WebhookDeps, 'deliveries' | 'keys' | 'clock'>): Promise<readonly string[]> => {
  const now = clock.now();
  const remembered = [...(await deliveries.relayMemory.rememberedEndpoints()).values()].flatMap(
    ({ state }) => state.endpoints,
  );
  const used = remembered.flatMap(({ secrets }) => secretsAt(secrets, now).map(({ key }) => key));
  return [...new Set(used)].filter((id) => !keys.some((key) => key.id === id));
};

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
  const reading = async () => {
    for await (const page of streamPages(store, stream, 0)) page.forEach(note);
    return since;
  };
  return reading().catch(insteadOf(EventStoreUnavailable, new Map()));
};

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
