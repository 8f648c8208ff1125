import { z } from 'zod';
import { listContactsAt } from '../../../application/contacts/list-contacts.js';
import {
  addDesign,
  addToDoNotMail,
  organizationOf,
  removeFromDoNotMail,
  type AdministrationDeps,
  changeDesign,
} from '../../../application/organizations/administer.js';
import { listDoNotMail, type OfficeListDeps } from '../../../application/organizations/operator-lists.js';
import { readDesigns, readDesignsAt } from '../../../application/organizations/read-accounts.js';
import { saveUnerased } from '../../../domain/contact.js';
import { readEmail, readMailbox } from '../../../domain/email.js';
import { archiveDesign, withdrawDesign } from '../../../domain/organization.js';
import { readLine } from '../../../domain/text.js';
import { design, designBody, type AccountRouteDeps } from '../api/account.js';
import { asOfBody, asOfField, atParam, atQuery, momentFrom, pastPage } from '../api/as-of.js';
import { contactRecord, readContact } from '../api/contact-fields.js';
import * as contacts from '../api/contacts.js';
import { byId, instant, listOf, pageOf, timestamp, wholeList } from '../api/responses.js';
import { optionalText, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import type { Route } from '../server/route.js';
import { reasonLike } from './cards.js';
import { byOperator, operatorRoute, orgParam, pageQuery } from './route.js';

export const newDesign = z.object({
  name: text('The name of the design.', 'Thank you', { maxLength: 200, rule: readLine }),
  collection_slug: optionalText(
    'The card of the public collection of which the design is a copy.',
    'thank-you-botanical',
    { code: 'design_not_found', codes: ['design_not_found', 'too_many_designs'], maxLength: 200 },
  ),
});
const savedDesign = z.object({
  id: shown.idOf('design'),
  name: shown.text('The name of the design.', 'Thank you'),
});

const withdrawalState = z.object({
  id: shown.idOf('design'),
  withdrawn: shown.boolean('Whether it is withdrawn.'),
});

const emailWords = ['The e-mail address.', 'ada@example.com'] as const;
export const doNotMail = z.object({
  email: text(...emailWords, { list: 'of one', rule: readMailbox }),
});
const doNotMailState = z.object({
  email: shown.text(...emailWords),
  do_not_mail: shown.boolean('Whether the address is on the list.'),
});

const address = z.object({
  id: shown.idOf('entry'),
  email: shown.textOrNull('Null if it can no longer be read.', 'ada@example.com'),
  created_at: instant('When the address was added.'),
});

/** For the operator: the designs and the do-not-mail list of a customer. */
export const customerRoutes = (
  deps: AdministrationDeps & OfficeListDeps & AccountRouteDeps,
): readonly Route[] => [
  operatorRoute(`GET /organizations/:org/designs`, {
    id: 'listOrganizationDesigns',
    summary: 'List saved designs, newest first, as they are or as they were',
    query: atQuery,
    answers: { 200: listOf(design, 'DesignListThen', asOfField) },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment === null) return { body: wholeList((await readDesigns(deps, org)).map(designBody(deps))) };
      const { was, asOf } = await readDesignsAt(deps, org, moment);
      return { body: { ...wholeList(was.map(designBody(deps))), ...asOfBody(asOf) } };
    },
  }),
  operatorRoute(`GET /organizations/:org/do-not-mail`, {
    id: 'listDoNotMail',
    summary: 'List the e-mail addresses that must not be mailed, newest first',
    query: pageQuery,
    answers: { 200: listOf(address, 'DoNotMailList') },
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const rows = await listDoNotMail(deps, params.org, { limit, startingAfter });
      return pageOf(rows, limit, byId, ({ id, email, addedAt }) => ({
        id,
        email,
        created_at: timestamp(addedAt),
      }));
    },
  }),
  operatorRoute(`POST /organizations/:org/designs`, {
    id: 'saveDesign',
    summary: "Save a design, or the organization's copy of a collection card",
    body: whole(newDesign),
    answers: { 200: savedDesign, 201: savedDesign },
    handle: async (request, { name, collection_slug }) => {
      const design = await addDesign(deps, byOperator(request), request.params.org, name, collection_slug);
      return { status: design.made ? 201 : 200, body: { id: design.id, name: design.name } };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/designs/:id`, {
    id: 'archiveDesign',
    summary: 'Archive a saved design',
    answers: { 200: z.object({ id: shown.idOf('design'), archived: shown.alwaysTrue }) },
    handle: async (request) => {
      const { id } = request.params;
      await changeDesign(deps, byOperator(request), request.params.org, archiveDesign(id));
      return { body: { id, archived: true } };
    },
  }),
  operatorRoute(`POST /organizations/:org/designs/:id/withdraw`, {
    id: 'withdrawDesign',
    summary: 'Withdraw a design, and hold its cards that are not in production',
    body: whole(reasonLike('The picture has a misprint.')),
    answers: { 200: withdrawalState },
    handle: async (request, { reason }) => {
      const { id } = request.params;
      await changeDesign(deps, byOperator(request), request.params.org, withdrawDesign(id, reason));
      return { body: { id, withdrawn: true } };
    },
  }),
  operatorRoute(`POST /organizations/:org/designs/:id/reinstate`, {
    id: 'reinstateDesign',
    summary: 'Put a withdrawn design back into use; its cards stay held',
    answers: { 200: withdrawalState },
    handle: async (request) => {
      const { id } = request.params;
      await changeDesign(deps, byOperator(request), request.params.org, withdrawDesign(id, null));
      return { body: { id, withdrawn: false } };
    },
  }),
  operatorRoute(`POST /organizations/:org/do-not-mail`, {
    id: 'addToDoNotMail',
    summary: 'Add an e-mail address to the do-not-mail list',
    body: whole(doNotMail),
    answers: { 201: doNotMailState },
    handle: async (request, { email: address }) => {
      await addToDoNotMail(deps, byOperator(request), request.params.org, address);
      return { body: { email: address, do_not_mail: true } };
    },
  }),
  operatorRoute(`DELETE /organizations/:org/do-not-mail/:email`, {
    id: 'removeFromDoNotMail',
    summary: 'Remove an e-mail address from the do-not-mail list',
    params: z.object({ org: orgParam, email: text(...emailWords, { rule: readEmail }) }),
    answers: { 200: doNotMailState },
    handle: async (request) => {
      const { email: address } = request.params;
      await removeFromDoNotMail(deps, byOperator(request), request.params.org, address);
      return { body: { email: address, do_not_mail: false } };
    },
  }),
];

/** For the operator: contacts, without a rate limit: for imports, which leave erased contacts erased. */
export const operatorContactRoutes = (deps: contacts.ContactRouteDeps): readonly Route[] => [
  operatorRoute('POST /organizations/:org/contacts', {
    id: 'saveOrganizationContact',
    body: { schema: contactRecord, read: readContact },
    failure: 'create_failed',
    ...contacts.saveContactOperation,
    errors: ['invalid_transition'],
    handle: async (request, contact) => {
      const { org } = request.params;
      await organizationOf(deps, org);
      return contacts.answerSaved(deps, byOperator(request), org, contact, { decide: saveUnerased });
    },
  }),
  operatorRoute('GET /organizations/:org/contacts', {
    id: 'listOrganizationContacts',
    query: contacts.contactsQuery.extend({ at: atParam }),
    ...contacts.listContactsOperation,
    description: `${contacts.listContactsOperation.description} As they are or as they were; those that were deleted since are in neither.`,
    answers: {
      200: ['One page of contacts.', listOf(contacts.contactResponse, 'ContactListThen', asOfField)],
    },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment !== null) {
        const pasts = await listContactsAt(deps, org, moment, contacts.contactsWanted(query));
        return pastPage(pasts, query.limit, byId, contacts.contactBody);
      }
      await organizationOf(deps, org);
      return contacts.contactsPage(deps, org, query);
    },
  }),
];
