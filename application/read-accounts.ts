import { ledger } from '../domain/credits.js';
import { DomainError } from '../domain/errors.js';
import type { OrganizationId } from '../domain/ids.js';
import { balances } from '../projections/balances.js';
import { handwritings } from '../projections/handwritings.js';
import { organizations, type DesignDocument, type OrganizationDocument } from '../projections/organizations.js';
import type { ProjectionProgress, ReadModels } from './ports/read-models.js';
import type { Streams } from './streams.js';
import { upToDate } from './up-to-date.js';

export interface ReadingAccounts {
  readonly streams: Streams;
  readonly readModels: ReadModels;
  readonly progress: ProjectionProgress;
}

/** Throws `not_found`; like the others here, ReadModelsUnavailable. */
export const readAccount = async ({ readModels }: ReadingAccounts, org: OrganizationId): Promise<OrganizationDocument> => {
  const row = await readModels.get(organizations, org);
  if (row === null) throw new DomainError('not_found', "There is no such organization. GET /api/v1/account shows the id of a key's organization.");
  return row.document;
};

/** 0 where nothing was ever bought. */
export const readBalance = async ({ streams, readModels, progress }: ReadingAccounts, org: OrganizationId): Promise<number> => {
  const read = async () => (await readModels.get(balances, org))?.document.balance ?? 0;
  return upToDate(progress, read, async () => (await streams.load(ledger, org)).state.balance);
};

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
