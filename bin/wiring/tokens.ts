import type { DependencyContainer, InjectionToken } from 'tsyringe';
import type { HttpServer } from '../../adapters/http/server/server.js';
import type { AdministrationDeps } from '../../application/organizations/administer.js';
import type { DeliveryDeps } from '../../application/webhooks/deliver-webhooks.js';
import type { UpkeepDeps } from '../../application/webhooks/keep-deliveries.js';
import type { FloorDeps } from '../../application/cards/floor.js';
import type { PeopleDeps } from '../../application/access/people.js';
import type { ReconcilerDeps } from '../../application/money/reconciler.js';
import type { RelayDeps } from '../../application/webhooks/relay.js';
import type { SpotCheckDeps } from '../../application/projecting/spot-check.js';
import type { UnfinishedWork } from '../../application/money/unfinished.js';
import type { ProcessContext } from './process-context.js';

export interface Listeners {
  /** The listener for clients. */
  readonly open: HttpServer;
  /** The operator's own; null if the operator is served by `open`. */
  readonly operator: HttpServer | null;
}

const token = <T>(name: string): InjectionToken<T> => Symbol(name);

/** The container's contents, by name and type. */
export const tokens = {
  context: token<ProcessContext>('ProcessContext'),
  listeners: token<Listeners>('Listeners'),
  administration: token<AdministrationDeps>('AdministrationDeps'),
  people: token<PeopleDeps>('PeopleDeps'),
  floor: token<FloorDeps>('FloorDeps'),
  reconciler: token<ReconcilerDeps>('ReconcilerDeps'),
  relay: token<RelayDeps>('RelayDeps'),
  /** Held only if the role delivers webhooks. */
  delivery: token<DeliveryDeps>('DeliveryDeps'),
  /** Held only if the role projects. */
  spotChecks: token<SpotCheckDeps>('SpotCheckDeps'),
  upkeep: token<UpkeepDeps>('UpkeepDeps'),
  unfinished: token<UnfinishedWork>('UnfinishedWork'),
} as const;

/** Puts a finished part of the graph into the container. */
export const hold = <T>(container: DependencyContainer, name: InjectionToken<T>, part: NoInfer<T>): void => {
  container.register(name, { useValue: part });
};
