import 'reflect-metadata';
import { Registry } from 'prom-client';
import { container as root, type DependencyContainer } from 'tsyringe';
import { accountRoutes } from '../../adapters/http/api/account.js';
import { pageRoutes } from '../../adapters/http/console/routes.js';
import { pictureRoutes } from '../../adapters/http/api/pictures.js';
import { cardRoutes } from '../../adapters/http/api/cards.js';
import { previewRoutes } from '../../adapters/http/api/previews.js';
import { contactRoutes } from '../../adapters/http/api/contacts.js';
import { deliveryMetrics } from '../../adapters/http/api/delivery-metrics.js';
import { erasureRoutes } from '../../adapters/http/operator/erasures.js';
import { eventRoutes } from '../../adapters/http/api/events.js';
import { hookMetrics, hookRoutes } from '../../adapters/http/api/hooks.js';
import { operatorHookRoutes } from '../../adapters/http/operator/hooks.js';
import { operatorCardRoutes } from '../../adapters/http/operator/cards.js';
import { keyRoutes, operatorKeyRoutes } from '../../adapters/http/operator/keys.js';
import { exportRoutes, logRoutes } from '../../adapters/http/operator/signed-log.js';
import { operatorLogRoutes } from '../../adapters/http/operator/log.js';
import { movementRoutes } from '../../adapters/http/api/credit-movements.js';
import { creditRoutes, reconciliationRoutes } from '../../adapters/http/operator/credits.js';
import { operatorRequestRoutes } from '../../adapters/http/operator/requests.js';
import { organizationRoutes } from '../../adapters/http/operator/organizations.js';
import { peopleRoutes } from '../../adapters/http/operator/people.js';
import { catalogueRoutes } from '../../adapters/http/operator/catalogue.js';
import { customerRoutes, operatorContactRoutes } from '../../adapters/http/operator/customers.js';
import { operatorWebhookRoutes } from '../../adapters/http/operator/webhooks.js';
import { httpMetrics } from '../../adapters/http/server/request-log.js';
import { httpServer } from '../../adapters/http/server/server.js';
import { webhookRoutes } from '../../adapters/http/api/webhooks.js';
import { Uploads } from '../../application/contacts/uploads.js';
import { personalSeal } from '../../application/personal/personal.js';
import { scryptPasswords, usualCost } from '../../adapters/system/passwords.js';
import { devicesWith } from '../../application/access/devices.js';
import { Sessions } from '../../application/access/sessions.js';
import { proposer } from '../../application/cards/propose.js';
import { Authenticator } from '../../application/access/authenticate.js';
import { disableEndpoint } from '../../application/webhooks/webhooks.js';
import { LedgerQueue } from '../../application/money/ledger-queue.js';
import { oneCommitPayments } from '../../application/money/one-commit.js';
import { twoStreamPayments } from '../../application/money/two-streams.js';
import type { RequestRecord } from '../../application/ports/requests.js';
import type { HookCall } from '../../application/ports/hook-calls.js';
import type { TrippedEndpoint } from '../../application/ports/endpoint-gates.js';
import { forwardClock } from '../../application/timing/forward-clock.js';
import { Suspensions } from '../../application/organizations/suspensions.js';
import { organizationsOf, RememberedOrganizations } from '../../application/organizations/organizations.js';
import { notingWrites, Writings } from '../../application/requests/request-log.js';
import { currentReadModels } from '../../application/projecting/read-your-writes.js';
import { Streams } from '../../application/writing/streams.js';
import { countTotals } from '../../application/organizations/read-organizations.js';
import { noTracing, tracedAppends } from '../../application/ports/tracing.js';
import { UnfinishedWork } from '../../application/money/unfinished.js';
import type { ProcessContext } from './engine.js';
import { registerLogMetrics } from './log-part.js';
import { registerProcessMetrics } from '../metrics/process-metrics.js';
import { measureLag } from '../metrics/projection-lag.js';
import { registerProjectionMetrics, registerReadiness, rehearsalPart } from './projection-parts.js';
import { registerLateness } from '../metrics/late.js';
import { registerTotals } from '../metrics/totals.js';
import { isWitnessed, logPolicy } from '../settings/log-policy.js';
import { registerMetrics } from '../metrics/measured.js';
import { spotCheckReports } from '../metrics/spot-checks.js';
import { allProjections } from '../../projections/all.js';
import { plays } from './roles.js';
import { version } from '../settings/version.js';
import { politePace, senderOnDemand, sendsNothing, urlRules } from './webhooks.js';

