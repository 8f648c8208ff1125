import type { RelayMemory } from '../../../application/ports/relay-memory.js';
import type { OrganizationId } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { Database } from '../database.js';
import type { DeliveryWrites } from './delivery-writes.js';

export class SqliteRelayMemory implements RelayMemory {
  readonly #database: Database;
  readonly #writes: DeliveryWrites;

  constructor(database: Database, writes: DeliveryWrites) {
    this.#database = database;
    this.#writes = writes;
  }

  async rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void> {
    const input = { org, position: Number(position), endpoints: JSON.stringify(endpoints) };
    await this.#writes.run('rememberEndpoints', input);
  }

  async rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>> {
    const rows: readonly { readonly org: string; readonly endpoints: string }[] = this.#database
      .prepare('select org, endpoints from relayed_endpoints')
      .all();
    return new Map(
      rows.map(({ org, endpoints }) => [org as OrganizationId, JSON.parse(endpoints) as WebhookEndpoints]),
    );
  }
}
