import { z } from 'zod';
import {
  offerHandwriting,
  publishCollectionCard,
  type AdministrationDeps,
} from '../../../application/organizations/administer.js';
import {
  listAllHandwritings,
  listWholeCollection,
  type OfficeListDeps,
} from '../../../application/organizations/operator-lists.js';
import { listOf, pageOf } from '../api/responses.js';
import { labelFacts, pageCursor, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import type { Route } from '../server/route.js';
import { byOperator, operatorRoute, pageQuery } from './route.js';

const active = shown.boolean('Whether it is on offer.');
const collectionRow = z.object({
  slug: shown.text('The name of the card in the collection.', 'thank-you-botanical'),
  title: shown.text('The title of the card.', 'Thank you, botanical'),
  active,
});
const handwritingRow = z.object({
  name: shown.text('The name of the handwriting.', 'Everyday'),
  active,
});

export const collectionCard = z.object({
  title: text('The title of the card.', 'Thank you, botanical', labelFacts),
  active,
});
export const collectionSlug = text('The name of the card in the collection.', 'thank-you-botanical', {
  maxLength: 100,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_-]*$/,
  hint: 'letters, digits, hyphens and underscores',
});
export const slugAndTitle = collectionCard.pick({ title: true }).extend({ slug: collectionSlug });
const handwritingState = z.object({ active });
export const handwritingName = text(
  'Compared in any case; a known handwriting keeps its spelling.',
  'Spidery',
  { maxLength: 100 },
);

/** For the operator: what is on offer. */
export const catalogueRoutes = (deps: AdministrationDeps & OfficeListDeps): readonly Route[] => [
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
  operatorRoute('PUT /collection/:slug', {
    id: 'putCollectionCard',
    summary: 'Publish or withdraw a card of the public collection',
    params: z.object({ slug: collectionSlug }),
    body: whole(collectionCard),
    answers: { 200: collectionRow },
    handle: async (request, { title, active }) => {
      const { slug } = request.params;
      await publishCollectionCard(deps, byOperator(request), slug, title, active);
      return { body: { slug, title, active } };
    },
  }),
  operatorRoute('PUT /handwriting/:name', {
    id: 'putHandwriting',
    summary: 'Offer or withdraw a handwriting',
    params: z.object({ name: handwritingName }),
    body: whole(handwritingState),
    answers: { 200: handwritingRow },
    handle: async (request, { active }) => {
      const name = await offerHandwriting(deps, byOperator(request), request.params.name, active);
      return { body: { name, active } };
    },
  }),
];
