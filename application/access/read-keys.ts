import { apiKey } from '../../domain/api-key.js';
import { Uuid, type Instant, type OrganizationId } from '../../domain/ids.js';
import { house } from '../../domain/members.js';
import { apiKeys, type ApiKeyDocument } from '../../projections/api-keys.js';
import { organizationAt } from '../organizations/administer.js';
import type { WriteDeps } from '../writing/execute.js';
import { listAt, type Moment, type Past } from '../history/as-of.js';
import type { KeyUses } from './buffered-key-uses.js';
import type { ReadModels } from '../ports/read-models.js';

export interface ReadKeysDeps {
  readonly readModels: ReadModels;
  readonly keyUses: KeyUses;
}

export interface ListedKey extends ApiKeyDocument {
  readonly lastUsedAt: Instant | null;
}

/** The row of a cursor. Throws ReadModelsUnavailable. */
const rowOf = async ({ readModels }: ReadKeysDeps, org: OrganizationId, after: string) => {
  const row = await readModels.get(apiKeys, after);
  return row?.document.org === org ? row : null;
};

/**
 * As `listKeys`, at a moment in the past; when keys had last been used by then is not known. Throws
 * `not_found` if the organization was not there yet, DamagedStream, ReadModelsUnavailable,
 * EventStoreUnavailable.
 */
export const listKeysAt = async (
  deps: ReadKeysDeps & Pick<WriteDeps, 'store' | 'streams'>,
  org: OrganizationId,
  moment: Moment,
  limit: number,
  after: string | null,
): Promise<readonly Past<ListedKey>[] | null> => {
  await organizationAt(deps, org, moment);
  const cursor = after === null ? null : await rowOf(deps, org, after);
  if (after !== null && cursor === null) return null;
  const part = { limit, before: cursor?.created };
  const pasts = await listAt(deps, apiKeys, () => true, org, moment, part);
  return pasts.map(({ was, asOf }) => ({ was: { ...was, lastUsedAt: null }, asOf }));
};

/**
 * A page of an organization's keys, newest first, after the key `after`; null if that is no key of the
 * organization. Throws ReadModelsUnavailable.
 */
export const listKeys = async (
  deps: ReadKeysDeps,
  org: OrganizationId,
  limit: number,
  after: string | null,
): Promise<readonly ListedKey[] | null> => {
  const { readModels, keyUses } = deps;
  const cursor = after === null ? null : await rowOf(deps, org, after);
  if (after !== null && cursor === null) return null;
  const rows = await readModels.page(apiKeys, { org, limit, before: cursor?.created });
  const uses = await keyUses.lastUses(rows.map(({ key }) => Uuid.parse(key)));
  return rows.map(({ key, document }) => ({ ...document, lastUsedAt: uses.get(Uuid.parse(key)) ?? null }));
};

export interface ListedOperatorKey extends ListedKey {
  readonly expiresAt: Instant | null;
}

/** As `listKeys`, the keys of operators. Throws also EventStoreUnavailable. */
export const listOperatorKeys = async (
  deps: ReadKeysDeps & Pick<WriteDeps, 'streams'>,
  limit: number,
  after: string | null,
): Promise<readonly ListedOperatorKey[] | null> => {
  const keys = await listKeys(deps, house, limit, after);
  if (keys === null) return null;
  return Promise.all(
    keys.map(async (key) => {
      const { state } = await deps.streams.load(apiKey, key.id);
      return { ...key, expiresAt: state.status === 'none' ? null : state.expiresAt };
    }),
  );
};
