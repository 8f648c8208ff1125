import type { OrganizationId } from '../../domain/ids.js';

/** What a key may do. (spec: Authentication) */
export type Scope = 'cards:send' | 'cards:read' | 'contacts:write' | 'contacts:read' | 'webhooks:manage';

/** Who holds the key of a request. `requestsPerMinute` null: the service's default. */
export interface KeyHolder {
  readonly keyId: string;
  readonly org: OrganizationId;
  readonly scopes: readonly Scope[];
  readonly label: string | null;
  readonly requestsPerMinute: number | null;
}

export interface Authenticator {
  /** The holder of a key whose form is right. Throws a DomainError `invalid_key` or `revoked_key`. (decision 51) */
  authenticate(bearer: string): Promise<KeyHolder>;
}
