import type { Deliveries, RelayMemory } from '../../../application/ports/deliveries.js';
import type { Milliseconds, OrganizationId, Uuid } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { Database, Statement } from '../database.js';
import { DeliveryWrites, idsOf } from './delivery-writes.js';
import type { SqliteWriter } from '../writer/writer.js';
import { ClaimBook } from './claim-book.js';
import { SqliteDeliveryLog } from './delivery-log.js';
import type {
  AttemptOutcome,
  DeliveryClaim,
  DeliveryClaims,
  EndpointClaims,
  Recorded,
} from '../../../application/ports/delivery-claims.js';
import type { DeliveryAttempt, Page } from '../../../application/ports/delivery-log.js';
import type {
  DeliveryEndpoint,
  EndpointAddress,
  EndpointGates,
  EndpointHealth,
  TrippedEndpoint,
  WatchedEndpoint,
} from '../../../application/ports/endpoint-gates.js';

/** The endpoints in events.db, and in memory as the claims need them. */
class SqliteEndpointGates implements EndpointGates {
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

/** Claims in memory; the attempts made under them in events.db. */
class SqliteDeliveryClaims implements DeliveryClaims {
  constructor(
    private readonly writes: DeliveryWrites,
    private readonly book: ClaimBook,
  ) {}

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    return this.book.dueTimes();
  }

  async hasten(now: Milliseconds, latest: Milliseconds): Promise<void> {
    while (await this.writes.run('hastenDeliveries', { now, latest }));
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return new Map([...limits].map(([endpoint, limit]) => [endpoint, this.book.claim(endpoint, now, limit)]));
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.book.mayStart(claim);
  }

  async release(claim: DeliveryClaim): Promise<void> {
    if (this.book.holds(claim)) this.book.remove(claim);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    if (!this.book.holds(claim)) return { recorded: false, tripped: null };
    const { delivery, number } = claim;
    const { endpoint, enabledAt } = claim.endpoint;
    const input = {
      delivery,
      endpoint,
      number,
      attempt: JSON.stringify(attempt),
      at: attempt.at,
      failure: attempt.error ?? `HTTP ${attempt.httpStatus}`,
      outcome,
      enabledAt,
      disableAfter,
    };
    const recorded = await this.writes.run('recordAttempt', input, (row) => {
      this.book.remove(claim);
      if (row !== null) this.book.setEndpoint(row);
    });
    if (recorded === null) return { recorded: false, tripped: null };
    this.writes.publish('attempted', [delivery]);
    const tripped = recorded.state === 'tripped' ? this.book.trippedEndpoint(endpoint) : null;
    return { recorded: true, tripped };
  }
}

/** Deliveries in events.db. Writes share the commits of the log; reads run on the calling thread. */
export class SqliteDeliveries implements Deliveries {
  readonly log: SqliteDeliveryLog;
  readonly gates: SqliteEndpointGates;
  readonly claims: SqliteDeliveryClaims;
  readonly relayMemory: RelayMemory;

  constructor({ writer, database }: { readonly writer: SqliteWriter; readonly database: Database }) {
    const writes = new DeliveryWrites(writer, database);
    const book = new ClaimBook(database);
    this.log = new SqliteDeliveryLog(database, writes, book);
    this.gates = new SqliteEndpointGates(database, writes, book);
    this.claims = new SqliteDeliveryClaims(writes, book);
    this.relayMemory = relayMemoryIn(database, writes);
  }
}

const relayMemoryIn = (database: Database, writes: DeliveryWrites): RelayMemory => {
  const select = database.prepare('select org, position, endpoints from relayed_endpoints');
  return {
    rememberEndpoints: (org, position, endpoints) =>
      writes.run('rememberEndpoints', {
        org,
        position: Number(position),
        endpoints: JSON.stringify(endpoints),
      }),
    rememberedEndpoints: async () => {
      const rows: readonly {
        readonly org: OrganizationId;
        readonly position: number;
        readonly endpoints: string;
      }[] = select.all();
      return new Map(
        rows.map(({ org, position, endpoints }) => {
          const state: WebhookEndpoints = JSON.parse(endpoints);
          return [org, { position: BigInt(position), state }];
        }),
      );
    },
  };
};
