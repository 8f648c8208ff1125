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
import type { MongoDatabase } from '../client/database.js';
import { earliestOf, type MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { changed, deliveryRows } from './delivery-rows.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';

/**
 * Notes each attempt's result for its endpoint in the delivery until it is counted, and counts it once: a
 * crash between the two neither loses nor doubles a count.
 */
export class MongoDeliveryClaims implements DeliveryClaims {
  constructor(
    private readonly options: {
      readonly database: MongoDatabase;
      readonly attempts: MongoAttempts;
      readonly endpoints: MongoDeliveryEndpoints;
      readonly watch: MongoDeliveryWatch;
    },
  ) {}

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    await countLeftovers(this.options.database);
    const first = await earliestOf(this.options.database, this.options.endpoints);
    return new Map([...first].map(([endpoint, { claimable }]) => [endpoint, claimable]));
  }

  async hasten(now: Milliseconds, latest: Milliseconds): Promise<void> {
    const late = { status: 'pending' as const, due: { $gt: latest } };
    await (await deliveryRows(this.options.database)).updateMany(late, changed('changed', { due: now }, now));
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    return this.options.attempts.claim(limits, now);
  }

  mayStart(claim: DeliveryClaim): boolean {
    return this.options.attempts.mayStart(claim);
  }

  async release(claim: DeliveryClaim): Promise<void> {
    return this.options.attempts.release(claim);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    const recorded = await this.options.attempts.record(claim, attempt, outcome, disableAfter);
    if (recorded.recorded) await this.options.watch.announce([claim.delivery]);
    return recorded;
  }
}
