import { once, setMaxListeners } from 'node:events';
import type { DependencyContainer } from 'tsyringe';
import { readContact } from '../../adapters/http/api/contact-fields.js';
import { runDeliveries } from '../../application/webhooks/deliver-webhooks.js';
import { keepDeliveries } from '../../application/webhooks/keep-deliveries.js';
import { holdWithdrawn } from '../../application/organizations/hold-withdrawn.js';
import { queueDueCards, simulateFloor } from '../../application/cards/floor.js';
import { publishEvents } from '../../application/log/publish-events.js';
import { runReconciler } from '../../application/money/reconciler.js';
import { sweepArtwork } from '../../application/organizations/sweep-artwork.js';
import { runImports } from '../../application/contacts/run-imports.js';
import { runSpotChecks } from '../../application/projecting/spot-check.js';
import { runRelay } from '../../application/webhooks/relay.js';
import { compareKeys } from '../../application/personal/unreadable.js';
import { runShredder } from '../../application/personal/shred.js';
import { FinalError } from '../../domain/errors.js';
import { untilAborted } from '../../application/timing/until-aborted.js';
import type { Milliseconds } from '../../domain/ids.js';
import type { ProcessContext } from './engine.js';
import { reporter } from './reporter.js';
import { plays, type Role } from './roles.js';
import { part } from './container.js';

/** Something that runs until the signal aborts. */
export type Process = (signal: AbortSignal) => Promise<void>;

/** The loops of a role beside HTTP and the projector. */
export const processesOf = (role: Role, container: DependencyContainer): readonly Process[] => [
  logGuard(part(container, 'context')),
  (signal) => part(container, 'unfinished').run(signal),
  ...processesByRole.filter(([name]) => plays(role, name)).flatMap(([, processes]) => processes(container)),
];

const guardInterval: Milliseconds = 30_000;

/**
 * Ends the process if the log was replaced: followers notice that by themselves, but `api` goes on writing to
 * whatever is there.
 */
const logGuard =
  ({ engine, clock, fail }: ProcessContext): Process =>
  async (signal) => {
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

/** Work that goes on by itself, and reports its failures under a name. */
const loop =
  <Deps>(
    context: ProcessContext,
    name: string,
    run: (deps: Deps, signal: AbortSignal, report: (error: unknown) => void) => Promise<void>,
    deps: NoInfer<Deps>,
  ): Process =>
  (signal) =>
    run(deps, signal, reporter(context, name));

const repeated =
  (
    context: ProcessContext,
    name: string,
    pause: Milliseconds,
    work: (signal: AbortSignal) => Promise<unknown>,
  ): Process =>
  (signal) =>
    untilAborted({ clock: context.clock, signal, pause, onError: reporter(context, name) }, () =>
      work(signal),
    );

const reconcilerProcesses = (container: DependencyContainer): readonly Process[] => {
  const context = part(container, 'context');
  const { settings, engine, clock } = context;
  const { hookCalls, signInRecords, importRecords, requests } = engine;
  const { store, personalKeys, personalKeyStore: place, unreadable } = engine;
  const { floorSimulation } = settings;
  const floor = part(container, 'floor');
  const reconciler = part(container, 'reconciler');
  const waits = floorSimulation === null ? pendingFor : 0;
  const work = [
    repeated(context, 'due cards', lookForDueCards, () => queueDueCards(floor, waits)),
    repeated(context, 'withdrawn designs', lookForWithdrawn, (signal) => holdWithdrawn(floor, signal)),
    repeated(context, 'unused pictures', sweepInterval, () => sweepArtwork({ ...engine, clock })),
    repeated(context, 'old hook calls', removalInterval, (signal) =>
      hookCalls.removeOld(clock.now() - settings.hookCallKeep, signal),
    ),
    repeated(context, 'ended sessions and imports', removalInterval, async () => {
      await signInRecords.removeEnded();
      await importRecords.removeEnded();
    }),
    repeated(context, 'old requests', removalInterval, (signal) =>
      requests.removeOld(clock.now() - settings.requestLogKeep, signal),
    ),
  ];
  if (floorSimulation !== null)
    work.push(repeated(context, 'floor simulation', floorSimulation, () => simulateFloor(floor)));
  // If every append is all or nothing, nothing is ever half-done.
  if (engine.hasServers) work.push(loop(context, 'reconciler', runReconciler, reconciler));
  const shredding = { store, personalKeys, place, importRecords, clock };
  const comparing = { store, keys: personalKeys, unreadable, clock };
  const onKeys = [
    loop(context, 'shredder', runShredder, shredding),
    repeated(context, 'comparison of keys', settings.logScrubEvery, (signal) =>
      compareKeys(comparing, signal),
    ),
  ];
  const importing = { ...reconciler, personalKeys, importRecords, readContact };
  const importer = loop(context, 'imports', runImports, importing);
  return [
    (signal) => engine.exclusively('reconciler', signal, ofService(context, sideBySide(work))),
    (signal) => engine.exclusively('shredder', signal, sideBySide(onKeys)),
    (signal) => engine.exclusively('imports', signal, ofService(context, importer)),
  ];
};

const relayProcesses = (container: DependencyContainer): readonly Process[] => {
  const context = part(container, 'context');
  const { engine, clock } = context;
  const { publicStream, store, checkpoints } = engine;
  const work = [loop(context, 'relay', runRelay, part(container, 'relay'))];
  if (publicStream !== null)
    work.push(loop(context, 'public stream', publishEvents, { store, checkpoints, publicStream, clock }));
  return [(signal) => engine.exclusively('relay', signal, ofService(context, sideBySide(work)))];
};

const webhookProcesses = (container: DependencyContainer): readonly Process[] => {
  const context = part(container, 'context');
  const delivery = part(container, 'delivery');
  const deliver: Process = async (signal) => {
    await loop(context, 'webhooks', runDeliveries, delivery)(signal);
    await delivery.sender.close();
  };
  const isOn = context.settings.webhooks.delivery;
  if (!isOn) context.log.warn('WEBHOOK_DELIVERY is off: deliveries are kept, and nothing is sent');
  const keep = loop(context, 'deliveries', keepDeliveries, part(container, 'upkeep'));
  return [keep, ...(isOn ? [deliver] : [])].map((work) =>
    repeated(context, 'webhooks', retryAfter, ofService(context, work)),
  );
};

const notaryProcesses = (container: DependencyContainer): readonly Process[] => {
  const { engine } = part(container, 'context');
  const { notarize } = engine;
  return notarize === null ? [] : [(signal) => engine.exclusively('notary', signal, notarize)];
};

const projectorProcesses = (container: DependencyContainer): readonly Process[] => [
  loop(part(container, 'context'), 'spot checks', runSpotChecks, part(container, 'spotChecks')),
];

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
    const ended = await Promise.allSettled(work.map((each) => each(any).finally(() => stop.abort())));
    for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  };
