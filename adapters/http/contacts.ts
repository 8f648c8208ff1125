import { organizationOf } from '../../application/administer.js';
import { newCommand, type Initiator } from '../../application/commands.js';
import { listContacts } from '../../application/list-contacts.js';
import type { ReadModels } from '../../application/ports/read-models.js';
import { saveContactRecord, type SavingContacts } from '../../application/save-contact.js';
import { longestExternalId, parseContact, type KnownContact } from '../../domain/contact.js';
import type { OrganizationId } from '../../domain/ids.js';
import { byKey, instant } from './cards.js';
import { listBody, timestamp } from './lists.js';
import { byOperator, operatorAccess, orgOf, orgParam, orgPath } from './operator.js';
import type { JsonObject } from './read.js';
import { route, type JsonAnswer, type Operation, type Route } from './route.js';
import {
  always,
  component,
  listOf,
  nullable,
  object,
  optional,
  pageLimit,
  text,
  type Infer,
} from './schema.js';

const addressAnswer = object({
  line1: nullable(text()),
  line2: nullable(text()),
  city: nullable(text()),
  state: nullable(text({ description: 'Two letters, in upper case.' })),
  zip: nullable(text({ description: 'Five digits, or nine with a hyphen.' })),
  country: always('US'),
  status: always('unverified', {
    description: 'Only the shape of an address is checked, not whether mail arrives there.',
  }),
});

const contactAnswer = component(
  'Contact',
  object({
    id: text({ format: 'uuid', description: 'Stable across updates.' }),
    object: always('contact'),
    external_id: nullable(text({ description: "The client's own identifier." })),
    name: text({ description: 'The full name.' }),
    first_name: nullable(text()),
    last_name: nullable(text()),
    company: nullable(text()),
    job_title: nullable(text()),
    email: nullable(text({ description: 'Never mailed to.' })),
    phone: nullable(text({ description: 'Stored, never used.' })),
    address: addressAnswer,
    birthday: nullable(text({ description: 'MM-DD: no year is kept.' })),
    work_anniversary: nullable(text({ format: 'date' })),
    created_at: instant('When the contact was created.'),
    updated_at: instant('When the contact was last saved.'),
  }),
);

const nameRules = { code: 'missing_name' } as const;
const part = (description?: string) =>
  optional(text({ maxLength: 200, ...(description !== undefined && { description }) }));

