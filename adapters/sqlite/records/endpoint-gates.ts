import type {
  DeliveryEndpoint,
  EndpointAddress,
  EndpointGates,
  EndpointHealth,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';
import type { Page } from '../../../application/ports/delivery-log.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { Database, Statement } from '../database.js';
import type { ClaimBook } from './claim-book.js';
import { idsOf, type DeliveryWrites } from './delivery-writes.js';

/** The endpoints in events.db, and in memory as the claims need them. */
export class SqliteEndpointGates implements EndpointGates {
  readonly #all: Statement;
  readonly #inactive: Statement;

  constructor(
    database: Database,
    private readonly writes: DeliveryWrites,
    private readonly book: ClaimBook,
  ) {
    this.#all = database.prepare(
      "select endpoint from delivery_targets where endpoint > ? and state <> 'closed' order by endpoint limit ?",
    );
    this.#inactive = database.prepare(
      "select endpoint from delivery_targets where endpoint > ? and state in ('off', 'tripped') order by endpoint limit ?",
    );
  }

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

  async watched(inactiveOnly: boolean, { startingAfter, limit }: Page): Promise<readonly WatchedEndpoint[]> {
    const rows: readonly { readonly endpoint: string }[] = (inactiveOnly ? this.#inactive : this.#all).all(
      startingAfter ?? '',
      limit,
    );
    return rows.flatMap(({ endpoint }) => this.book.watched(endpoint) ?? []);
  }
}
