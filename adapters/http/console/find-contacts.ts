import { listContacts } from '../../../application/contacts/list-contacts.js';
import { contacts, type ContactDocument } from '../../../projections/contacts.js';
import type { OrgContext } from './page.js';

const maxFound = 5;

/** The contacts with this e-mail address or external id. */
export const contactsLike = async (
  { deps, org }: OrgContext,
  text: string,
): Promise<readonly ContactDocument[]> => {
  if (text === '') return [];
  const find = (email: string | null, externalId: string | null) =>
    listContacts(deps.readModels, org, { email, externalId, startingAfter: null, limit: maxFound });
  const both = (await Promise.all([find(text, null), find(null, text)])).flat();
  return [...new Map(both.map((contact) => [contact.id, contact])).values()];
};

/** A contact of the organization; null for any other id. */
export const contactOf = async ({ deps, org }: OrgContext, id: string): Promise<ContactDocument | null> => {
  if (!/^[0-9a-f-]{36}$/.test(id)) return null;
  const document = (await deps.readModels.get(contacts, id))?.document ?? null;
  return document === null || contacts.org(document) !== org ? null : document;
};
