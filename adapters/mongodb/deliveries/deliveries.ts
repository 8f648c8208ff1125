import {
  DeliveriesUnavailable,
  type Deliveries,
  type RelayMemory,
} from '../../../application/ports/deliveries.js';
import { MongoAttempts, usualKeep, type MongoAttemptsOptions } from './attempts.js';
import { guardedPort } from '../client/database.js';
import { MongoDeliveryClaims } from './delivery-claims.js';
import { MongoDeliveryEndpoints } from './delivery-endpoints.js';
import { MongoDeliveryLog } from './delivery-log.js';
import { MongoDeliveryWatch } from './delivery-watch.js';
import { MongoDeliveryWrites } from './delivery-writes.js';
import { MongoEndpointGates } from './endpoint-gates.js';
import { rememberedEndpoints, rememberEndpoints } from './relayed-endpoints.js';

/** Deliveries in MongoDB, for any number of processes. */
export class MongoDeliveries implements Deliveries {
  readonly log: MongoDeliveryLog;
  readonly gates: MongoEndpointGates;
  readonly claims: MongoDeliveryClaims;
  readonly relayMemory: RelayMemory;

  constructor(options: MongoAttemptsOptions) {
    const { database, clock, entropy, keep = usualKeep } = options;
    const attempts = new MongoAttempts(options);
    const endpoints = new MongoDeliveryEndpoints(database);
    const watch = new MongoDeliveryWatch({ database, clock });
    const parts = { database, clock, entropy, attempts, endpoints, watch, keep };
    const writes = new MongoDeliveryWrites(parts);
    const guarded = <Port extends object>(port: Port) => guardedPort(DeliveriesUnavailable, port);
    this.log = guarded(new MongoDeliveryLog({ ...parts, writes }));
    this.gates = guarded(new MongoEndpointGates({ ...parts, writes }));
    this.claims = guarded(new MongoDeliveryClaims(parts));
    this.relayMemory = guarded({
      rememberEndpoints: (org, position, known) => rememberEndpoints(database, org, position, known),
      rememberedEndpoints: () => rememberedEndpoints(database),
    });
  }
}
