import { once, setMaxListeners } from 'node:events';
import type { DependencyContainer } from 'tsyringe';
import { readContact } from '../../adapters/http/api/contact-fields.js';
import { runDeliveries } from '../../application/webhooks/deliver-webhooks.js';
import { keepDeliveries } from '../../application/webhooks/keep-deliveries.js';
import { holdWithdrawn } from '../../application/organizations/hold-withdrawn.js';
import { queueDueCards, simulateFloor } from '../../application/cards/floor.js';
import { publishEvents } from '../../application/log/publish-events.js';
import { runReconciler } from '../../application/money/reconciler.js';
import { artworkSweep } from '../../application/organizations/sweep-artwork.js';
import { runImports } from '../../application/contacts/run-imports.js';
import { runSpotChecks } from '../../application/projecting/spot-check.js';
import { runRelay } from '../../application/webhooks/relay.js';
import { compareKeys } from '../../application/personal/unreadable.js';
import { runShredder } from '../../application/personal/shred.js';
import { FinalError } from '../../domain/errors.js';
import { untilAborted } from '../../application/timing/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { ProcessContext } from './process-context.js';
import { reporter } from './reporter.js';
import { plays, type Role } from './roles.js';
import { tokens } from './tokens.js';

/** Something that runs until the signal aborts. */
export type Process = (signal: AbortSignal) => Promise<void>;

/** The loops of a role beside HTTP and the projector. */
export const processesOf = (role: Role, container: DependencyContainer): readonly Process[] => [
  logGuard(container),
  (signal) => container.resolve(tokens.unfinished).run(signal),
  ...processesByRole.filter(([part]) => plays(role, part)).flatMap(([, processes]) => processes(container)),
];

const guardInterval: Milliseconds = 30_000;

/**
 * Ends the process if the log was replaced: followers notice that by themselves, but `api` goes on writing to
 * whatever is there.
 */
const logGuard =
  (container: DependencyContainer): Process =>
  async (signal) => {
    const { engine, clock, fail } = container.resolve(tokens.context);
    if (!engine.hasServers) return;
    // Other failures are reported by the code that needs them.
    const onError = (error: unknown): void => {
      if (error instanceof FinalError) fail(error);
    };
    await untilAborted({ clock, signal, pause: guardInterval, onError }, () => engine.assertLog());
  };

const lookForDueCards: Milliseconds = 5_000;
const lookForWithdrawn: Milliseconds = 5_000;
/**
 * How long a card that is due when it is accepted stays pending. The time between two looks comes on top. In
 * a demo it is queued at once. (decision 32: queued within 60 s)
 */
const pendingFor: Milliseconds = 20_000;

const nothing: Process = () => Promise.resolve();

/** Work that a rehearsal leaves undone. Rejects while it is not known whether this is one. */
const ofService =
  ({ engine }: ProcessContext, work: Process): Process =>
  async (signal) => {
    const why = engine.rehearsal();
    if (why === null || (await why) === null) await work(signal);
    else if (!signal.aborted) await once(signal, 'abort');
  };

/** Keeps the read models up with the log; does nothing if another process, or the engine by itself, does. */
export const projectorOf = ({ role, engine }: ProcessContext): Process =>
  (plays(role, 'projector') ? engine.project : null) ?? nothing;

const retryAfter: Milliseconds = 1_000;
const removalInterval: Milliseconds = 3_600_000;
const sweepInterval: Milliseconds = 600_000;

const removeOldHookCalls = (context: ProcessContext, signal: AbortSignal): Promise<void> => {
  const { settings, engine, clock } = context;
  const onError = reporter(context, 'old hook calls');
  return untilAborted({ clock, signal, pause: removalInterval, onError }, () =>
    engine.hookCalls.removeOld(clock.now() - settings.hookCallKeep, signal),
  );
};

const removeEndedRecords = (context: ProcessContext, signal: AbortSignal): Promise<void> => {
  const { engine, clock } = context;
  const onError = reporter(context, 'ended sessions and imports');
  return untilAborted({ clock, signal, pause: removalInterval, onError }, async () => {
    await engine.signInRecords.removeEnded();
    await engine.importRecords.removeEnded();
  });
};

const removeOldRequests = (context: ProcessContext, signal: AbortSignal): Promise<void> => {
  const { settings, engine, clock } = context;
  const onError = reporter(context, 'old requests');
  return untilAborted({ clock, signal, pause: removalInterval, onError }, () =>
    engine.requests.removeOld(clock.now() - settings.requestLogKeep, signal),
  );
};

