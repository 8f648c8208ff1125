import { listContactsAt } from '../../../application/contacts/list-contacts.js';
import { organizationOf } from '../../../application/organizations/administer.js';
import { saveUnerased } from '../../../domain/contact.js';
import { contactRecord, readContact } from '../api/contact-fields.js';
import * as api from '../api/contacts.js';
import { asOfField, atParam, momentFrom, pastPage } from '../api/as-of.js';
import { byId, listOf } from '../api/responses.js';
import type { Route } from '../server/route.js';
import { byOperator, operatorRoute } from './route.js';

/** The same for the operator, without a rate limit: for imports, which leave erased contacts erased. */
export const operatorContactRoutes = (deps: api.ContactRouteDeps): readonly Route[] => [
  operatorRoute('POST /organizations/:org/contacts', {
    id: 'saveOrganizationContact',
    body: { schema: contactRecord, read: readContact },
    failure: 'create_failed',
    ...api.saveContactOperation,
    errors: ['invalid_transition'],
    handle: async (request, contact) => {
      const { org } = request.params;
      await organizationOf(deps, org);
      return api.answerSaved(deps, byOperator(request), org, contact, { decide: saveUnerased });
    },
  }),
  operatorRoute('GET /organizations/:org/contacts', {
    id: 'listOrganizationContacts',
    query: api.contactsQuery.extend({ at: atParam }),
    ...api.listContactsOperation,
    description: `${api.listContactsOperation.description} As they are or as they were; those that were deleted since are in neither.`,
    answers: { 200: ['One page of contacts.', listOf(api.contactResponse, 'ContactListThen', asOfField)] },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment !== null) {
        const pasts = await listContactsAt(deps, org, moment, api.contactsWanted(query));
        return pastPage(pasts, query.limit, byId, api.contactBody);
      }
      await organizationOf(deps, org);
      return api.contactsPage(deps, org, query);
    },
  }),
];
