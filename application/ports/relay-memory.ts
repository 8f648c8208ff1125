import type { OrganizationId } from '../../domain/ids.js';
import type { WebhookEndpoints } from '../../domain/webhook-endpoints.js';

/** What the relay knows of the endpoints at its place in the log, so that it need not read their streams. */
export interface RelayMemory {
  /**
   * Keeps what the relay knows of an organization's endpoints after the event at `position`. An older
   * position changes nothing.
   */
  rememberEndpoints(org: OrganizationId, position: bigint, endpoints: WebhookEndpoints): Promise<void>;

  /** What the relay knew of every organization's endpoints. */
  rememberedEndpoints(): Promise<ReadonlyMap<OrganizationId, WebhookEndpoints>>;
}
