import type { Deliveries } from '../../../application/ports/deliveries.js';
import type { Database } from '../database.js';
import type { SqliteWriter } from '../writer/writer.js';
import { ClaimBook } from './claim-book.js';
import { SqliteDeliveryClaims } from './delivery-claims.js';
import { SqliteDeliveryLog } from './delivery-log.js';
import { DeliveryWrites } from './delivery-writes.js';
import { SqliteEndpointGates } from './endpoint-gates.js';
import { SqliteRelayMemory } from './relay-memory.js';

/** Deliveries in events.db. Writes share the commits of the log; reads run on the calling thread. */
export class SqliteDeliveries implements Deliveries {
  readonly log: SqliteDeliveryLog;
  readonly gates: SqliteEndpointGates;
  readonly claims: SqliteDeliveryClaims;
  readonly relayMemory: SqliteRelayMemory;

  constructor({ writer, database }: { readonly writer: SqliteWriter; readonly database: Database }) {
    const writes = new DeliveryWrites(writer, database);
    const book = new ClaimBook(database);
    this.log = new SqliteDeliveryLog(database, writes, book);
    this.gates = new SqliteEndpointGates(writes, book);
    this.claims = new SqliteDeliveryClaims(writes, book);
    this.relayMemory = new SqliteRelayMemory(database, writes);
  }
}
