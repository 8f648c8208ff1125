import { apiKey, houseId, type KeyScope } from '../domain/api-key.js';
import { idOf, type Instant } from '../domain/ids.js';
import { projection } from './projection.js';

export interface ApiKeyDocument {
  readonly org: string;
  readonly id: string;
  readonly label: string | null;
  readonly scopes: readonly KeyScope[];
  readonly createdAt: Instant;
  readonly revokedAt: Instant | null;
}

/** The API keys of each organization, revoked ones too. */
export const apiKeys = projection({
  name: 'api_keys',
  version: 2,
  from: apiKey,
  key: ({ stream }) => idOf(stream),
  evolve: (document: ApiKeyDocument | null, event): ApiKeyDocument | null => {
    const { stream, metadata } = event.envelope;
    const at = metadata.occurredAt;
    if (event.type === 'OperatorKeyIssued') {
      const { label, scopes } = event.data;
      return { org: houseId, id: idOf(stream), label, scopes, createdAt: at, revokedAt: null };
    }
    if (event.type === 'ApiKeyIssued') {
      const { org, label, scopes } = event.data;
      return { org, id: idOf(stream), label, scopes, createdAt: at, revokedAt: null };
    }
    return document && { ...document, revokedAt: document.revokedAt ?? at };
  },
  org: ({ org }) => org,
});
