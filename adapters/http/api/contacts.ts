import { unreadable, byKey } from './cards.js';
import { z } from 'zod';
import { newCommand, type Initiator } from '../../../application/writing/execute.js';
import { listContacts } from '../../../application/contacts/list-contacts.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import { saveContactRecord, type SaveContactDeps } from '../../../application/contacts/save-contact.js';
import type { ContactDetails, KnownContact } from '../../../domain/contact.js';
import { streamName, type OrganizationId } from '../../../domain/ids.js';
import type { ContactDocument } from '../../../projections/contacts.js';
import { contactRecord, noAddress, readContact } from './contact-fields.js';
import { optionalText, pageCursor, pageLimit } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { byId, instant, listOf, pageOf, receiptFor, receiptHeader, timestamp } from './responses.js';
import { route, type JsonResponse, type Route, type TextResponse } from '../server/route.js';

export const contactResponse = shown.component('Contact', 'A contact of the address book.', {
  id: shown.text('Stable across updates.', shown.examples.uuid).meta({ format: 'uuid' }),
  object: shown.objectKind('contact'),
  external_id: shown.textOrNull("The client's own identifier.", 'crm-1001'),
  name: shown.textOrNull('The full name; null once the personal data was erased.', 'Ada Lovelace'),
  first_name: shown.textOrNull('The first name.', 'Ada'),
  last_name: shown.textOrNull('The last name.', 'Lovelace'),
  company: shown.textOrNull('Where the contact works.', 'Analytical Engines'),
  job_title: shown.textOrNull('What the contact does there.', 'Mathematician'),
  email: shown.textOrNull('Never mailed to.', 'ada@example.com'),
  phone: shown.textOrNull('Stored, never used.', '+1 217 555 0100'),
  address: shown.nested('The postal address.', {
    line1: shown.address.line1.nullable(),
    line2: shown.address.line2.nullable(),
    city: shown.address.city.nullable(),
    state: shown.address.state.nullable(),
    zip: shown.address.zip.nullable(),
    country: z.literal('US').describe('Always `US`: cards are mailed inside the US only.'),
    status: z
      .literal('unverified')
      .describe('Only the form of an address is checked, not whether mail can be delivered there.'),
  }),
  birthday: shown.textOrNull('MM-DD. The year is not kept.', '12-10'),
  work_anniversary: shown
    .text('The day on which the contact began to work there; the year counts.', '2020-02-29')
    .meta({ format: 'date' })
    .nullable(),
  created_at: instant('When the contact was created.'),
  updated_at: instant('When the contact was last saved or erased.'),
  erased_at: instant(
    'When the details were erased, unless they were saved again since; else absent.',
  ).optional(),
  unreadable,
});

/** The details of a contact, as clients send and get them; null if they can't be read. */
export const detailsBody = (known: ContactDetails | null) => ({
  external_id: known?.externalId ?? null,
  name: known?.name ?? null,
  first_name: known?.firstName ?? null,
  last_name: known?.lastName ?? null,
  company: known?.company ?? null,
  job_title: known?.jobTitle ?? null,
  email: known?.email ?? null,
  phone: known?.phone ?? null,
  address: { ...(known?.address ?? noAddress), status: 'unverified' },
  birthday: known?.birthday ?? null,
  work_anniversary: known?.workAnniversary ?? null,
});

const bodyOf = (
  id: string,
  { details, createdAt, updatedAt, erasedAt, deletedAt }: KnownContact,
): object => ({
  id,
  object: 'contact',
  ...detailsBody(details),
  created_at: timestamp(createdAt),
  updated_at: timestamp(updatedAt),
  ...(erasedAt
    ? { erased_at: timestamp(erasedAt) }
    : details === null && deletedAt === null && { unreadable: true }),
});

export const contactsQuery = z.object({
  limit: pageLimit,
  email: optionalText('Only contacts with this email, in any case.', 'ada@example.com'),
  external_id: optionalText('Only the contact with this external_id, exactly.', 'crm-1001'),
  starting_after: pageCursor(shown.examples.uuid, 'the id of its last contact'),
});

type ListQuery = z.output<typeof contactsQuery>;

export const saveContactOperation = {
  summary: 'Create a contact, or replace the one with the same external_id',
  description:
    'An update replaces every field, so send the complete record every time. Without `external_id` every call creates a new contact; contacts are never matched by email.',
  responses: {
    200: { description: 'Every field of the contact was replaced.', schema: contactResponse },
    201: { description: 'The contact was created.', schema: contactResponse, headers: receiptHeader },
  },
  errors: ['update_failed'],
} as const satisfies Partial<Route>;

export const listContactsOperation = {
  summary: 'List contacts, newest first',
  description: 'In the order in which they were created, whatever was updated since then. Filters combine.',
  answers: { 200: ['One page of contacts.', listOf(contactResponse, 'ContactList')] },
} as const;

export interface ContactRouteDeps extends SaveContactDeps {
  readonly readModels: ReadModels;
}

export const answerSaved = async (
  deps: ContactRouteDeps,
  by: Initiator,
  org: OrganizationId,
  wanted: ContactDetails,
  how: Parameters<typeof saveContactRecord>[4] = {},
): Promise<JsonResponse> => {
  const { id, contact, created } = await saveContactRecord(deps, org, newCommand(deps, by, org), wanted, how);
  const saved = bodyOf(id, contact);
  return created
    ? { status: 201, body: saved, headers: receiptFor(streamName('contact', id), 0) }
    : { status: 200, body: saved };
};

export const contactBody = (row: ContactDocument): object => bodyOf(row.id, row);

export const contactsWanted = ({ limit, email, ...query }: ListQuery) => ({
  limit,
  email,
  externalId: query.external_id,
  startingAfter: query.starting_after,
});

export const contactsPage = async (
  { readModels }: ContactRouteDeps,
  org: OrganizationId,
  query: ListQuery,
): Promise<TextResponse> => {
  const rows = await listContacts(readModels, org, contactsWanted(query));
  return pageOf(rows, query.limit, byId, contactBody);
};

export const contactRoutes = (deps: ContactRouteDeps): readonly Route[] => [
  route('POST /api/v1/contacts', {
    id: 'saveContact',
    tags: ['contacts'],
    access: { kind: 'key', scope: 'contacts:write' },
    body: { schema: contactRecord, read: readContact },
    failure: 'create_failed',
    ...saveContactOperation,
    handle: (request, contact) => answerSaved(deps, byKey(request), request.caller.org, contact),
  }),
  route('GET /api/v1/contacts', {
    id: 'listContacts',
    tags: ['contacts'],
    access: { kind: 'key', scope: 'contacts:read' },
    query: contactsQuery,
    ...listContactsOperation,
    handle: ({ caller, query }) => contactsPage(deps, caller.org, query),
  }),
];
