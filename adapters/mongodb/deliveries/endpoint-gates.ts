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
import type { MongoDeliveryWrites, MongoDeliveryWritesOptions } from './delivery-writes.js';

/** Opens and closes the endpoints, and revokes the claims that may not start any more. */
export class MongoEndpointGates implements EndpointGates {
  constructor(
    private readonly options: MongoDeliveryWritesOptions & {
      readonly attempts: MongoAttempts;
      readonly writes: MongoDeliveryWrites;
    },
  ) {}

  async upsertEndpoint(wanted: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    const { endpoint } = wanted;
    const became = await this.options.endpoints.upsert(wanted, now);
    if (became === 'off') this.options.attempts.revoke(endpoint);
    if (became !== 'opening') return;
    const expired = { endpoint: { $eq: endpoint as string }, expires: { $lte: now } };
    if ((await this.options.writes.dropSome(expired, expiredReason)) < batchSize)
      await this.options.endpoints.open(endpoint);
  }

  async addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>> {
    return this.options.endpoints.addresses(endpoints);
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    return this.options.endpoints.resetFailures(endpoint);
  }

  async deleteEndpoint(
    org: OrganizationId,
    endpoint: Uuid,
    reason: string,
    now: Milliseconds,
  ): Promise<void> {
    if (!(await this.options.endpoints.delete(org, endpoint, reason, now))) return;
    this.options.attempts.revoke(endpoint);
    await this.options.writes.dropSome({ endpoint: { $eq: endpoint } }, reason);
    await this.options.attempts.revokeClaims({ endpoint: { $eq: endpoint as string } });
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    await countLeftovers(this.options.database);
    return this.options.endpoints.tripped();
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return this.options.endpoints.health(org);
  }

  async watched(inactiveOnly: boolean, page: Page): Promise<readonly WatchedEndpoint[]> {
    return this.options.endpoints.watched(inactiveOnly, page);
  }
}
