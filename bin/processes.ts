import type { DependencyContainer } from 'tsyringe';
import { queueDueCards, simulateFloor } from '../application/floor.js';
import { runDeliveries } from '../application/deliver-webhooks.js';
import { publishEvents } from '../application/publish-events.js';
import { runReconciler } from '../application/reconcile.js';
import { runRelay } from '../application/relay.js';
import { untilAborted } from '../application/until-aborted.js';
import { tokens } from './container.js';
import type { Role } from './roles.js';

/** Something that runs until the signal aborts. */
export type Process = (signal: AbortSignal) => Promise<void>;

const lookForDueCards = 5_000;
/**
 * A card that is due when it is accepted stays pending for so long. A demo does not wait. (decision 32: at
 * most 60 s, together with the time between two looks)
 */
const pendingFor = 20_000;

/**
 * What a role runs beside HTTP. Of those that change what all share one process works at a time, the others
 * stand by.
 */
export const processesOf = (role: Role, from: DependencyContainer): readonly Process[] => {
  const { settings, engine, clock, log } = from.resolve(tokens.given);
  const report = (process: string) => (error: unknown) =>
    log.error({ err: error, process }, 'process failed, trying again');
  const plays = (part: Role): boolean => role === 'all' || role === part;
  const processes: Process[] = [];
  if (plays('projector') && engine.project !== null) processes.push(engine.project);
  if (plays('reconciler')) {
    const floor = from.resolve(tokens.floor);
    const { floorSimulation } = settings;
    const rest = floorSimulation === null ? pendingFor : 0;
    const work = [
      (signal: AbortSignal) =>
        untilAborted({ clock, signal, pause: lookForDueCards, onError: report('due cards') }, () =>
          queueDueCards(floor, rest),
        ),
    ];
    if (floorSimulation !== null)
      work.push((signal) =>
        untilAborted({ clock, signal, pause: floorSimulation, onError: report('floor simulation') }, () =>
          simulateFloor(floor),
        ),
      );
    // Where every append is all or nothing, nothing is ever half-done.
    if (!engine.store.atomic)
      work.push((signal) => runReconciler(from.resolve(tokens.reconciling), signal, report('reconciler')));
    processes.push((signal) => engine.exclusively('reconciler', signal, together(work)));
  }
  if (plays('relay')) {
    const { publicStream, store, checkpoints } = engine;
    const work = [(signal: AbortSignal) => runRelay(from.resolve(tokens.relaying), signal, report('relay'))];
    if (publicStream !== null)
      work.push((signal) =>
        publishEvents({ store, checkpoints, publicStream, clock }, signal, report('public stream')),
      );
    processes.push((signal) => engine.exclusively('relay', signal, together(work)));
  }
  if (plays('webhooks')) {
    const delivering = from.resolve(tokens.delivering);
    processes.push(async (signal) => {
      await runDeliveries(delivering, signal, report('webhooks'));
      await delivering.sender.close();
    });
  }
  return processes;
};

/** Where one part fails the others are stopped too, and all begin again. */
const together =
  (work: readonly Process[]): Process =>
  async (signal) => {
    const stop = new AbortController();
    const any = AbortSignal.any([signal, stop.signal]);
    const stopped = await Promise.allSettled(work.map((part) => part(any).finally(() => stop.abort())));
    for (const outcome of stopped) if (outcome.status === 'rejected') throw outcome.reason;
  };