const exampleContact = {
  external_id: 'crm-1001',
  name: 'Ada Lovelace',
  company: 'Analytical Engines',
  email: 'ada@example.com',
  address: { line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701' },
  birthday: '12-10',
};

/** What the document says of the body; `parseContact` reads it. */
const contactBody = component(
  'ContactRecord',
  object(
    {
      external_id: optional(
        text({
          number: 'text',
          maxLength: longestExternalId,
          description: 'The upsert key, case-sensitive. Left out: every call makes a new contact.',
        }),
      ),
      name: optional(
        text({
          ...nameRules,
          description:
            'Required unless `first_name` or `last_name` is given. Its first word is the first name, the rest the last.',
        }),
      ),
      first_name: optional(text({ ...nameRules, description: 'Beats `name`, together with `last_name`.' })),
      last_name: optional(text(nameRules)),
      company: optional(text({ description: 'The merge field {{company}} of a hook.' })),
      job_title: optional(text({ description: 'The merge field {{job_title}} of a hook.' })),
      email: optional(text({ description: 'Not checked; compared in lower case.' })),
      phone: optional(text()),
      address: optional(
        object(
          {
            line1: part(),
            line2: part(),
            city: part(),
            state: part('Two-letter code of a US state or territory, in any case.'),
            zip: part('Five digits, optionally +4.'),
            country: part('US, which is the default.'),
          },
          {
            code: 'invalid_recipient',
            description: 'As much of it as is known; every part that is sent must have the right shape.',
          },
        ),
      ),
      birthday: optional(
        text({ code: 'invalid_birthday', description: 'MM-DD or YYYY-MM-DD. The year is not kept.' }),
      ),
      work_anniversary: optional(
        text({
          code: 'invalid_date',
          description: 'YYYY-MM-DD. Drives the merge field {{years}} of a hook.',
        }),
      ),
    },
    { examples: [exampleContact] },
  ),
);

const bodyOf = (id: string, { details, createdAt, updatedAt }: KnownContact): object => ({
  id,
  object: 'contact',
  external_id: details.externalId,
  name: details.name,
  first_name: details.firstName,
  last_name: details.lastName,
  company: details.company,
  job_title: details.jobTitle,
  email: details.email,
  phone: details.phone,
  address: { ...details.address, status: 'unverified' },
  birthday: details.birthday,
  work_anniversary: details.workAnniversary,
  created_at: timestamp(createdAt),
  updated_at: timestamp(updatedAt),
});

const listQuery = object({
  limit: pageLimit,
  email: optional(text({ description: 'Only contacts with this e-mail address, in any case.' })),
  external_id: optional(text({ description: 'Only the contact with this external_id, exactly.' })),
  starting_after: optional(
    text({ description: 'The id of the last contact of the page before: its `next_cursor`.' }),
  ),
});

const saveOperation = {
  summary: 'Create a contact, or replace the one with the same external_id',
  description:
    'An update replaces every field: send the complete record every time. Without `external_id` every call creates a new contact; nothing is matched on the email.',
  responses: {
    200: { description: 'Every field of the contact was replaced.', schema: contactAnswer },
    201: { description: 'The contact was created.', schema: contactAnswer },
  },
  errors: [
    'missing_name',
    'invalid_birthday',
    'invalid_date',
    'invalid_recipient',
    'invalid_parameter',
    'update_failed',
  ],
} as const satisfies Partial<Operation>;

const listOperation = {
  summary: 'List contacts, newest first',
  description: 'In the order in which they were created, whatever was updated since. Filters combine.',
  responses: { 200: { description: 'One page of contacts.', schema: listOf(contactAnswer) } },
  errors: ['invalid_cursor', 'invalid_parameter'],
} as const satisfies Partial<Operation>;

export interface ContactServices extends SavingContacts {
  readonly readModels: ReadModels;
}

const save = async (
  services: ContactServices,
  by: Initiator,
  org: OrganizationId,
  body: JsonObject,
): Promise<JsonAnswer> => {
  const { id, contact, created } = await saveContactRecord(
    services,
    org,
    newCommand(services, by, org),
    parseContact(body),
  );
  return { status: created ? 201 : 200, body: bodyOf(id, contact) };
};

const page = async (
  { readModels }: ContactServices,
  org: OrganizationId,
  query: Infer<typeof listQuery>,
): Promise<JsonAnswer> => {
  const { limit, email, external_id: externalId, starting_after: startingAfter } = query;
  const rows = await listContacts(readModels, org, { limit, email, externalId, startingAfter });
  return {
    status: 200,
    body: listBody(
      rows,
      limit,
      ({ id }) => id,
      (row) => bodyOf(row.id, row),
    ),
  };
};

/** The address book. (spec: POST and GET /api/v1/contacts; decisions 42–45) */
export const contactRoutes = (services: ContactServices): readonly Route[] => [
  route({
    method: 'POST',
    path: '/api/v1/contacts',
    access: { kind: 'key', scope: 'contacts:write' },
    body: contactBody,
    failure: 'create_failed',
    operation: { operationId: 'saveContact', tags: ['contacts'], ...saveOperation },
    handle: (request) => save(services, byKey(request), request.caller.org, request.body),
  }),
  route({
    method: 'GET',
    path: '/api/v1/contacts',
    access: { kind: 'key', scope: 'contacts:read' },
    query: listQuery,
    failure: 'read_failed',
    operation: { operationId: 'listContacts', tags: ['contacts'], ...listOperation },
    handle: ({ caller, query }) => page(services, caller.org, query),
  }),
];

const ofOrganization = object({ org: orgParam });

/** The same for the back office, without a rate limit: for imports. (operations.md, Operator API) */
export const operatorContactRoutes = (services: ContactServices): readonly Route[] => [
  route({
    method: 'POST',
    path: `${orgPath}/contacts`,
    access: operatorAccess,
    params: ofOrganization,
    body: contactBody,
    failure: 'create_failed',
    operation: {
      operationId: 'operatorSaveContact',
      tags: ['operator'],
      ...saveOperation,
      errors: [...saveOperation.errors, 'not_found'],
    },
    handle: async (request) => {
      const org = orgOf(request.params);
      await organizationOf(services, org);
      return save(services, byOperator(request), org, request.body);
    },
  }),
  route({
    method: 'GET',
    path: `${orgPath}/contacts`,
    access: operatorAccess,
    params: ofOrganization,
    query: listQuery,
    failure: 'read_failed',
    operation: {
      operationId: 'operatorListContacts',
      tags: ['operator'],
      ...listOperation,
      errors: [...listOperation.errors, 'not_found'],
    },
    handle: async ({ params, query }) => {
      const org = orgOf(params);
      await organizationOf(services, org);
      return page(services, org, query);
    },
  }),
];
