import { z } from 'zod';
import {
  changeOrganization,
  openOrganization,
  type AdministrationDeps,
  type OrganizationSummary,
} from '../../../application/organizations/administer.js';
import type { ReadAccountsDeps } from '../../../application/organizations/read-accounts.js';
import {
  listOrganizations,
  readOrganization,
  type ListedOrganization,
} from '../../../application/organizations/read-organizations.js';
import { cardStatuses } from '../../../domain/card.js';
import { DomainError } from '../../../domain/errors.js';
import { optional, optionalText, text } from '../schema/fields.js';
import { whole } from '../schema/read.js';
import { byOperator, orgOf, pageQuery, operatorRoute } from './route.js';
import { instant, listOf, pageOf, timestamp } from '../api/responses.js';
import { type Route } from '../server/route.js';

export interface OrganizationRouteDeps extends AdministrationDeps, ReadAccountsDeps {}

const maxNameLength = 200;
export const newOrganization = z.object({
  name: text({ maxLength: maxNameLength, examples: ['Acme'] }),
  house_hand: optionalText({ code: 'unknown_handwriting', maxLength: 200 }),
});
export const organizationChange = z.object({
  name: optionalText({ maxLength: maxNameLength, blank: 'refused', examples: ['Acme'] }),
  house_hand: optionalText({
    codes: ['invalid_parameter', 'unknown_handwriting'],
    blank: 'refused',
    description: 'Name of a handwriting on offer, case-insensitive. Cards that were sent before keep theirs.',
    examples: ['Elegant'],
  }),
  suspended: optional(
    z.boolean().meta({
      description:
        'While true, the keys and hooks of the organization get 403 `suspended`, and its webhooks wait.',
    }),
  ),
});
const organizationState = z.object({ id: z.string(), name: z.string(), house_hand: z.string() });
const changedOrganization = organizationState.extend({ suspended: z.boolean() });
const organizationRow = organizationState.extend({
  balance: z.int(),
  suspended_at: instant('Since when the organization is suspended.').nullable(),
  created_at: instant('When the organization was created.'),
});

const wholeOrganization = organizationRow.extend({
  cards: z
    .object(Object.fromEntries(cardStatuses.map((status) => [status, z.int()])))
    .describe('How many cards have each status.'),
});

const bodyOf = ({ id, name, houseHand }: OrganizationSummary) => ({ id, name, house_hand: houseHand });

const rowOf = ({ id, name, houseHand, balance, suspendedAt, createdAt }: ListedOrganization) => ({
  id,
  name,
  house_hand: houseHand,
  balance,
  suspended_at: suspendedAt && timestamp(suspendedAt),
  created_at: timestamp(createdAt),
});

const organizationQuery = pageQuery.extend({
  name: optionalText({
    maxLength: maxNameLength,
    description:
      'How the name begins, in any case. The list is then sorted by name; without it, the newest come first.',
  }),
});

const nothingToChange = () =>
  new DomainError(
    'invalid_parameter',
    'Send what is to be changed: `name`, `house_hand` or `suspended`.',
    'house_hand',
  );

export const organizationRoutes = (deps: OrganizationRouteDeps): readonly Route[] => [
  operatorRoute('POST /organizations', {
    id: 'createOrganization',
    summary: 'Create an organization',
    body: whole(newOrganization),
    answers: { 201: organizationState },
    errors: ['unknown_handwriting'],
    handle: async (request, { name, house_hand }) => {
      const made = await openOrganization(deps, byOperator(request), name, house_hand);
      return { status: 201, body: bodyOf(made) };
    },
  }),
  operatorRoute('GET /organizations', {
    id: 'listOrganizations',
    summary: 'List organizations, newest first or by name',
    query: organizationQuery,
    answers: { 200: listOf(organizationRow, 'OrganizationList') },
    errors: ['invalid_cursor', 'invalid_parameter'],
    handle: async ({ query: { limit, name, starting_after: startingAfter } }) => {
      const rows = await listOrganizations(deps, { name, startingAfter, limit });
      return pageOf(rows, limit, ({ id }) => id, rowOf);
    },
  }),
  operatorRoute('GET /organizations/:org', {
    id: 'getOrganization',
    summary: 'Look up an organization',
    answers: { 200: wholeOrganization },
    handle: async ({ params }) => {
      const shown = await readOrganization(deps, orgOf(params));
      return { status: 200, body: { ...rowOf(shown), cards: shown.cards } };
    },
  }),
  operatorRoute('PATCH /organizations/:org', {
    id: 'updateOrganization',
    summary: 'Rename an organization, choose its house hand, suspend it or end that',
    body: whole(organizationChange),
    answers: { 200: changedOrganization },
    errors: ['not_found', 'unknown_handwriting'],
    handle: async (request, { name, house_hand: houseHand, suspended: isSuspended }) => {
      if (name === null && houseHand === null && isSuspended === null) throw nothingToChange();
      const change = { name, houseHand, isSuspended };
      const changed = await changeOrganization(deps, byOperator(request), orgOf(request.params), change);
      return { status: 200, body: { ...bodyOf(changed), suspended: changed.isSuspended } };
    },
  }),
];
