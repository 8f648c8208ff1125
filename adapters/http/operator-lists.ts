import { z } from 'zod';
import {
  readDesigns,
  readDesignsAt,
  type ReadAccountsDeps,
} from '../../application/organizations/read-accounts.js';
import {
  listAllHandwritings,
  listDoNotMail,
  listWholeCollection,
  type OfficeListDeps,
} from '../../application/organizations/read-office-lists.js';
import { design, designBody } from './account.js';
import { asOfBody, asOfField, atErrors, atQuery, momentFrom } from './moments.js';
import { officeAccess, operatorOperation, orgOf, orgOnly, orgPath, pageQuery } from './operator.js';
import { instant, listOf, pageOf, timestamp, wholeList } from './responses.js';
import { route, type Route } from './route.js';

export interface OperatorListDeps extends OfficeListDeps, ReadAccountsDeps {}

const address = z.object({
  id: z.string(),
  email: z.string().nullable().describe('Null if it can not be read any more.'),
  created_at: instant('When the address was added.'),
});
const collectionRow = z.object({ slug: z.string(), title: z.string(), active: z.boolean() });
const handwritingRow = z.object({ name: z.string(), active: z.boolean() });

const failure = 'read_failed';

/** For the operator: small lists, each with what public ones leave out. */
export const operatorListRoutes = (deps: OperatorListDeps): readonly Route[] => [
  route({
    method: 'GET',
    path: `${orgPath}/designs`,
    access: officeAccess,
    params: orgOnly,
    query: atQuery,
    failure,
    operation: operatorOperation(
      'listOrganizationDesigns',
      'List saved designs, newest first, as they are or as they were',
      { 200: listOf(design, 'DesignListThen', asOfField) },
      ['not_found', ...atErrors],
    ),
    handle: async ({ params, query }) => {
      const org = orgOf(params);
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment === null)
        return { status: 200, body: wholeList((await readDesigns(deps, org)).map(designBody)) };
      const { was, asOf } = await readDesignsAt(deps, org, moment);
      return { status: 200, body: { ...wholeList(was.map(designBody)), ...asOfBody(asOf) } };
    },
  }),
  route({
    method: 'GET',
    path: `${orgPath}/do-not-mail`,
    access: officeAccess,
    params: orgOnly,
    query: pageQuery,
    failure,
    operation: operatorOperation(
      'listDoNotMail',
      'List the e-mail addresses that must not be mailed, newest first',
      { 200: listOf(address, 'DoNotMailList') },
      ['not_found', 'invalid_cursor', 'invalid_parameter'],
    ),
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const rows = await listDoNotMail(deps, orgOf(params), { limit, startingAfter });
      return pageOf(
        rows,
        limit,
        ({ id }) => id,
        ({ id, email, addedAt }) => ({ id, email, created_at: timestamp(addedAt) }),
      );
    },
  }),
  route({
    method: 'GET',
    path: '/operator/v1/collection',
    access: officeAccess,
    query: pageQuery,
    failure,
    operation: operatorOperation(
      'listWholeCollection',
      'List the cards of the public collection, withdrawn ones too',
      { 200: listOf(collectionRow, 'WholeCollection') },
      ['invalid_cursor', 'invalid_parameter'],
    ),
    handle: async ({ query: { limit, starting_after: startingAfter } }) =>
      pageOf(
        await listWholeCollection(deps, { limit, startingAfter }),
        limit,
        ({ slug }) => slug,
        ({ slug, title, active }) => ({ slug, title, active }),
      ),
  }),
  route({
    method: 'GET',
    path: '/operator/v1/handwriting',
    access: officeAccess,
    query: pageQuery,
    failure,
    operation: operatorOperation(
      'listAllHandwritings',
      'List the handwritings, withdrawn ones too',
      { 200: listOf(handwritingRow, 'AllHandwritings') },
      ['invalid_cursor', 'invalid_parameter'],
    ),
    handle: async ({ query: { limit, starting_after: startingAfter } }) =>
      pageOf(
        await listAllHandwritings(deps, { limit, startingAfter }),
        limit,
        ({ name }) => name,
        ({ name, active }) => ({ name, active }),
      ),
  }),
];
