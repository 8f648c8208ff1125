import {
  hashedIdempotency,
  type CardDraft,
  type SendRequest,
} from '../../../application/cards/place-order.js';
import { emailIn } from '../../../domain/email.js';
import { Uuid } from '../../../domain/ids.js';
import { contacts, type ContactDocument } from '../../../projections/contacts.js';
import { readCardFields } from '../api/card-fields.js';
import type { OrgContext, Sent } from './page.js';

/** The fields of the form, by the names under which refusals know them. */
const fields = [
  'contact',
  'recipient.name',
  'recipient.line1',
  'recipient.line2',
  'recipient.city',
  'recipient.state',
  'recipient.zip',
  'message',
  'handwriting',
  'design_id',
  'arrive_on',
  'reference',
] as const;

export type Draft = Readonly<Record<(typeof fields)[number], string>>;

const draftOf = (valueOf: (name: (typeof fields)[number]) => string): Draft =>
  Object.fromEntries(fields.map((name) => [name, valueOf(name)])) as Draft;

/** Browsers send the line breaks of the network, which no message has that came over the API. */
export const draftFrom = (sent: Sent): Draft => draftOf((name) => sent(name).replaceAll('\r\n', '\n'));

/** A contact of the organization; null for any other id. */
export const contactOf = async ({ deps, org }: OrgContext, id: string): Promise<ContactDocument | null> => {
  if (!/^[0-9a-f-]{36}$/.test(id)) return null;
  const document = (await deps.readModels.get(contacts, id))?.document ?? null;
  return document === null || contacts.org(document) !== org ? null : document;
};

/** An empty form, or one that is filled in with a contact. */
export const draftFor = (contact: ContactDocument | null): Draft => {
  const details = contact?.details ?? null;
  if (contact === null || details === null) return draftOf(() => '');
  const known: Readonly<Record<string, string | null>> = { name: details.name, ...details.address };
  return draftOf((name) => (name === 'contact' ? contact.id : (known[name.replace('recipient.', '')] ?? '')));
};

/** Leaves out empty texts, as in the body of a request. */
const given = (text: string): { readonly value?: string } => (text === '' ? {} : { value: text });

/** The card that the form asks for, each field read or refused on its own. */
export const cardFrom = async (context: OrgContext, draft: Draft): Promise<CardDraft> => {
  const contact = await contactOf(context, draft.contact);
  const parts = fields.filter((name) => name.startsWith('recipient.'));
  const read = readCardFields({
    recipient: Object.fromEntries(parts.map((name) => [name.replace('recipient.', ''), draft[name]])),
    message: draft.message,
    arrive_on: given(draft.arrive_on).value,
    handwriting: given(draft.handwriting).value,
    design_id: given(draft.design_id).value,
    reference: draft.reference,
  });
  const email = emailIn(contact?.details?.email);
  return { ...read, email, contact: contact === null ? null : Uuid.parse(contact.id) };
};

/** A send by the visitor who filled in the form: however often the form is sent, it makes one card. */
export const requestFrom = async (
  { deps, by, org, command }: OrgContext,
  draft: Draft,
  form: string,
): Promise<Omit<SendRequest, 'draft'>> => ({
  org,
  command: command(),
  source: { kind: 'console', id: by.actor.id ?? '' },
  idempotency: await hashedIdempotency(deps.personalKeys, org, `console:${form}`, JSON.stringify(draft)),
});
