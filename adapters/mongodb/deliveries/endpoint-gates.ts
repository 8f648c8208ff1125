import { DeliveriesUnavailable } from '../../../application/ports/deliveries.js';
import { expiredReason, type Page } from '../../../application/ports/delivery-log.js';
import type {
  DeliveryEndpoint,
  EndpointAddress,
  EndpointGates,
  EndpointHealth,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import { countLeftovers } from './attempt-counts.js';
import type { MongoAttempts } from './attempts.js';
import { batchSize } from '../client/chunks.js';
import { guarded, type MongoDatabase } from '../client/database.js';
import type { MongoDeliveryEndpoints } from './delivery-endpoints.js';
import type { MongoDeliveryWrites, MongoDeliveryWritesOptions } from './delivery-writes.js';

/** Opens and closes the endpoints, and revokes the claims that may not start any more. */
export class MongoEndpointGates implements EndpointGates {
  readonly #database: MongoDatabase;
  readonly #attempts: MongoAttempts;
  readonly #endpoints: MongoDeliveryEndpoints;
  readonly #writes: MongoDeliveryWrites;

  constructor({
    database,
    attempts,
    endpoints,
    writes,
  }: MongoDeliveryWritesOptions & {
    readonly attempts: MongoAttempts;
    readonly writes: MongoDeliveryWrites;
  }) {
    this.#database = database;
    this.#attempts = attempts;
    this.#endpoints = endpoints;
    this.#writes = writes;
  }

  upsertEndpoint(wanted: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    return guarded(DeliveriesUnavailable, async () => {
      const { endpoint } = wanted;
      const became = await this.#endpoints.upsert(wanted, now);
      if (became === 'off') this.#attempts.revoke(endpoint);
      if (became !== 'opening') return;
      const expired = { endpoint: { $eq: endpoint as string }, expires: { $lte: now } };
      if ((await this.#writes.dropSome(expired, expiredReason)) < batchSize)
        await this.#endpoints.open(endpoint);
    });
  }

  addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>> {
    return guarded(DeliveriesUnavailable, () => this.#endpoints.addresses(endpoints));
  }

  resetFailures(endpoint: Uuid): Promise<void> {
    return guarded(DeliveriesUnavailable, () => this.#endpoints.resetFailures(endpoint));
  }

  deleteEndpoint(org: OrganizationId, endpoint: Uuid, reason: string, now: Milliseconds): Promise<void> {
    return guarded(DeliveriesUnavailable, async () => {
      if (!(await this.#endpoints.delete(org, endpoint, reason, now))) return;
      this.#attempts.revoke(endpoint);
      await this.#writes.dropSome({ endpoint: { $eq: endpoint } }, reason);
      await this.#attempts.revokeClaims({ endpoint: { $eq: endpoint as string } });
    });
  }

  tripped(): Promise<readonly TrippedEndpoint[]> {
    return guarded(DeliveriesUnavailable, async () => {
      await countLeftovers(this.#database);
      return this.#endpoints.tripped();
    });
  }

  health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return guarded(DeliveriesUnavailable, () => this.#endpoints.health(org));
  }

  watched(inactiveOnly: boolean, page: Page): Promise<readonly WatchedEndpoint[]> {
    return guarded(DeliveriesUnavailable, () => this.#endpoints.watched(inactiveOnly, page));
  }
}
