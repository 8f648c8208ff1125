import {
  hashedIdempotency,
  type CardDraft,
  type SendRequest,
} from '../../../application/cards/place-order.js';
import {
  listCollection,
  readBalance,
  readDesigns,
  readHandwritings,
} from '../../../application/organizations/read-accounts.js';
import { emailIn } from '../../../domain/email.js';
import { Uuid } from '../../../domain/ids.js';
import type { ContactDocument } from '../../../projections/contacts.js';
import { readCardFields } from '../api/card-fields.js';
import { contactOf, contactsLike } from './contact-parts.js';
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

/** An empty form, or one that is filled in with a contact. */
export const draftFor = (contact: ContactDocument | null): Draft => {
  const details = contact?.details ?? null;
  if (contact === null || details === null) return draftOf(() => '');
  const known: Readonly<Record<string, string | null>> = { name: details.name, ...details.address };
  return draftOf((name) => (name === 'contact' ? contact.id : (known[name.replace('recipient.', '')] ?? '')));
};

/** The card that the form asks for, each field read or refused on its own. */
export const cardFrom = async (context: OrgContext, draft: Draft): Promise<CardDraft> => {
  const contact = await contactOf(context, draft.contact);
  const parts = fields.filter((name) => name.startsWith('recipient.'));
  const read = readCardFields({
    recipient: Object.fromEntries(parts.map((name) => [name.replace('recipient.', ''), draft[name]])),
    message: draft.message,
    // Empty texts are left out, as in the body of a request.
    arrive_on: draft.arrive_on || undefined,
    handwriting: draft.handwriting || undefined,
    design_id: draft.design_id || undefined,
    reference: draft.reference,
  });
  const email = emailIn(contact?.details?.email);
  return { ...read, email, contact: contact === null ? null : Uuid.parse(contact.id) };
};

/** A send by the visitor who filled in the form: however often the form is sent, it makes one card. */
export const requestFrom = async (
  { deps, by, org, command, came }: OrgContext,
  draft: Draft,
  form: string,
): Promise<Omit<SendRequest, 'draft'>> => ({
  org,
  command: command(),
  source: { kind: 'console', id: by.actor.id ?? '' },
  idempotency: await hashedIdempotency(deps.personalKeys, org, {
    key: `console:${form}`,
    body: JSON.stringify(draft),
    came,
  }),
});

const maxOffered = 100;
/** Older designs are sent from the page of designs. */
const maxSaved = 100;

/** The designs to choose from: the newest is the one that is sent without a choice. */
const designsOf = async ({ deps, org }: OrgContext, chosen: string) => {
  const saved = await readDesigns(deps, org);
  const copied = new Set(saved.map(({ slug }) => slug));
  const offered = await listCollection(deps, { limit: maxOffered, startingAfter: null });
  return [
    ...saved
      .filter(({ id }, at) => at < maxSaved || id === chosen)
      .map(({ id, name, artwork }, at) => ({
        value: id,
        title: name,
        note: at === 0 ? 'newest' : '',
        artwork,
      })),
    ...offered
      .filter(({ slug }) => !copied.has(slug))
      .map(({ slug, title, artwork }) => ({ value: `card:${slug}`, title, note: 'collection', artwork })),
  ];
};

/** Loads everything that the form shows beside the draft. */
export const loadSend = async (context: OrgContext, { design_id: design }: Draft) => {
  const { deps, org, query } = context;
  const [balance, { houseHand, names }, designs, found] = await Promise.all([
    readBalance(deps, org),
    readHandwritings(deps, org),
    designsOf(context, design),
    contactsLike(context, query('find')),
  ]);
  return { balance, houseHand, hands: names, designs, find: query('find'), found, form: context.newForm() };
};

export type SendData = Awaited<ReturnType<typeof loadSend>>;
