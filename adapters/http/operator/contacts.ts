import { z } from 'zod';
import { listContactsAt } from '../../../application/contacts/list-contacts.js';
import { organizationOf } from '../../../application/organizations/administer.js';
import { saveUnerased } from '../../../domain/contact.js';
import { contactRecord, readContact } from '../api/contact-fields.js';
import {
  answerSaved,
  contactBody,
  contactResponse,
  contactsPage,
  contactsQuery,
  contactsWanted,
  listContactsOperation,
  saveContactOperation,
  type ContactRouteDeps,
} from '../api/contacts.js';
import { asOfField, atParam, momentFrom, pastPage } from '../api/as-of.js';
import { listOf } from '../api/responses.js';
import { route, type Route } from '../server/route.js';
import { byOperator, officeAccess, orgParam, orgPath } from './route.js';

const ofOrganization = z.object({ org: orgParam });

/** The same for the operator, without a rate limit: for imports, which leave erased contacts erased. */
export const operatorContactRoutes = (deps: ContactRouteDeps): readonly Route[] => [
  route(`POST ${orgPath}/contacts`, {
    id: 'saveOrganizationContact',
    tags: ['operator'],
    access: officeAccess,
    params: ofOrganization,
    body: { schema: contactRecord, read: readContact },
    failure: 'create_failed',
    ...saveContactOperation,
    errors: ['invalid_transition'],
    handle: async (request, contact) => {
      const { org } = request.params;
      await organizationOf(deps, org);
      return answerSaved(deps, byOperator(request), org, contact, { decide: saveUnerased });
    },
  }),
  route(`GET ${orgPath}/contacts`, {
    id: 'listOrganizationContacts',
    tags: ['operator'],
    access: officeAccess,
    params: ofOrganization,
    query: contactsQuery.extend({ at: atParam }),
    ...listContactsOperation,
    description: `${listContactsOperation.description} As they are or as they were; those that were deleted since are in neither.`,
    responses: {
      200: {
        description: 'One page of contacts.',
        schema: listOf(contactResponse, 'ContactListThen', asOfField),
      },
    },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment !== null)
        return pastPage(
          await listContactsAt(deps, org, moment, contactsWanted(query)),
          query.limit,
          ({ id }) => id,
          contactBody,
        );
      await organizationOf(deps, org);
      return contactsPage(deps, org, query);
    },
  }),
];
