import { Uuid, type Instant, type OrganizationId } from '../domain/ids.js';
import { apiKeys, type ApiKeyDocument } from '../projections/api-keys.js';
import type { KeyUses } from './ports/key-uses.js';
import type { ReadModels } from './ports/read-models.js';

export interface ReadKeysDeps {
  readonly readModels: ReadModels;
  readonly keyUses: KeyUses;
}

export interface ListedKey extends ApiKeyDocument {
  readonly lastUsedAt: Instant | null;
}

/**
 * A page of an organization's keys, newest first, after the key `after`; null if that is no key of the
 * organization. Throws ReadModelsUnavailable.
 */
export const listKeys = async (
  { readModels, keyUses }: ReadKeysDeps,
  org: OrganizationId,
  limit: number,
  after: string | null,
): Promise<readonly ListedKey[] | null> => {
  const cursor = after === null ? null : await readModels.get(apiKeys, after);
  if (after !== null && cursor?.document.org !== org) return null;
  const rows = await readModels.page(apiKeys, {
    org,
    limit,
    ...(cursor !== null && { before: cursor.created }),
  });
  const uses = await keyUses.lastUses(rows.map(({ key }) => Uuid.parse(key)));
  return rows.map(({ key, document }) => ({ ...document, lastUsedAt: uses.get(Uuid.parse(key)) ?? null }));
};
