import 'reflect-metadata';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { container as root, type DependencyContainer } from 'tsyringe';
import { accountRoutes } from '../adapters/http/account.js';
import { cardRoutes } from '../adapters/http/cards.js';
import { contactRoutes, operatorContactRoutes } from '../adapters/http/contacts.js';
import { hookRoutes, operatorHookRoutes } from '../adapters/http/hooks.js';
import { operatorCardRoutes } from '../adapters/http/operator-cards.js';
import { operatorLogRoutes } from '../adapters/http/operator-log.js';
import { operatorRoutes } from '../adapters/http/operator.js';
import { operatorWebhookRoutes } from '../adapters/http/operator-webhooks.js';
import type { Route } from '../adapters/http/route.js';
import { httpServer, type HttpServer } from '../adapters/http/server.js';
import { deliveryMetrics } from '../adapters/http/delivery-metrics.js';
import { webhookRoutes } from '../adapters/http/webhooks.js';
import type { WebhookSender } from '../application/ports/webhook-sender.js';
import type { AdministrationDeps } from '../application/administer.js';
import { Authenticator } from '../application/authenticate.js';
import type { ChangeCardDeps } from '../application/change-card.js';
import type { WriteDeps } from '../application/execute.js';
import type { FloorDeps } from '../application/floor.js';
import { Ledgers } from '../application/ledgers.js';
import type { HookCall } from '../application/ports/hook-calls.js';
import {
  defaultConcurrency,
  type DeliveryMetrics,
  type DeliveryDeps,
} from '../application/deliver-webhooks.js';
import type { ReadModels } from '../application/ports/read-models.js';
import { currentReadModels } from '../application/read-your-writes.js';
import type { Clock, Entropy } from '../application/ports/system.js';
import type { ReconcilerDeps } from '../application/reconcile.js';
import type { SendCardDeps } from '../application/send-card.js';
import type { DeliveryPolicy } from '../application/public-deliveries.js';
import type { RelayDeps } from '../application/relay.js';
import { Streams } from '../application/streams.js';
import { disableEndpoint, type WebhookDeps } from '../application/webhooks.js';
import type { Milliseconds } from '../domain/ids.js';
import type { MasterKeys } from '../domain/webhook-signing.js';
import { hostSet, type WebhookUrlRules } from '../domain/webhook-url.js';
import { registerProjectionMetrics } from './projection-parts.js';
import type { Engine, Timeouts } from './engine.js';
import type { Role } from './roles.js';
import type { Settings } from './settings.js';
import { senderOnDemand } from './sender.js';
import { provide, token } from './tokens.js';

/** What a process is given: its settings, its engine, and what belongs to the machine. */
export interface ProcessContext {
  readonly settings: Settings;
  readonly role: Role;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
  readonly operatorToken: string;
  /** What signing secrets are derived from. */
  readonly keys: MasterKeys;
  /** Certificates that webhook receivers may have beside those that the system trusts. */
  readonly extraCertificates: readonly string[];
  readonly patience: Timeouts;
  /** The address that clients see; known once the service listens. */
  readonly baseUrl: () => string;
}

export const tokens = {
  given: token<ProcessContext>('Given'),
  readModels: token<ReadModels>('ReadModels'),
  registry: token<Registry>('Registry'),
  streams: token<Streams>('Streams'),
  writing: token<WriteDeps>('Writing'),
  ledgers: token<Ledgers>('Ledgers'),
  authenticator: token<Authenticator>('Authenticator'),
  changing: token<ChangeCardDeps>('Changing'),
  sending: token<SendCardDeps>('Sending'),
  administering: token<AdministrationDeps>('Administering'),
  floor: token<FloorDeps>('Floor'),
  reconciling: token<ReconcilerDeps>('Reconciling'),
  policy: token<DeliveryPolicy>('DeliveryPolicy'),
  urlRules: token<() => WebhookUrlRules>('WebhookUrlRules'),
  sender: token<WebhookSender>('WebhookSender'),
  webhooks: token<WebhookDeps>('KeepingWebhooks'),
  relaying: token<RelayDeps>('Relaying'),
  deliveryMetrics: token<DeliveryMetrics>('DeliveryMetrics'),
  delivering: token<DeliveryDeps>('Delivering'),
  routes: token<readonly Route[]>('Routes'),
  http: token<HttpServer>('HttpServer'),
} as const;

