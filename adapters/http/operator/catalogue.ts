import { z } from 'zod';
import {
  offerHandwriting,
  publishCollectionCard,
  type AdministrationDeps,
} from '../../../application/organizations/administer.js';
import { maxLabelLength, text } from '../schema/fields.js';
import { whole } from '../schema/read.js';
import type { Route } from '../server/route.js';
import { byOperator, operatorRoute } from './route.js';

export const collectionCard = z.object({
  title: text({ maxLength: maxLabelLength, examples: ['Thank you, botanical'] }),
  active: z.boolean(),
});
export const collectionSlug = text({
  maxLength: 100,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_-]*$/,
  hint: 'letters, digits, hyphens and underscores',
  examples: ['thank-you-botanical'],
});
const handwritingState = z.object({ active: z.boolean() });
export const handwritingName = text({
  maxLength: 100,
  description: 'Compared in any case; a known handwriting keeps its spelling.',
});

export const catalogueRoutes = (deps: AdministrationDeps): readonly Route[] => [
  operatorRoute('PUT /collection/:slug', {
    id: 'putCollectionCard',
    summary: 'Publish or withdraw a card of the public collection',
    params: z.object({ slug: collectionSlug }),
    body: whole(collectionCard),
    answers: { 200: z.object({ slug: z.string(), title: z.string(), active: z.boolean() }) },
    errors: [],
    handle: async (request, { title, active }) => {
      const { slug } = request.params;
      await publishCollectionCard(deps, byOperator(request), slug, title, active);
      return { status: 200, body: { slug, title, active } };
    },
  }),
  operatorRoute('PUT /handwriting/:name', {
    id: 'putHandwriting',
    summary: 'Offer or withdraw a handwriting',
    params: z.object({ name: handwritingName }),
    body: whole(handwritingState),
    answers: { 200: z.object({ name: z.string(), active: z.boolean() }) },
    errors: [],
    handle: async (request, { active }) => {
      const name = await offerHandwriting(deps, byOperator(request), request.params.name, active);
      return { status: 200, body: { name, active } };
    },
  }),
];
