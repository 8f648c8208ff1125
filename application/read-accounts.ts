import { DomainError } from '../domain/errors.js';
import type { OrganizationId } from '../domain/ids.js';
import { balances } from '../projections/balances.js';
import { handwritings } from '../projections/handwritings.js';
import { organizations, type DesignDocument, type OrganizationDocument } from '../projections/organizations.js';
import type { ReadModels } from './ports/read-models.js';

export interface ReadingAccounts {
  readonly readModels: ReadModels;
}

/** Throws `not_found`; like the others here, ReadModelsUnavailable. */
export const readAccount = async ({ readModels }: ReadingAccounts, org: OrganizationId): Promise<OrganizationDocument> => {
  const row = await readModels.get(organizations, org);
  if (row === null) throw new DomainError('not_found', 'There is no such organization.');
  return row.document;
};

/** 0 where nothing was ever bought. */
export const readBalance = async ({ readModels }: ReadingAccounts, org: OrganizationId): Promise<number> =>
  (await readModels.get(balances, org))?.document.balance ?? 0;

/** Newest first, without archived ones. */
export const readDesigns = async (reading: ReadingAccounts, org: OrganizationId): Promise<readonly DesignDocument[]> =>
  (await readAccount(reading, org)).designs;

const mostHandwritings = 1_000;

/** The handwritings that are offered, in the order in which they first were, and the organization's house hand. */
export const readHandwritings = async (
  reading: ReadingAccounts,
  org: OrganizationId,
): Promise<{ readonly houseHand: string; readonly names: readonly string[] }> => {
  const { houseHand } = await readAccount(reading, org);
  const rows = await reading.readModels.page(handwritings, { org: null, limit: mostHandwritings });
  const names = rows.filter(({ document }) => document.active).map(({ document }) => document.name);
  return { houseHand, names: names.toReversed() };
};
