import { z } from 'zod';
import { readDesigns, readDesignsAt } from '../../../application/organizations/read-accounts.js';
import {
  listAllHandwritings,
  listDoNotMail,
  listWholeCollection,
  type OfficeListDeps,
} from '../../../application/organizations/operator-lists.js';
import { design, designBody, type AccountRouteDeps } from '../api/account.js';
import { asOfBody, asOfField, atQuery, momentFrom } from '../api/as-of.js';
import { pageCursor } from '../schema/fields.js';
import { idOf, shownText } from '../schema/shown.js';
import { collectionRow, handwritingRow } from './catalogue.js';
import { pageQuery, operatorRoute } from './route.js';
import { instant, listOf, pageOf, timestamp, wholeList } from '../api/responses.js';
import { type Route } from '../server/route.js';

export interface OperatorListDeps extends OfficeListDeps, AccountRouteDeps {}

const address = z.object({
  id: idOf('entry'),
  email: shownText('Null if it can no longer be read.', 'ada@example.com').nullable(),
  created_at: instant('When the address was added.'),
});

/** For the operator: small lists, each with entries that public ones leave out. */
export const operatorListRoutes = (deps: OperatorListDeps): readonly Route[] => [
  operatorRoute(`GET /organizations/:org/designs`, {
    id: 'listOrganizationDesigns',
    summary: 'List saved designs, newest first, as they are or as they were',
    query: atQuery,
    answers: { 200: listOf(design, 'DesignListThen', asOfField) },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment === null)
        return { status: 200, body: wholeList((await readDesigns(deps, org)).map(designBody(deps))) };
      const { was, asOf } = await readDesignsAt(deps, org, moment);
      return { status: 200, body: { ...wholeList(was.map(designBody(deps))), ...asOfBody(asOf) } };
    },
  }),
  operatorRoute(`GET /organizations/:org/do-not-mail`, {
    id: 'listDoNotMail',
    summary: 'List the e-mail addresses that must not be mailed, newest first',
    query: pageQuery,
    answers: { 200: listOf(address, 'DoNotMailList') },
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const rows = await listDoNotMail(deps, params.org, { limit, startingAfter });
      return pageOf(
        rows,
        limit,
        ({ id }) => id,
        ({ id, email, addedAt }) => ({ id, email, created_at: timestamp(addedAt) }),
      );
    },
  }),
  operatorRoute('GET /collection', {
    id: 'listWholeCollection',
    summary: 'List the cards of the public collection, withdrawn ones too',
    query: pageQuery.extend({ starting_after: pageCursor('thank-you-botanical') }),
    answers: { 200: listOf(collectionRow, 'WholeCollection') },
    handle: async ({ query: { limit, starting_after: startingAfter } }) =>
      pageOf(
        await listWholeCollection(deps, { limit, startingAfter }),
        limit,
        ({ slug }) => slug,
        ({ slug, title, active }) => ({ slug, title, active }),
      ),
  }),
  operatorRoute('GET /handwriting', {
    id: 'listAllHandwritings',
    summary: 'List the handwritings, withdrawn ones too',
    query: pageQuery.extend({ starting_after: pageCursor('Everyday') }),
    answers: { 200: listOf(handwritingRow, 'AllHandwritings') },
    handle: async ({ query: { limit, starting_after: startingAfter } }) =>
      pageOf(
        await listAllHandwritings(deps, { limit, startingAfter }),
        limit,
        ({ name }) => name,
        ({ name, active }) => ({ name, active }),
      ),
  }),
];
