import {
  DeliveriesUnavailable,
  type Deliveries,
  type RelayMemory,
} from '../../../application/ports/deliveries.js';
import type { DeliveryClaims } from '../../../application/ports/delivery-claims.js';
import { expiredReason, type DeliveryLog } from '../../../application/ports/delivery-log.js';
import type { EndpointGates } from '../../../application/ports/endpoint-gates.js';
import { OrganizationId } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import { batchSize } from '../client/chunks.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';
import { countLeftovers } from './attempt-counts.js';
import { MongoAttempts, usualKeep, type MongoAttemptsOptions } from './attempts.js';
import { earliestOf, MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { mongoDeliveryLog, type DeliveryParts } from './delivery-log.js';
import { changed, deliveryRows } from './delivery-rows.js';
import { MongoDeliveryWatch } from './delivery-watch.js';
import { MongoDeliveryWrites } from './delivery-writes.js';

/** Opens and closes the endpoints, and revokes the claims that may not start any more. */
const endpointGates = ({ database, endpoints, attempts, writes }: DeliveryParts): EndpointGates => ({
  upsertEndpoint: async (wanted, now) => {
    const { endpoint } = wanted;
    const became = await endpoints.upsert(wanted, now);
    if (became === 'off') attempts.revoke(endpoint);
    if (became !== 'opening') return;
    const expired = { endpoint: { $eq: endpoint as string }, expires: { $lte: now } };
    if ((await writes.dropSome(expired, expiredReason)) < batchSize) await endpoints.open(endpoint);
  },
  deleteEndpoint: async (org, endpoint, reason, now) => {
    if (!(await endpoints.delete(org, endpoint, reason, now))) return;
    const of = { endpoint: { $eq: endpoint as string } };
    attempts.revoke(endpoint);
    await writes.dropSome(of, reason);
    await attempts.revokeClaims(of);
  },
  tripped: async () => {
    await countLeftovers(database);
    return endpoints.tripped();
  },
  addresses: (of) => endpoints.addresses(of),
  resetFailures: (endpoint) => endpoints.resetFailures(endpoint),
  health: (org) => endpoints.health(org),
  watched: (inactiveOnly, page) => endpoints.watched(inactiveOnly, page),
});

/**
 * Notes each attempt's result for its endpoint in the delivery until it is counted, and counts it once: a
 * crash between the two neither loses nor doubles a count.
 */
const deliveryClaims = ({ database, attempts, endpoints, watch }: DeliveryParts): DeliveryClaims => ({
  dueTimes: async () => {
    await countLeftovers(database);
    const first = await earliestOf(database, endpoints);
    return new Map([...first].map(([endpoint, { claimable }]) => [endpoint, claimable]));
  },
  hasten: async (now, latest) => {
    const late = { status: 'pending' as const, due: { $gt: latest } };
    await (await deliveryRows(database)).updateMany(late, changed('changed', { due: now }, now));
    await attempts.shortenClaims();
  },
  claim: (limits, now) => attempts.claim(limits, now),
  mayStart: (claim) => attempts.mayStart(claim),
  release: (claim) => attempts.release(claim),
  record: async (claim, attempt, outcome, disableAfter) => {
    const recorded = await attempts.record(claim, attempt, outcome, disableAfter);
    if (recorded.recorded) await watch.announce([claim.delivery]);
    return recorded;
  },
});

interface RelayedRow {
  readonly _id: string;
  readonly position: bigint;
  /** JSON. */
  readonly endpoints: string;
}

const relayMemory = (database: MongoDatabase): RelayMemory => {
  const relayed = () => database.collection<RelayedRow>('relayed_endpoints');
  return {
    rememberEndpoints: async (org, position, endpoints) => {
      const row = { position, endpoints: JSON.stringify(endpoints) };
      const advance = () =>
        relayed().updateOne({ _id: { $eq: org as string }, position: { $lt: position } }, { $set: row });
      if ((await advance()).matchedCount === 1) return;
      if (!(await isInserted(relayed().insertOne({ _id: org, ...row })))) await advance();
    },
    rememberedEndpoints: async () =>
      new Map(
        (await relayed().find().toArray()).map(({ _id, position, endpoints }) => {
          const state: WebhookEndpoints = JSON.parse(endpoints);
          return [OrganizationId.parse(_id), { position: BigInt(position), state }];
        }),
      ),
  };
};

/** Deliveries in MongoDB, for any number of processes. */
export class MongoDeliveries implements Deliveries {
  readonly log: DeliveryLog;
  readonly gates: EndpointGates;
  readonly claims: DeliveryClaims;
  readonly relayMemory: RelayMemory;

  constructor(options: MongoAttemptsOptions) {
    const { database, clock, entropy, keep = usualKeep } = options;
    const attempts = new MongoAttempts(options);
    const endpoints = new MongoDeliveryEndpoints(database);
    const watch = new MongoDeliveryWatch(database, clock);
    const stored = { database, clock, entropy, attempts, endpoints, watch, keep };
    const parts = { ...stored, writes: new MongoDeliveryWrites(stored) };
    const guarded = <Port extends object>(port: Port) => guardedPort(DeliveriesUnavailable, port);
    this.log = guarded(mongoDeliveryLog(parts));
    this.gates = guarded(endpointGates(parts));
    this.claims = guarded(deliveryClaims(parts));
    this.relayMemory = guarded(relayMemory(database));
  }
}