/** Every object of one process, in the order in which each needs the ones before it. */
const buildGraph = (context: ProcessContext) => {
  const { settings, role, engine, calls, clock, entropy, log, operatorToken, keys, baseUrl } = context;
  const { tracing = noTracing, passwordCost = usualCost, extraCertificates = [], timeouts = {} } = context;
  const { idempotency, readYourWrites, checkpoints, keyUses, rateLimiter } = engine;
  const { deliveries, deliveryQueue: queue, projector, requests, signInRecords } = engine;
  const writings = new Writings();
  const noted = plays(role, 'api') ? notingWrites(engine.store, writings) : engine.store;
  const store = tracing === noTracing ? noted : tracedAppends(noted, tracing);
  const { planning, claimTimeout, reconcileAfter, webhooks: policy } = settings;
  const { keep } = policy;

  const readModels = currentReadModels(engine.readModels, readYourWrites);
  const streams = new Streams(store, {
    ...personalSeal(engine.personalKeys, entropy),
    sign: engine.eventMacs.sign,
  });
  const writing = { store, streams, clock, entropy };
  const ledgers = new LedgerQueue(writing, { savesCalls: engine.hasServers, readYourWrites });
  const organizations = !engine.hasServers
    ? organizationsOf(streams)
    : new RememberedOrganizations(streams, engine.readModels, readYourWrites, clock);
  const suspensions = new Suspensions(streams, clock, organizations);
  const authenticator = new Authenticator(streams, clock, keyUses, suspensions);

  const report = (error: unknown): void =>
    log.error({ err: error }, 'unfinished work is left to the reconciler');
  const unfinished = new UnfinishedWork({ ...writing, ledgers, report });
  const payments = engine.hasServers
    ? twoStreamPayments({ ...writing, ledgers, checkpoints, unfinished })
    : oneCommitPayments({ ...writing, ledgers });
  const changing = { ...writing, ledgers, payments, readYourWrites };
  const sending = { ...changing, organizations, idempotency, planning, claimTimeout };
  const administration = { ...changing, authenticator };
  const people = {
    ...administration,
    signInRecords,
    passwords: scryptPasswords(entropy, passwordCost),
    sessions: new Sessions({ signInRecords, clock, entropy }),
  };
  const floor = { ...changing, readModels, planning };
  const reconciler = { ...writing, ledgers, checkpoints, reconcileAfter };

  const rules = urlRules(policy.allowPorts, baseUrl, context.listening);
  const open = context.sender ?? senderOnDemand({ ...policy, clock, rules, extraCertificates });
  const sender = policy.delivery ? open : { ...open, send: sendsNothing };
  const webhooks = keys && {
    ...writing,
    deliveries,
    queue,
    sender,
    keys,
    policy,
    keep,
    urlRules: rules,
    maxEndpoints: policy.endpoints,
    report: (error: unknown) =>
      log.error(
        { err: error },
        'the delivery store has not been told of a change yet; the relay will tell it',
      ),
  };
  const relay = {
    store,
    deliveries,
    queue,
    checkpoints,
    clock,
    policy,
    keep,
    knownCards: engine.hasServers ? 1_000_000 : 10_000,
    readModels: engine.hasServers ? engine.readModels : null,
  };

  const policyOfLog = logPolicy(settings);
  const registry = new Registry();
  const api = { ...engine, ...sending, ...people, readModels, baseUrl };
  const hooks = {
    ...api,
    callsPerMinute: settings.hookRateLimitPerMinute,
    metrics: hookMetrics(registry),
    suspensions,
    onUnrecordedCall: ({ hook, status, requestId }: HookCall, error: unknown) =>
      log.error({ err: error, hook, status, request: requestId }, 'hook call not recorded'),
  };
  const apiRoutes = (endpoints: NonNullable<typeof webhooks>) => [
    ...cardRoutes(api),
    ...contactRoutes(api),
    ...hookRoutes(hooks),
    ...accountRoutes(api),
    ...previewRoutes(api),
    ...movementRoutes(api),
    ...eventRoutes(api),
    ...organizationRoutes(api),
    ...creditRoutes(api),
    ...reconciliationRoutes({ ...api, reconcileAfter }),
    ...customerRoutes(api),
    ...catalogueRoutes(api),
    ...keyRoutes(api),
    ...operatorKeyRoutes(api),
    ...operatorRequestRoutes(api),
    ...operatorCardRoutes(api),
    ...operatorContactRoutes(api),
    ...erasureRoutes(api),
    ...operatorHookRoutes(hooks),
    ...webhookRoutes(endpoints),
    ...operatorWebhookRoutes(endpoints),
    ...operatorLogRoutes({ ...api, rebuilding: projector }),
    ...logRoutes({ ...api, vkeys: context.logKeys?.vkeys ?? [], isPublic: settings.logPublic }),
    ...exportRoutes({
      ...api,
      signers: context.logKeys?.signers ?? [],
      keys: engine.personalKeys,
      isWitnessed: policyOfLog && isWitnessed(policyOfLog),
    }),
    ...(settings.console ? peopleRoutes(api) : []),
    ...pictureRoutes(api),
    ...pageRoutes({
      ...context,
      ...api,
      uploads: new Uploads({ rateLimiter, clock }),
      webhooks: endpoints,
      devices: devicesWith(endpoints.keys),
      trustedProxies: settings.trustedProxies,
      requestsPerMinute: settings.rateLimitPerMinute,
      timeZone: planning.timeZone,
      hasConsole: settings.console,
    }),
  ];
  registerProcessMetrics(registry, clock, { version, role });
  const readiness = async (): ReturnType<typeof engine.readiness> => [
    ...(context.draining() ? [{ name: 'process', ready: false, detail: 'stopping' }] : []),
    ...(await rehearsalPart(engine)),
    ...(await engine.readiness()),
  ];
  registerReadiness(registry, clock, readiness);
  registerProjectionMetrics(registry, clock, () => projector.status(), measureLag(store, clock));
  registerMetrics(registry, {
    foreign_events_total: [
      'Events of other programs in streams that belong to this service, passed over.',
      () => engine.foreignEvents(),
    ],
    personal_unreadable_total: [
      'Events whose personal data could not be read although nothing erased it.',
      () => engine.unreadable.count,
    ],
  });
  calls.register(registry);
  if (plays(role, 'api') || plays(role, 'notary'))
    registerLogMetrics(registry, { tiles: engine.tiles, store, clock, witnesses: context.witnesses });
  if (plays(role, 'api') || plays(role, 'reconciler'))
    registerLateness(registry, { store, checkpoints, deliveries: deliveries.log, suspensions, clock });
  if (plays(role, 'reconciler'))
    registerTotals(
      registry,
      clock,
      (failed) => countTotals(engine.readModels, failed),
      (err) => log.warn({ err }, 'cards or credits could not be counted for the metrics'),
    );
  const common = {
    // Every role serves its health and its metrics; the API is served by one of them.
    routes: plays(role, 'api') && webhooks !== null ? apiRoutes(webhooks) : [],
    authenticator,
    rateLimiter,
    operatorToken,
    requestsPerMinute: settings.rateLimitPerMinute,
    maxConnections: settings.maxConnections,
    tracing,
    propose: proposer(engine.readModels),
    lateFor: () => readYourWrites.lateFor(),
    onRequest: (request: Omit<RequestRecord, 'wrote'>) =>
      requests.record({ wrote: writings.take(request.id), ...request }),
    clock,
    keysClock: idempotency.clock,
    entropy,
    log,
    registry,
    version,
    metrics: httpMetrics(registry),
    readiness,
    rehearsal: engine.rehearsal,
    baseUrl,
  };
  const isApart = settings.operatorListener !== null;
  const publicUrl = baseUrl;
  const listeners = {
    open: httpServer(isApart ? { ...common, serves: 'public' } : common),
    /** Null if the operator is served by `open`. */
    operator: isApart
      ? httpServer({ ...common, serves: 'operator', baseUrl: context.operatorAddress, publicUrl })
      : null,
  };

  // Delivery of webhooks. Its metrics are shown by the processes that deliver. On servers they follow one
  // clock together.
  const dueClock = engine.hasServers ? clock : forwardClock(clock);
  const delivery =
    plays(role, 'webhooks') && webhooks !== null
      ? {
          deliveries,
          suspensions,
          queue,
          sender,
          checkpoints,
          clock,
          dueClock,
          keys: webhooks.keys,
          policy,
          tracing,
          metrics: deliveryMetrics(registry),
          disable: async (tripped: TrippedEndpoint) => {
            const { org, endpoint, lastFailure } = tripped;
            await disableEndpoint(webhooks, tripped);
            log.warn(
              { org, endpoint, last_failure: lastFailure },
              'a webhook endpoint was disabled: it failed too often in a row',
            );
          },
          freshAttempts: politePace(clock, () => listeners.open.begun()),
          ...(timeouts.sweep !== undefined && { sweepEvery: timeouts.sweep }),
        }
      : null;

  const spotChecks = plays(role, 'projector')
    ? {
        ...engine,
        store,
        clock,
        entropy,
        projections: allProjections,
        status: () => projector.status(),
        ...spotCheckReports(registry, log),
      }
    : null;

  const upkeep = { log: deliveries.log, queue, clock, dueClock, policy, keep };

  return {
    context,
    listeners,
    administration,
    people,
    floor,
    reconciler,
    relay,
    /** Null unless the role delivers webhooks. */
    delivery,
    upkeep,
    unfinished,
    /** Null unless the role projects. */
    spotChecks,
  };
};

type Graph = ReturnType<typeof buildGraph>;

/** The object graph of one process, finished: every use case over the engine that it was given. */
export const wire = (context: ProcessContext): DependencyContainer => {
  const container = root.createChildContainer();
  for (const [name, useValue] of Object.entries(buildGraph(context)))
    if (useValue !== null) container.register(name, { useValue });
  return container;
};

/** A part of the graph that the role has, by its name. */
export const part = <Name extends keyof Graph>(
  container: DependencyContainer,
  name: Name,
): NonNullable<Graph[Name]> => container.resolve(name);