/** The object graph of one process: every use case over the engine that it was given. */
export const wire = (given: ProcessContext): DependencyContainer => {
  const container = root.createChildContainer();
  const { settings, engine, clock, entropy } = given;
  const readModels = currentReadModels(engine.readModels, engine.readYourWrites);
  container.register(tokens.given, { useValue: given });
  container.register(tokens.readModels, { useValue: readModels });
  provide(container, tokens.registry, () => {
    const registry = new Registry();
    const head = (): Promise<bigint | null> =>
      engine.store.head().then(
        ({ position }) => position,
        () => null,
      );
    registerProjectionMetrics(registry, () => engine.projector.status(), head);
    return registry;
  });
  provide(container, tokens.streams, () => new Streams(engine.store, entropy));
  provide(container, tokens.writing, (from) => ({
    store: engine.store,
    streams: from.resolve(tokens.streams),
    clock,
    entropy,
  }));
  provide(container, tokens.ledgers, (from) => new Ledgers(from.resolve(tokens.writing)));
  provide(
    container,
    tokens.authenticator,
    (from) => new Authenticator(from.resolve(tokens.streams), clock, engine.keyUses),
  );
  provide(container, tokens.changing, (from) => ({
    ...from.resolve(tokens.writing),
    ledgers: from.resolve(tokens.ledgers),
    readYourWrites: engine.readYourWrites,
  }));
  provide(container, tokens.sending, (from) => ({
    ...from.resolve(tokens.changing),
    idempotency: engine.idempotency,
    planning: settings.planning,
    claimTimeout: settings.claimTimeout,
  }));
  provide(container, tokens.administering, (from) => ({
    ...from.resolve(tokens.changing),
    authenticator: from.resolve(tokens.authenticator),
  }));
  provide(container, tokens.floor, (from) => ({
    ...from.resolve(tokens.changing),
    readModels,
    planning: settings.planning,
  }));
  provide(container, tokens.reconciling, (from) => ({
    ...from.resolve(tokens.writing),
    ledgers: from.resolve(tokens.ledgers),
    checkpoints: engine.checkpoints,
    reconcileAfter: settings.reconcileAfter,
  }));
  wireWebhooks(container);
  provide(container, tokens.routes, routesOf);
  provide(container, tokens.http, httpOf);
  return container;
};

const lookAgain: Milliseconds = 100;
const manyRequests = 50;
const concurrencyBesideRequests = 16;

/** A backlog of deliveries gives way to requests that this process has to answer: both share its thread. */
const politeConcurrency = (clock: Clock, begun: () => number): (() => number) => {
  let seen = { at: clock.now(), begun: 0, busy: false };
  return () => {
    const at = clock.now();
    if (at - seen.at >= lookAgain) {
      const now = begun();
      seen = { at, begun: now, busy: ((now - seen.begun) * lookAgain) / (at - seen.at) > manyRequests };
    }
    return seen.busy ? concurrencyBesideRequests : defaultConcurrency;
  };
};

