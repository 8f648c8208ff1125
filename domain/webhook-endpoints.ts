import { z } from 'zod';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { Instant, Uuid, type Milliseconds } from './ids.js';
import type { WebhookUrl } from './webhook-url.js';

/**
 * Which secret of an endpoint: the master key from which it is derived, and its number, from 0; every
 * rotation adds one.
 */
const Secret = z.object({ key: z.string(), generation: z.int().min(0) });
export type SecretRef = Readonly<z.infer<typeof Secret>>;

/** The events about the webhook endpoints of one organization, in the stream `webhooks-{org}`. */
export const webhookEvents = events({
  /** An empty `events` means all types, including types that are added later. */
  EndpointRegistered: {
    id: Uuid,
    url: z.string(),
    events: z.array(z.string()),
    description: z.string().nullable(),
    secret: Secret,
    at: Instant,
  },
  /** An owner's change: both values as they are now. */
  EndpointChanged: { id: Uuid, events: z.array(z.string()), description: z.string().nullable() },
  EndpointDisabled: { id: Uuid, reason: z.string() },
  EndpointEnabled: { id: Uuid },
  EndpointDeleted: { id: Uuid },
  SecretRotated: { id: Uuid, secret: Secret, at: Instant },
});
export type WebhookEvent = EventOf<typeof webhookEvents>;

/** A secret, and since when it has been the newest. */
export interface DatedSecret extends SecretRef {
  readonly since: Instant;
}

export interface Endpoint {
  readonly id: Uuid;
  readonly url: WebhookUrl;
  readonly events: readonly string[];
  readonly description: string | null;
  /** Why it was disabled; null while it is active. */
  readonly disabledReason: string | null;
  /** Newest first, without secrets that had stopped signing at the last rotation. */
  readonly secrets: readonly [DatedSecret, ...DatedSecret[]];
  /**
   * The number of the endpoint's events: of two states of an endpoint, the one with more is the later one.
   */
  readonly version: number;
  /** The version at which it was last enabled. Failures are counted from there. */
  readonly enabledAt: number;
}

/** One endpoint per URL. `endpoints` in the order of their registration. */
export interface WebhookEndpoints {
  readonly endpoints: readonly Endpoint[];
  /** The most recently deleted endpoints, so that a repeated DELETE finds its endpoint. */
  readonly deleted: readonly Uuid[];
}

/** The relay keeps an organization's endpoints in one document, and MongoDB takes 16 MiB at most. */
export const maxEndpoints = 1_000;

const deletedKept = 100;

/**
 * How long an old secret still signs after a rotation. (decision 59: secrets, rotation, Standard Webhooks)
 */
export const secretOverlap: Milliseconds = 24 * 60 * 60 * 1000;

/** However often a secret is rotated: the header of a delivery must not grow. */
const maxSecrets = 2;

/** The secrets that sign at a time: the newest, and the one before it for 24 hours after the rotation. */
export const secretsAt = (secrets: readonly DatedSecret[], at: Milliseconds): readonly DatedSecret[] =>
  secrets.slice(0, maxSecrets).filter((_, index) => {
    const successor = secrets[index - 1];
    return successor === undefined || Date.parse(successor.since) + secretOverlap > at;
  });

const rotated = ({ secrets }: Endpoint, newest: DatedSecret): Endpoint['secrets'] => [
  newest,
  ...secretsAt(secrets, Date.parse(newest.since)).slice(0, maxSecrets - 1),
];

const changed = (
  state: WebhookEndpoints,
  id: Uuid,
  change: (endpoint: Endpoint) => Partial<Endpoint>,
): WebhookEndpoints => {
  const at = state.endpoints.findIndex((endpoint) => endpoint.id === id);
  const endpoint = state.endpoints[at];
  if (endpoint === undefined) return state;
  const next = { ...endpoint, version: endpoint.version + 1, ...change(endpoint) };
  return { ...state, endpoints: state.endpoints.with(at, next) };
};

const evolve = (state: WebhookEndpoints, event: WebhookEvent): WebhookEndpoints => {
  switch (event.type) {
    case 'EndpointRegistered': {
      const { id, url, events: subscribed, description, secret, at } = event.data;
      const endpoint: Endpoint = {
        id, url: url as WebhookUrl, events: subscribed, description, disabledReason: null, secrets: [{ ...secret, since: at }], version: 0, enabledAt: 0,
      }; // prettier-ignore
      return { ...state, endpoints: [...state.endpoints, endpoint] };
    }
    case 'EndpointChanged': {
      const { id, events: subscribed, description } = event.data;
      return changed(state, id, () => ({ events: subscribed, description }));
    }
    case 'EndpointDisabled':
      return changed(state, event.data.id, () => ({ disabledReason: event.data.reason }));
    case 'EndpointEnabled':
      return changed(state, event.data.id, ({ version }) => ({
        disabledReason: null,
        enabledAt: version + 1,
      }));
    case 'EndpointDeleted':
      return {
        endpoints: state.endpoints.filter(({ id }) => id !== event.data.id),
        deleted: [...state.deleted, event.data.id].slice(-deletedKept),
      };
    case 'SecretRotated': {
      const { id, secret, at } = event.data;
      return changed(state, id, (endpoint) => ({ secrets: rotated(endpoint, { ...secret, since: at }) }));
    }
  }
};

