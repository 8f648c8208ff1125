import type { DependencyContainer } from 'tsyringe';
import { every, queueDueCards, simulateFloor } from '../application/floor.js';
import { runDeliveries } from '../application/deliver-webhooks.js';
import { runReconciler } from '../application/reconcile.js';
import { runRelay } from '../application/relay.js';
import { tokens } from './container.js';

export const roles = ['api', 'projector', 'relay', 'webhooks', 'reconciler', 'all'] as const;
export type Role = (typeof roles)[number];

/** Something that runs until the signal aborts. */
export type Process = (signal: AbortSignal) => Promise<void>;

const lookForDueCards = 5_000;
/** A card that is due when it is accepted stays pending for so long. A demo does not wait. (decision 32: at most 60 s, together with the time between two looks) */
const pendingFor = 20_000;

/** What a role runs beside HTTP. */
export const processesOf = (role: Role, from: DependencyContainer): readonly Process[] => {
  const { settings, engine, log } = from.resolve(tokens.given);
  const report = (process: string) => (error: unknown) => log.error({ err: error, process }, 'process failed, trying again');
  const processes: Process[] = [];
  if (role === 'all' || role === 'reconciler') {
    const floor = from.resolve(tokens.floor);
    const { floorSimulation } = settings;
    const rest = floorSimulation === null ? pendingFor : 0;
    processes.push((signal) => every(floor, lookForDueCards, signal, () => queueDueCards(floor, rest), report('due cards')));
    if (floorSimulation !== null) processes.push((signal) => every(floor, floorSimulation, signal, () => simulateFloor(floor), report('floor simulation')));
    // Where every append is all or nothing, nothing is ever half-done.
    if (!engine.store.atomic) processes.push((signal) => runReconciler(from.resolve(tokens.reconciling), signal, report('reconciler')));
  }
  if (role === 'all' || role === 'relay') processes.push((signal) => runRelay(from.resolve(tokens.relaying), signal, report('relay')));
  if (role === 'all' || role === 'webhooks') {
    const delivering = from.resolve(tokens.delivering);
    processes.push(async (signal) => {
      await runDeliveries(delivering, signal, report('webhooks'));
      await delivering.sender.close();
    });
  }
  return processes;
};
