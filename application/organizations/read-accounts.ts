import { ledger } from '../../domain/credits.js';
import { DomainError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { organizationStream } from '../../domain/organization.js';
import { balances } from '../../projections/balances.js';
import { collectionCards, handwritings, type CollectionCardDocument } from '../../projections/catalogue.js';
import {
  organizations,
  type DesignDocument,
  type OrganizationDocument,
} from '../../projections/organizations.js';
import { documentAt, type Moment, type Past } from '../history/as-of.js';
import { wholeStream } from '../ports/event-store.js';
import { listPage } from '../requests/invalid-cursor.js';
import type { Page, ReadModels } from '../ports/read-models.js';
import type { Streams } from '../writing/streams.js';
import { foldDocument, upToDate, type ReadDeps } from '../projecting/read-your-writes.js';

export interface ReadAccountsDeps extends ReadDeps {
  readonly streams: Streams;
}

/** Throws `not_found` and, like the others here, ReadModelsUnavailable and EventStoreUnavailable. */
export const readAccount = async (
  { store, readModels, readYourWrites }: ReadAccountsDeps,
  org: OrganizationId,
): Promise<OrganizationDocument> => {
  const read = async () => (await readModels.get(organizations, org))?.document ?? null;
  const document = await upToDate(readYourWrites, read, async () =>
    foldDocument(organizations, await wholeStream(store, organizationStream(org))),
  );
  if (document === null)
    throw new DomainError(
      'not_found',
      "There is no such organization. GET /api/v1/account shows the id of a key's organization.",
    );
  return document;
};

/** 0 if nothing was ever bought. */
export const readBalance = async (
  { streams, readModels, readYourWrites }: ReadAccountsDeps,
  org: OrganizationId,
): Promise<number> => {
  const read = async () => (await readModels.get(balances, org))?.document.balance ?? null;
  const fold = async () => (await streams.load(ledger, org)).state.balance;
  return (await upToDate<number | null>(readYourWrites, read, fold)) ?? 0;
};

/** Newest first, without the archived ones. */
export const readDesigns = async (
  deps: ReadAccountsDeps,
  org: OrganizationId,
): Promise<readonly DesignDocument[]> => (await readAccount(deps, org)).designs;

/** A design, also one that was archived; null for any other id. Throws `not_found`. */
export const findDesign = async (
  deps: ReadAccountsDeps,
  org: OrganizationId,
  id: string,
): Promise<DesignDocument | null> => {
  const { designs, archived } = await readAccount(deps, org);
  return [...designs, ...archived].find((design) => design.id === id) ?? null;
};

/** The designs as they were at a moment. Throws `not_found` if the organization was not there yet. */
export const readDesignsAt = async (
  { store }: Pick<ReadAccountsDeps, 'store'>,
  org: OrganizationId,
  moment: Moment,
): Promise<Past<readonly DesignDocument[]>> => {
  const past = await documentAt(store, organizations, organizationStream(org), moment);
  if (past === null) throw new DomainError('not_found', 'There was no such organization yet.');
  return { was: past.was.designs, asOf: past.asOf };
};

const maxHandwritings = 1_000;

/**
 * The offered handwritings, in the order in which they were first offered, and the organization's house hand.
 */
export const readHandwritings = async (
  deps: ReadAccountsDeps,
  org: OrganizationId,
): Promise<{ readonly houseHand: string; readonly names: readonly string[] }> => {
  const { houseHand } = await readAccount(deps, org);
  const rows = await deps.readModels.page(handwritings, { org: null, limit: maxHandwritings });
  const names = rows.filter(({ document }) => document.active).map(({ document }) => document.name);
  return { houseHand, names: names.toReversed() };
};

/**
 * A page of the cards that the public collection offers, the latest published first, after the card
 * `startingAfter`, which may have been withdrawn since. Throws `invalid_cursor`, ReadModelsUnavailable.
 */
export const listCollection = (
  { readModels }: { readonly readModels: ReadModels },
  { limit, startingAfter }: Page,
): Promise<readonly CollectionCardDocument[]> =>
  listPage(
    readModels,
    collectionCards,
    { limit, startingAfter: startingAfter?.replace(/^card:/, '') ?? null },
    { org: null, where: { offered: 'yes' }, what: 'card of the collection' },
  );