export const webhookEndpoints: Aggregate<WebhookEndpoints, WebhookEvent> = {
  category: 'webhooks',
  schemas: webhookEvents,
  initial: { endpoints: [], deleted: [] },
  evolve,
};

export const isActive = ({ disabledReason }: Endpoint): boolean => disabledReason === null;

/** Whether an endpoint subscribes to events of a type. (docs/contract.md#events) */
export const subscribes = ({ events: subscribed }: Pick<Endpoint, 'events'>, type: string): boolean =>
  subscribed.length === 0 || subscribed.includes(type);

export const endpointOfUrl = ({ endpoints }: WebhookEndpoints, url: WebhookUrl): Endpoint | null =>
  endpoints.find((endpoint) => endpoint.url === url) ?? null;

/** An endpoint by its id. Throws `not_found`. */
export const endpointOf = ({ endpoints }: WebhookEndpoints, id: string): Endpoint => {
  const endpoint = endpoints.find((known) => known.id === id.toLowerCase());
  if (endpoint === undefined)
    throw new DomainError('not_found', 'There is no such webhook endpoint in this organization.');
  return endpoint;
};

/**
 * Registers an endpoint; if the URL has one already, it stays as it is. Throws `too_many_endpoints` if there
 * are `maxEndpoints` of them. (decision 55: registering an endpoint again)
 */
export const register =
  (
    endpoint: Pick<Endpoint, 'id' | 'url' | 'events' | 'description'> & {
      readonly key: string;
      readonly at: Instant;
      readonly maxEndpoints?: number;
    },
  ) =>
  (state: WebhookEndpoints): WebhookEvent[] => {
    const { id, url, events: subscribed, description, key, at, maxEndpoints: limit = Infinity } = endpoint;
    if (endpointOfUrl(state, url) !== null) return [];
    if (state.endpoints.length >= limit)
      throw new DomainError(
        'too_many_endpoints',
        `This organization has ${state.endpoints.length} webhook endpoints, and no more than ${limit} are allowed. Delete one that is not used any more.`,
      );
    const data = { id, url, events: [...subscribed], description, secret: { key, generation: 0 }, at };
    return [{ type: 'EndpointRegistered', data }];
  };

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, at) => value === b[at]);

/** An owner's change of an endpoint; undefined keeps a value. */
export interface EndpointChange {
  readonly events?: readonly string[] | undefined;
  readonly description?: string | null | undefined;
}

/**
 * Changes an endpoint's subscription and description. A repeat records nothing. Throws `not_found`. (decision
 * 67: endpoints are their owner's, too)
 */
export const change =
  (id: string, wanted: EndpointChange) =>
  (state: WebhookEndpoints): WebhookEvent[] => {
    const endpoint = endpointOf(state, id);
    const subscribed = wanted.events ?? endpoint.events;
    const description = wanted.description === undefined ? endpoint.description : wanted.description;
    if (sameList(subscribed, endpoint.events) && description === endpoint.description) return [];
    return [{ type: 'EndpointChanged', data: { id: endpoint.id, events: [...subscribed], description } }];
  };

/**
 * Disables an endpoint whose failures were counted since the version `enabledAt`. One that was enabled since
 * then, or is disabled, is left alone. (decision 61: switching an endpoint off and on)
 */
export const disable =
  (id: Uuid, enabledAt: number, reason: string) =>
  ({ endpoints }: WebhookEndpoints): WebhookEvent[] => {
    const endpoint = endpoints.find((known) => known.id === id);
    return endpoint === undefined || !isActive(endpoint) || endpoint.enabledAt !== enabledAt
      ? []
      : [{ type: 'EndpointDisabled', data: { id, reason } }];
  };

/**
 * Enables an endpoint; a repeat records nothing, unless it `hasTripped`: then it would be disabled a moment
 * later, for failures from before. Throws `not_found`.
 */
export const enable =
  (id: string, hasTripped: boolean) =>
  (state: WebhookEndpoints): WebhookEvent[] => {
    const endpoint = endpointOf(state, id);
    return isActive(endpoint) && !hasTripped ? [] : [{ type: 'EndpointEnabled', data: { id: endpoint.id } }];
  };

/**
 * Deletes an endpoint; for an unknown or deleted id, nothing is recorded. (decision 57: deleting and listing
 * endpoints)
 */
export const remove =
  (id: string) =>
  ({ endpoints }: WebhookEndpoints): WebhookEvent[] => {
    const endpoint = endpoints.find((known) => known.id === id.toLowerCase());
    return endpoint === undefined ? [] : [{ type: 'EndpointDeleted', data: { id: endpoint.id } }];
  };

/**
 * Gives an endpoint a new secret, derived from the master key `key`; the old one also signs for 24 hours.
 * Throws `not_found`. (decision 59: secrets, rotation, Standard Webhooks)
 */
export const rotate =
  (id: string, key: string, at: Instant) =>
  (state: WebhookEndpoints): WebhookEvent[] => {
    const endpoint = endpointOf(state, id);
    const secret = { key, generation: endpoint.secrets[0].generation + 1 };
    return [{ type: 'SecretRotated', data: { id: endpoint.id, secret, at } }];
  };
