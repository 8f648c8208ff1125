import { apiKey, type KeyScope } from '../domain/api-key.js';
import type { Actor } from '../domain/events.js';
import { idOf, type Instant } from '../domain/ids.js';
import { house } from '../domain/members.js';
import { projection } from './projection.js';

export interface ApiKeyDocument {
  readonly org: string;
  readonly id: string;
  readonly label: string | null;
  readonly scopes: readonly KeyScope[];
  readonly createdAt: Instant;
  readonly by: Actor;
  /** Null: the service's default. */
  readonly requestsPerMinute: number | null;
  readonly revokedAt: Instant | null;
}

/** The API keys of each organization, revoked ones too. */
export const apiKeys = projection({
  name: 'api_keys',
  version: 3,
  from: apiKey,
  evolve: (document: ApiKeyDocument | null, event): ApiKeyDocument | null => {
    const { stream, metadata } = event.envelope;
    const at = metadata.occurredAt;
    const made = { id: idOf(stream), createdAt: at, by: metadata.actor, revokedAt: null };
    if (event.type === 'OperatorKeyIssued') {
      const { label, scopes } = event.data;
      return { ...made, org: house, label, scopes, requestsPerMinute: null };
    }
    if (event.type === 'ApiKeyIssued') return { ...made, ...event.data };
    return document && { ...document, revokedAt: document.revokedAt ?? at };
  },
  org: ({ org }) => org,
});
