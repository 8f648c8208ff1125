import type { RelayMemory, Deliveries } from '../../../application/ports/deliveries.js';
import type { OrganizationId } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { Database } from '../database.js';
import { DeliveryWrites } from './delivery-writes.js';
import type { SqliteWriter } from '../writer/writer.js';
import { ClaimBook } from './claim-book.js';
import { SqliteDeliveryClaims } from './delivery-claims.js';
import { SqliteDeliveryLog } from './delivery-log.js';
import { SqliteEndpointGates } from './endpoint-gates.js';

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
  const select = database.prepare('select org, endpoints from relayed_endpoints');
  return {
    rememberEndpoints: (org, position, endpoints) =>
      writes.run('rememberEndpoints', {
        org,
        position: Number(position),
        endpoints: JSON.stringify(endpoints),
      }),
    rememberedEndpoints: async () => {
      const rows: readonly { readonly org: OrganizationId; readonly endpoints: string }[] = select.all();
      return new Map(rows.map(({ org, endpoints }) => [org, JSON.parse(endpoints) as WebhookEndpoints]));
    },
  };
};
