import {
  DeliveriesUnavailable,
  type Deliveries,
  type RelayMemory,
} from '../../../application/ports/deliveries.js';
import { expiredReason } from '../../../application/ports/delivery-log.js';
import type { EndpointGates } from '../../../application/ports/endpoint-gates.js';
import type { OrganizationId } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import { batchSize } from '../client/documents.js';
import { guardedPort, type MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';
import { countLeftovers } from './attempt-counts.js';
import { MongoAttempts, usualKeep, type MongoAttemptsOptions } from './attempts.js';
import { deliveryEndpoints } from './delivery-endpoints.js';
import { mongoDeliveryLog } from './delivery-log.js';
import { MongoDeliveryWatch } from './delivery-watch.js';
import { deliveryWrites, type DeliveryParts } from './delivery-writes.js';

/** Opens and closes the endpoints, and revokes the claims that may not start any more. */
const endpointGates = (parts: DeliveryParts): EndpointGates => {
  const { database, attempts } = parts;
  const endpoints = deliveryEndpoints(database);
  const { dropSome } = deliveryWrites(parts);
  return {
    ...endpoints.gates,
    upsertEndpoint: async (wanted, now) => {
      const { endpoint } = wanted;
      const became = await endpoints.upsert(wanted, now);
      if (became === 'off') attempts.revoke(endpoint);
      if (became !== 'opening') return;
      const expired = { endpoint: { $eq: endpoint }, expires: { $lte: now } };
      if ((await dropSome(expired, expiredReason)) < batchSize) await endpoints.open(endpoint);
    },
    deleteEndpoint: async (org, endpoint, reason, now) => {
      if (!(await endpoints.delete(org, endpoint, reason, now))) return;
      const of = { endpoint: { $eq: endpoint } };
      attempts.revoke(endpoint);
      await dropSome(of, reason);
      await attempts.revokeClaims(of);
    },
    tripped: async () => {
      await countLeftovers(database);
      return endpoints.gates.tripped();
    },
  };
};

interface RelayedRow {
  readonly _id: OrganizationId;
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
        relayed().updateOne({ _id: { $eq: org }, position: { $lt: position } }, { $set: row });
      if ((await advance()).matchedCount === 1) return;
      if (!(await isInserted(relayed().insertOne({ _id: org, ...row })))) await advance();
    },
    rememberedEndpoints: async () =>
      new Map(
        (await relayed().find().toArray()).map(({ _id, position, endpoints }) => {
          const state: WebhookEndpoints = JSON.parse(endpoints);
          return [_id, { position: BigInt(position), state }];
        }),
      ),
  };
};

/** Deliveries in MongoDB, for any number of processes. */
export const mongoDeliveries = (options: MongoAttemptsOptions): Deliveries => {
  const { database, clock, keep = usualKeep } = options;
  const watch = new MongoDeliveryWatch(database, clock);
  const attempts = new MongoAttempts(options, watch);
  const parts = { ...options, keep, attempts, watch };
  const guarded = <Port extends object>(port: Port) => guardedPort(DeliveriesUnavailable, port);
  return {
    log: guarded(mongoDeliveryLog(parts)),
    gates: guarded(endpointGates(parts)),
    claims: guarded(attempts),
    relayMemory: guarded(relayMemory(database)),
  };
};