const reconcilerProcesses = (container: DependencyContainer): readonly Process[] => {
  const context = container.resolve(tokens.context);
  const { settings, engine, clock } = context;
  const { floorSimulation } = settings;
  const floor = container.resolve(tokens.floor);
  const reconciler = container.resolve(tokens.reconciler);
  const repeated =
    (name: string, pause: Milliseconds, once: () => Promise<unknown>): Process =>
    (signal) =>
      untilAborted({ clock, signal, pause, onError: reporter(context, name) }, once);
  const waits = floorSimulation === null ? pendingFor : 0;
  const work = [
    repeated('due cards', lookForDueCards, () => queueDueCards(floor, waits)),
    (signal: AbortSignal) =>
      repeated('withdrawn designs', lookForWithdrawn, () => holdWithdrawn(floor, signal))(signal),
    repeated('unused pictures', sweepInterval, artworkSweep({ ...engine, clock })),
    (signal: AbortSignal) => removeOldHookCalls(context, signal),
    (signal: AbortSignal) => removeEndedRecords(context, signal),
    (signal: AbortSignal) => removeOldRequests(context, signal),
  ];
  if (floorSimulation !== null)
    work.push(repeated('floor simulation', floorSimulation, () => simulateFloor(floor)));
  // If every append is all or nothing, nothing is ever half-done.
  if (engine.hasServers)
    work.push((signal) => runReconciler(reconciler, signal, reporter(context, 'reconciler')));
  const { store, personalKeys, personalKeyStore: place, importRecords } = engine;
  const shredding = { store, personalKeys, place, importRecords, clock };
  const shredder: Process = (signal) => runShredder(shredding, signal, reporter(context, 'shredder'));
  const { unreadable } = engine;
  const comparing = { store, keys: personalKeys, unreadable, clock };
  const comparer = (signal: AbortSignal): Promise<void> =>
    untilAborted(
      { clock, signal, pause: settings.logScrubEvery, onError: reporter(context, 'comparison of keys') },
      () => compareKeys(comparing, signal),
    );
  const importing = { ...reconciler, personalKeys, importRecords, readContact };
  const importer: Process = (signal) => runImports(importing, signal, reporter(context, 'imports'));
  return [
    (signal) => engine.exclusively('reconciler', signal, ofService(context, sideBySide(work))),
    (signal) => engine.exclusively('shredder', signal, sideBySide([shredder, comparer])),
    (signal) => engine.exclusively('imports', signal, ofService(context, importer)),
  ];
};

const relayProcesses = (container: DependencyContainer): readonly Process[] => {
  const context = container.resolve(tokens.context);
  const { engine, clock } = context;
  const { publicStream, store, checkpoints } = engine;
  const relay = container.resolve(tokens.relay);
  const work: Process[] = [(signal) => runRelay(relay, signal, reporter(context, 'relay'))];
  if (publicStream !== null)
    work.push((signal) =>
      publishEvents({ store, checkpoints, publicStream, clock }, signal, reporter(context, 'public stream')),
    );
  return [(signal) => engine.exclusively('relay', signal, ofService(context, sideBySide(work)))];
};

const webhookProcesses = (container: DependencyContainer): readonly Process[] => {
  const context = container.resolve(tokens.context);
  const delivery = container.resolve(tokens.delivery);
  const upkeep = container.resolve(tokens.upkeep);
  const deliver: Process = async (signal) => {
    await runDeliveries(delivery, signal, reporter(context, 'webhooks'));
    await delivery.sender.close();
  };
  const isOn = context.settings.webhooks.delivery;
  if (!isOn) context.log.warn('WEBHOOK_DELIVERY is off: deliveries are kept, and nothing is sent');
  const keep: Process = (signal) => keepDeliveries(upkeep, signal, reporter(context, 'deliveries'));
  const { clock } = context;
  const onError = reporter(context, 'webhooks');
  return [keep, ...(isOn ? [deliver] : [])].map(
    (work) => (signal) =>
      untilAborted({ clock, signal, pause: retryAfter, onError }, () => ofService(context, work)(signal)),
  );
};

const notaryProcesses = (container: DependencyContainer): readonly Process[] => {
  const { engine } = container.resolve(tokens.context);
  const { notarize } = engine;
  return notarize === null ? [] : [(signal) => engine.exclusively('notary', signal, notarize)];
};

const projectorProcesses = (container: DependencyContainer): readonly Process[] => {
  const onError = reporter(container.resolve(tokens.context), 'spot checks');
  const checks = container.resolve(tokens.spotChecks);
  return [(signal) => runSpotChecks(checks, signal, onError)];
};

const processesByRole = [
  ['projector', projectorProcesses],
  ['reconciler', reconcilerProcesses],
  ['relay', relayProcesses],
  ['webhooks', webhookProcesses],
  ['notary', notaryProcesses],
] as const;

/**
 * Runs all of the work at once. When one part ends or fails, the others are stopped; rejects if one failed.
 */
const sideBySide =
  (work: readonly Process[]): Process =>
  async (signal) => {
    const stop = new AbortController();
    const any = AbortSignal.any([signal, stop.signal]);
    // Each part listens, some with several loops: more than ten are no leak.
    setMaxListeners(0, any);
    const ended = await Promise.allSettled(work.map((part) => part(any).finally(() => stop.abort())));
    for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  };