const wireWebhooks = (container: DependencyContainer): void => {
  const { settings, engine, clock, log, keys, extraCertificates, baseUrl, patience } = container.resolve(
    tokens.given,
  );
  const { webhooks } = settings;
  const { deliveries, deliveryQueue: queue, checkpoints, store } = engine;
  const report = (error: unknown) => log.error({ err: error }, 'delivery store not told, the relay will');
  provide(container, tokens.policy, () => ({
    backoff: webhooks.backoff,
    disableAfter: webhooks.disableAfter,
  }));
  provide(container, tokens.urlRules, () => {
    const ports = webhooks.allowPorts === null ? null : new Set(webhooks.allowPorts);
    let known: { readonly baseUrl: string; readonly rules: WebhookUrlRules } | null = null;
    // The own-host rule follows BASE_URL. (decision 56; operations.md, Settings)
    return () => {
      const now = baseUrl();
      if (known?.baseUrl !== now)
        known = { baseUrl: now, rules: { ownHosts: hostSet([new URL(now).hostname]), ports } };
      return known.rules;
    };
  });
  provide(container, tokens.sender, (from) =>
    senderOnDemand({
      clock,
      rules: from.resolve(tokens.urlRules),
      allowNetworks: webhooks.allowNetworks,
      timeout: webhooks.timeout,
      extraCertificates,
    }),
  );
  provide(container, tokens.webhooks, (from) => ({
    ...from.resolve(tokens.writing),
    deliveries,
    queue,
    sender: from.resolve(tokens.sender),
    keys,
    policy: from.resolve(tokens.policy),
    urlRules: from.resolve(tokens.urlRules),
    report,
  }));
  provide(container, tokens.relaying, (from) => ({
    store,
    deliveries,
    queue,
    checkpoints,
    clock,
    policy: from.resolve(tokens.policy),
  }));
  provide(container, tokens.deliveryMetrics, (from) =>
    deliveryMetrics(from.resolve(tokens.registry), deliveries, clock),
  );
  provide(container, tokens.delivering, (from) => ({
    deliveries,
    queue,
    sender: from.resolve(tokens.sender),
    checkpoints,
    clock,
    keys,
    policy: from.resolve(tokens.policy),
    metrics: from.resolve(tokens.deliveryMetrics),
    disable: (tripped) => disableEndpoint(from.resolve(tokens.webhooks), tripped),
    concurrency: politeConcurrency(clock, () => from.resolve(tokens.http).begun()),
    ...(patience.sweep !== undefined && { sweepEvery: patience.sweep }),
  }));
};

/** Every route of the service. */
const routesOf = (from: DependencyContainer): readonly Route[] => {
  const { engine, clock, log, baseUrl } = from.resolve(tokens.given);
  const readModels = from.resolve(tokens.readModels);
  const cards = { ...from.resolve(tokens.sending), readModels, baseUrl };
  const hooks = {
    ...cards,
    hookCalls: engine.hookCalls,
    onUnrecordedCall: ({ hook, status, requestId }: HookCall, error: unknown) =>
      log.error({ err: error, hook, status, request: requestId }, 'hook call not recorded'),
  };
  return [
    ...cardRoutes(cards),
    ...contactRoutes(cards),
    ...hookRoutes(hooks),
    ...accountRoutes(cards),
    ...operatorRoutes({
      ...from.resolve(tokens.administering),
      readModels,
      keyUses: engine.keyUses,
    }),
    ...operatorCardRoutes(cards),
    ...operatorContactRoutes(cards),
    ...operatorHookRoutes(hooks),
    ...webhookRoutes(from.resolve(tokens.webhooks)),
    ...operatorWebhookRoutes(from.resolve(tokens.webhooks)),
    ...operatorLogRoutes({ store: engine.store, clock, rebuilding: engine.projector }),
  ];
};

const httpOf = (from: DependencyContainer): HttpServer => {
  const { settings, role, engine, clock, entropy, log, operatorToken, baseUrl } = from.resolve(tokens.given);
  return httpServer({
    // The other roles answer for their health alone.
    routes: role === 'all' || role === 'api' ? from.resolve(tokens.routes) : [],
    authenticator: from.resolve(tokens.authenticator),
    rateLimiter: engine.rateLimiter,
    operatorToken,
    requestsPerMinute: settings.rateLimitPerMinute,
    clock,
    entropy,
    log,
    registry: from.resolve(tokens.registry),
    readiness: () => engine.readiness(),
    baseUrl,
  });
};
