import { apiKey } from '../../domain/api-key.js';
import { Uuid, type Instant, type OrganizationId } from '../../domain/ids.js';
import { house } from '../../domain/members.js';
import { apiKeys, type ApiKeyDocument } from '../../projections/api-keys.js';
import type { WriteDeps } from '../writing/execute.js';
import { type Moment, type Past } from '../history/as-of.js';
import { listPage } from '../requests/invalid-cursor.js';
import type { KeyUses } from './buffered-key-uses.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import { listAt } from '../organizations/past-lists.js';

export interface ReadKeysDeps {
  readonly readModels: ReadModels;
  readonly keyUses: KeyUses;
}

export interface ListedKey extends ApiKeyDocument {
  readonly lastUsedAt: Instant | null;
}

const ofOrganization = 'API key of this organization';

/**
 * As `listKeys`, at a moment in the past; when keys had last been used by then is not known. Throws as
 * `listAt`.
 */
export const listKeysAt = async (
  deps: ReadKeysDeps & Pick<WriteDeps, 'store' | 'streams'>,
  org: OrganizationId,
  moment: Moment,
  page: Page,
): Promise<readonly Past<ListedKey>[]> => {
  const pasts = await listAt(deps, apiKeys, page, { org, moment, what: ofOrganization });
  return pasts.map(({ was, asOf }) => ({ was: { ...was, lastUsedAt: null }, asOf }));
};

/**
 * A page of an organization's keys, newest first. `what`: what the refusal of a cursor calls them. Throws
 * `invalid_cursor`, ReadModelsUnavailable.
 */
export const listKeys = async (
  { readModels, keyUses }: ReadKeysDeps,
  org: OrganizationId,
  page: Page,
  what = ofOrganization,
): Promise<readonly ListedKey[]> => {
  const keys = await listPage(readModels, apiKeys, page, { org, what });
  const uses = await keyUses.lastUses(keys.map(({ id }) => Uuid.parse(id)));
  return keys.map((key) => ({ ...key, lastUsedAt: uses.get(Uuid.parse(key.id)) ?? null }));
};

export interface ListedOperatorKey extends ListedKey {
  readonly expiresAt: Instant | null;
}

/** As `listKeys`, the keys of operators. Throws also EventStoreUnavailable. */
export const listOperatorKeys = async (
  deps: ReadKeysDeps & Pick<WriteDeps, 'streams'>,
  page: Page,
): Promise<readonly ListedOperatorKey[]> => {
  const keys = await listKeys(deps, house, page, 'key of an operator');
  return Promise.all(
    keys.map(async (key) => {
      const { state } = await deps.streams.load(apiKey, key.id);
      return { ...key, expiresAt: state.status === 'none' ? null : state.expiresAt };
    }),
  );
};
