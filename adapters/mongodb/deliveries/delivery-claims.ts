import { DeliveriesUnavailable } from '../../../application/ports/deliveries.js';
import type {
  AttemptOutcome,
  DeliveryClaim,
  DeliveryClaims,
  EndpointClaims,
  Recorded,
} from '../../../application/ports/delivery-claims.js';
import type { DeliveryAttempt } from '../../../application/ports/delivery-log.js';
import type { Milliseconds, Uuid } from '../../../domain/ids.js';
import { countLeftovers } from './attempt-counts.js';
import type { MongoAttempts } from './attempts.js';
import { guarded, type MongoDatabase } from '../client/database.js';
import { earliestOf, type MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { changed, deliveryRows } from './delivery-rows.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';

/**
 * Notes each attempt's result for its endpoint in the delivery until it is counted, and counts it once: a
 * crash between the two neither loses nor doubles a count.
 */
export class MongoDeliveryClaims implements DeliveryClaims {
  readonly #database: MongoDatabase;
  readonly #attempts: MongoAttempts;
  readonly #endpoints: MongoDeliveryEndpoints;
  readonly #watch: MongoDeliveryWatch;

  constructor({
    database,
    attempts,
    endpoints,
    watch,
  }: {
    readonly database: MongoDatabase;
    readonly attempts: MongoAttempts;
    readonly endpoints: MongoDeliveryEndpoints;
    readonly watch: MongoDeliveryWatch;
  }) {
    this.#database = database;
    this.#attempts = attempts;
    this.#endpoints = endpoints;
    this.#watch = watch;
  }

  dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    return guarded(DeliveriesUnavailable, async () => {
      await countLeftovers(this.#database);
      const first = await earliestOf(this.#database, this.#endpoints);
      return new Map([...first].map(([endpoint, { claimable }]) => [endpoint, claimable]));
    });
  }

  hasten(now: Milliseconds, latest: Milliseconds): Promise<void> {
    return guarded(DeliveriesUnavailable, async () => {
      const late = { status: 'pending' as const, due: { $gt: latest } };
      await (await deliveryRows(this.#database)).updateMany(late, changed('changed', { due: now }, now));
    });
  }

  claim(limits: ReadonlyMap<Uuid, number>, now: Milliseconds): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return guarded(DeliveriesUnavailable, () => this.#attempts.claim(limits, now));
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.#attempts.mayStart(claim);
  }

  release(claim: DeliveryClaim): Promise<void> {
    return guarded(DeliveriesUnavailable, () => this.#attempts.release(claim));
  }

  record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    return guarded(DeliveriesUnavailable, async () => {
      const recorded = await this.#attempts.record(claim, attempt, outcome, disableAfter);
      if (recorded.recorded) await this.#watch.announce([claim.delivery]);
      return recorded;
    });
  }
}
