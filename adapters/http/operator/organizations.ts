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
import { DomainError } from '../../../domain/errors.js';
import { readLine } from '../../../domain/text.js';
import { optional, optionalText, text } from '../schema/fields.js';
import { organizationId, shownNumber, shownText } from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, pageQuery, operatorRoute } from './route.js';
import { byId, instant, listOf, pageOf, timestamp } from '../api/responses.js';
import type { Route } from '../server/route.js';

const maxNameLength = 200;
const nameWords = { description: 'The name of the organization.', examples: ['Acme'] };
export const newOrganization = z.object({
  name: text({ maxLength: maxNameLength, ...nameWords }, readLine),
  house_hand: optionalText({
    code: 'unknown_handwriting',
    maxLength: 200,
    description: 'The handwriting of cards for which none is chosen. Omit it for the one of the service.',
    examples: ['Everyday'],
  }),
});
export const organizationChange = z.object({
  name: optionalText({ maxLength: maxNameLength, blank: 'refused', ...nameWords }, readLine),
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
      examples: [false],
    }),
  ),
});
const organizationState = z.object({
  id: organizationId,
  name: shownText(nameWords.description, 'Acme'),
  house_hand: shownText('The handwriting of cards for which none is chosen.', 'Everyday'),
});
const changedOrganization = organizationState.extend({
  suspended: z
    .boolean()
    .meta({ description: 'Whether the keys and hooks of the organization are refused.', examples: [false] }),
});
const organizationRow = organizationState.extend({
  balance: shownNumber('The credits that are left.', 41),
  suspended_at: instant('Since when the organization is suspended.').nullable(),
  created_at: instant('When the organization was created.'),
});

const numbers = {
  pending: shownNumber('Cards that wait for their day.', 3),
  blocked: shownNumber('Cards that need a person.', 1),
  queued: shownNumber('Cards that wait for a machine.', 2),
  in_production: shownNumber('Cards that are being made.', 1),
  written: shownNumber('Cards that the pen has finished.', 0),
  packed: shownNumber('Cards that are in their envelope.', 0),
  posted: shownNumber('Cards that the carrier has.', 120),
  cancelled: shownNumber('Cards that were cancelled.', 2),
  failed: shownNumber('Cards that failed in production.', 0),
} satisfies Readonly<Record<CardStatus, z.ZodInt>>;

const wholeOrganization = organizationRow.extend({
  cards: z.object(numbers).describe('How many cards have each status.'),
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
    examples: ['Acme'],
  }),
});

const nothingToChange = () =>
  new DomainError('invalid_parameter', 'Send what is to be changed: `name`, `house_hand` or `suspended`.');

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
      if (name === null && houseHand === null && isSuspended === null) throw nothingToChange();
      const change = { name, houseHand, isSuspended };
      const changed = await changeOrganization(deps, byOperator(request), request.params.org, change);
      return { body: { ...bodyOf(changed), suspended: changed.isSuspended } };
    },
  }),
];
