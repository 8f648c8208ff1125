import { card, erase } from '../../domain/card.js';
import { parseCardCode, type CardCode } from '../../domain/card-code.js';
import { contact, eraseContact } from '../../domain/contact.js';
import { DomainError } from '../../domain/errors.js';
import { streamName, type OrganizationId } from '../../domain/ids.js';
import { eraseDesign } from '../../domain/organization.js';
import { foldName } from '../../domain/text.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { contacts, type ContactDocument } from '../../projections/contacts.js';
import type { Projection } from '../../projections/projection.js';
import { organizationOf, changeDesign } from '../organizations/administer.js';
import { changeCard, type ChangeCardDeps } from '../cards/change-card.js';
import { newCommand, execute, type Initiator } from '../writing/execute.js';
import { pagesOf, ReadModelsUnavailable, type ReadModels } from '../ports/read-models.js';
import { givingWay, nextTurn } from '../timing/next-turn.js';

export interface EraseDeps extends ChangeCardDeps {
  readonly readModels: ReadModels;
}

/** A request to erase a person's data in an organization, with the reason. */
export interface Erasure {
  readonly cards: readonly string[];
  readonly contacts: readonly string[];
  /** Erases the pictures of designs, too, that no other card has. */
  readonly withDesigns: boolean;
  readonly reason: string;
}

export interface Erased {
  readonly cards: readonly CardCode[];
  readonly contacts: readonly string[];
  readonly designs: readonly string[];
}

/** So many are read or recorded at once: each may wait for the disk, and for its rows. */
const atOnce = 8;

const codeOf = (text: string): CardCode => {
  const parsed = parseCardCode(text);
  if (parsed.kind === 'code') return parsed.code;
  throw new DomainError('card_not_found', `There is no card ${text}.`, 'cards');
};

/** Works on some at once. None is begun after one that fails, and others have their turn in between. */
const forEach = async <Id, Result>(
  ids: readonly Id[],
  work: (id: Id) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  for (let at = 0; at < ids.length; at += atOnce) {
    results.push(...(await Promise.all(ids.slice(at, at + atOnce).map(work))));
    await nextTurn();
  }
  return results;
};

/**
 * Records that the personal data of cards and contacts is erased; the shredder then destroys its keys. All
 * subjects are checked before anything is recorded; erased ones stay erased. Throws `not_found`,
 * `card_not_found`, and `invalid_transition` for a card that the floor still needs.
 * (docs/operations.md#erase-personal-data)
 */
export const erasePersonal = async (
  deps: EraseDeps,
  initiator: Initiator,
  org: OrganizationId,
  { cards: texts, contacts: ids, withDesigns, reason }: Erasure,
): Promise<Erased> => {
  await organizationOf(deps, org);
  const codes = texts.map(codeOf);
  const own = new Set<string>();
  const found = await forEach(codes, async (code) => ({ code, ...(await deps.streams.load(card, code)) }));
  for (const { code, state } of found) {
    if (!('order' in state) || state.order.org !== org)
      throw new DomainError('card_not_found', `There is no card ${code} in this organization.`, 'cards');
    // Throws if it can't be erased.
    erase(reason)(state);
    const { id, slug, front } = state.order.design;
    if (withDesigns && slug === null && front !== null) own.add(id);
  }
  const contactIds = ids.map((id) => id.toLowerCase());
  const orgOf = async (id: string) =>
    (await deps.store.readStream(streamName('contact', id), 0, 1))[0]?.metadata.org;
  for (const { id, owner } of await forEach(contactIds, async (id) => ({ id, owner: await orgOf(id) })))
    if (owner !== org)
      throw new DomainError('not_found', `There is no contact ${id} in this organization.`, 'contacts');
  const designs = await withoutOthers(deps, org, new Set(codes), own);
  // Its owner is known by now, and it owes no credit, so that no ledger is read.
  await forEach(codes, (code) =>
    changeCard(deps, { code, org: null }, newCommand(deps, initiator, org), erase(reason)),
  );
  await forEach(contactIds, async (id) => {
    const command = newCommand(deps, initiator, org);
    const { position } = await execute(deps, contact, id, command, eraseContact(reason, command.at));
    if (position !== null) await deps.readYourWrites.afterWrite(position);
  });
  for (const id of designs) await changeDesign(deps, initiator, org, eraseDesign(id));
  return { cards: codes, contacts: contactIds, designs };
};

/** The ids of designs that no other card of the organization has. Throws ReadModelsUnavailable. */
const withoutOthers = async (
  deps: EraseDeps,
  org: OrganizationId,
  codes: ReadonlySet<string>,
  designs: ReadonlySet<string>,
): Promise<readonly string[]> => {
  if (designs.size === 0) return [];
  const left = new Set(designs);
  for await (const { code, design, erasedAt } of documentsOf(deps, cards, org)) {
    if (codes.has(code) || erasedAt !== null) continue;
    left.delete(design);
    if (left.size === 0) break;
  }
  if (deps.readYourWrites.rowsMayBeLate())
    throw new ReadModelsUnavailable('which cards have a design is not known yet');
  return [...left];
};

/** Known facts about a person; null: not asked for. */
export interface SubjectQuery {
  readonly name: string | null;
  readonly zip: string | null;
  readonly email: string | null;
}

const pageSize = 100;

async function* documentsOf<Document>(
  { readModels, clock }: EraseDeps,
  projection: Projection<Document>,
  org: OrganizationId,
): AsyncGenerator<Document> {
  for await (const rows of pagesOf(readModels, projection, { org, limit: pageSize }, givingWay(clock)))
    for (const { document } of rows) yield document;
}

/** As many as one erasure takes. */
export const maxSubjects = 1_000;

/** The first of them, up to one more than are shown. */
const firstOf = async <Document>(
  documents: AsyncIterable<Document>,
  fits: (document: Document) => boolean,
): Promise<readonly Document[]> => {
  const found: Document[] = [];
  for await (const document of documents) if (fits(document) && found.push(document) > maxSubjects) break;
  return found;
};

/**
 * The cards and contacts of an organization with this name, ZIP code and e-mail address, the newest
 * `maxSubjects` of each: a person decides which of them belong to whom. Looks at every one until then. Throws
 * `not_found`, ReadModelsUnavailable.
 */
export const findSubjects = async (
  deps: EraseDeps,
  org: OrganizationId,
  { name, zip, email }: SubjectQuery,
): Promise<{
  readonly cards: readonly CardDocument[];
  readonly contacts: readonly ContactDocument[];
  /** Whether there are more. */
  readonly more: boolean;
}> => {
  await organizationOf(deps, org);
  const isIt = (wanted: string | null, is: string | null | undefined): boolean =>
    wanted === null || (is !== null && is !== undefined && foldName(is).includes(foldName(wanted)));
  const begins = (wanted: string | null, is: string | null | undefined): boolean =>
    wanted === null || is?.startsWith(wanted.trim()) === true;
  const fitsCard = ({ recipient }: CardDocument): boolean =>
    email === null && isIt(name, recipient?.name) && begins(zip, recipient?.zip);
  const fitsContact = ({ details }: ContactDocument): boolean =>
    isIt(name, details?.name) && begins(zip, details?.address.zip) && isIt(email, details?.email);
  const ofCards = await firstOf(documentsOf(deps, cards, org), fitsCard);
  const ofContacts = await firstOf(documentsOf(deps, contacts, org), fitsContact);
  return {
    cards: ofCards.slice(0, maxSubjects),
    contacts: ofContacts.slice(0, maxSubjects),
    more: ofCards.length > maxSubjects || ofContacts.length > maxSubjects,
  };
};
