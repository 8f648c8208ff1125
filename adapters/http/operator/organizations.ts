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
import type { CardStatus } from '../../../domain/card.js';
import { readLine } from '../../../domain/text.js';
import { optional, optionalText, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, nothingToChange, pageQuery, operatorRoute } from './route.js';
import { byId, instant, listOf, pageOf, timestamp } from '../api/responses.js';
import type { Route } from '../server/route.js';

const maxNameLength = 200;
const nameWords = ['The name of the organization.', 'Acme'] as const;
export const newOrganization = z.object({
  name: text(...nameWords, { maxLength: maxNameLength, rule: readLine }),
  house_hand: optionalText(
    'The handwriting of cards for which none is chosen. Omit it for the one of the service.',
    'Everyday',
    { code: 'unknown_handwriting', maxLength: 200 },
  ),
});
export const organizationChange = z.object({
  name: optionalText(...nameWords, { maxLength: maxNameLength, blank: 'refused', rule: readLine }),
  house_hand: optionalText(
    'Name of a handwriting on offer, case-insensitive. Cards that were sent before keep theirs.',
    'Elegant',
    { codes: ['invalid_parameter', 'unknown_handwriting'], blank: 'refused' },
  ),
  suspended: optional(
    shown.boolean(
      'While true, the keys and hooks of the organization get 403 `suspended`, and its webhooks wait.',
      false,
    ),
  ),
});
const organizationState = z.object({
  id: shown.organizationId,
  name: shown.text(...nameWords),
  house_hand: shown.text('The handwriting of cards for which none is chosen.', 'Everyday'),
});
const changedOrganization = organizationState.extend({
  suspended: shown.boolean('Whether the keys and hooks of the organization are refused.', false),
});
const organizationRow = organizationState.extend({
  balance: shown.number('The credits that are left.', 41),
  suspended_at: instant('Since when the organization is suspended.').nullable(),
  created_at: instant('When the organization was created.'),
});

const numbers = {
  pending: shown.number('Cards that wait for their day.', 3),
  blocked: shown.number('Cards that need a person.', 1),
  queued: shown.number('Cards that wait for a machine.', 2),
  in_production: shown.number('Cards that are being made.', 1),
  written: shown.number('Cards that the pen has finished.', 0),
  packed: shown.number('Cards that are in their envelope.', 0),
  posted: shown.number('Cards that the carrier has.', 120),
  cancelled: shown.number('Cards that were cancelled.', 2),
  failed: shown.number('Cards that failed in production.', 0),
} satisfies Readonly<Record<CardStatus, z.ZodInt>>;

const wholeOrganization = organizationRow.extend({
  cards: shown.nested('How many cards have each status.', numbers),
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
  name: optionalText(
    'How the name begins, in any case. The list is then sorted by name; without it, the newest come first.',
    'Acme',
    { maxLength: maxNameLength },
  ),
});

export const organizationRoutes = (deps: AdministrationDeps & ReadAccountsDeps): readonly Route[] => [
  operatorRoute('POST /organizations', {
    id: 'createOrganization',
    summary: 'Create an organization',
    body: whole(newOrganization),
    answers: { 201: organizationState },
    handle: async (request, { name, house_hand }) => {
      const made = await openOrganization(deps, byOperator(request), name, house_hand);
      return { body: bodyOf(made) };
    },
  }),
  operatorRoute('GET /organizations', {
    id: 'listOrganizations',
    summary: 'List organizations, newest first or by name',
    query: organizationQuery,
    answers: { 200: listOf(organizationRow, 'OrganizationList') },
    handle: async ({ query: { limit, name, starting_after: startingAfter } }) => {
      const rows = await listOrganizations(deps, { name, startingAfter, limit });
      return pageOf(rows, limit, byId, rowOf);
    },
  }),
  operatorRoute('GET /organizations/:org', {
    id: 'getOrganization',
    summary: 'Look up an organization',
    answers: { 200: wholeOrganization },
    handle: async ({ params }) => {
      const shown = await readOrganization(deps, params.org);
      return { body: { ...rowOf(shown), cards: shown.cards } };
    },
  }),
  operatorRoute('PATCH /organizations/:org', {
    id: 'updateOrganization',
    summary: 'Rename an organization, choose its house hand, suspend it or end that',
    body: whole(organizationChange),
    answers: { 200: changedOrganization },
    handle: async (request, { name, house_hand: houseHand, suspended: isSuspended }) => {
      if (name === null && houseHand === null && isSuspended === null)
        throw nothingToChange('`name`, `house_hand` or `suspended`');
      const change = { name, houseHand, isSuspended };
      const changed = await changeOrganization(deps, byOperator(request), request.params.org, change);
      return { body: { ...bodyOf(changed), suspended: changed.isSuspended } };
    },
  }),
];
