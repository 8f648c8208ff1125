import type {
  DeliveryEndpoint,
  EndpointAddress,
  EndpointGates,
  EndpointHealth,
  TrippedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { ClaimBook } from './claim-book.js';
import { idsOf, type DeliveryWrites } from './delivery-writes.js';

/** The endpoints in events.db, and in memory as the claims need them. */
export class SqliteEndpointGates implements EndpointGates {
  constructor(
    private readonly writes: DeliveryWrites,
    private readonly book: ClaimBook,
  ) {}

  async upsertEndpoint(wanted: DeliveryEndpoint, now: Milliseconds): Promise<void> {
    const { secrets, ...rest } = wanted;
    const input = { ...rest, secrets: JSON.stringify(secrets), now };
    const { dropped } = await this.writes.run('upsertEndpoint', input, ({ endpoint }) => {
      if (endpoint !== null) this.book.setEndpoint(endpoint);
    });
    this.writes.publish('changed', idsOf(dropped));
  }

  async addresses(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointAddress>> {
    return new Map(
      endpoints.flatMap((id) => {
        const known = this.book.endpoint(id);
        return known === null ? [] : [[id, { org: known.org, url: known.url }]];
      }),
    );
  }

  async resetFailures(endpoint: Uuid): Promise<void> {
    await this.writes.run('resetFailures', endpoint, () => this.book.resetFailures(endpoint));
  }

  async deleteEndpoint(
    org: OrganizationId,
    endpoint: Uuid,
    reason: string,
    now: Milliseconds,
  ): Promise<void> {
    this.book.deleteEndpoint(org, endpoint);
    const dropped = await this.writes.run('deleteEndpoint', { org, endpoint, reason, now }, () =>
      this.book.forget(endpoint),
    );
    this.writes.publish('changed', idsOf(dropped));
  }

  async tripped(): Promise<readonly TrippedEndpoint[]> {
    return this.book.tripped();
  }

  async health(org: OrganizationId): Promise<ReadonlyMap<Uuid, EndpointHealth>> {
    return this.book.health(org);
  }
}
