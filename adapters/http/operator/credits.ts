import { z } from 'zod';
import { type AdministrationDeps, organizationOf } from '../../../application/organizations/administer.js';
import {
  addCredits,
  readBalanceAt,
  readStatement,
  withdrawCredits,
  type CreditDeps,
} from '../../../application/money/credits.js';
import { readBalance, type ReadAccountsDeps } from '../../../application/organizations/read-accounts.js';
import { maxBalance } from '../../../domain/credits.js';
import { movementBody, movementList, movementRow } from '../api/credit-movements.js';
import { asOfBody, asOfField, atQuery, momentFrom } from '../api/as-of.js';
import { annotations, optionalText, pageCursor, reasonFacts, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { byOperator, pageQuery, operatorRoute } from './route.js';
import { pageOf } from '../api/responses.js';
import type { Route } from '../server/route.js';

const amount = z
  .int()
  .min(1)
  .max(maxBalance)
  .meta({
    ...annotations(shown.words('How many credits.', 100, { code: 'invalid_parameter' })),
    maximum: maxBalance,
  });
export const purchase = z.object({
  amount,
  reason: optionalText('Why, in your words.', 'Invoice 2026-03', reasonFacts),
  reference: optionalText(
    'Your own text, such as an invoice number. A reference buys once: a repeat gets the same response and buys nothing, and another amount is refused.',
    'invoice 2026-0042',
    { codes: ['invalid_parameter', 'invalid_transition'], maxLength: 200 },
  ),
});
const withdrawal = z.object({
  amount: amount.meta({ description: 'At most the balance.' }),
  reason: text('Why, in your words.', 'Refund of invoice 2026-0042', reasonFacts),
});
const balanceLeft = z.object({ balance: shown.number('The balance that is left.', 141) });

const balanceAt = z.object({
  object: shown.objectKind('credit_balance'),
  balance: shown.number('The credits that are left.', 41),
  last_movement: movementRow
    .nullable()
    .optional()
    .describe('There if `at` was sent: the movement that left the balance; null if there is none.'),
  ...asOfField,
});

/** For the operator: the credits of an organization. */
export const creditRoutes = (deps: AdministrationDeps & CreditDeps & ReadAccountsDeps): readonly Route[] => [
  operatorRoute(`POST /organizations/:org/credits`, {
    id: 'addCredits',
    summary: 'Add credits',
    body: whole(purchase),
    answers: { 201: balanceLeft },
    handle: async (request, { amount, reason, reference }) => {
      const bought = { amount, reason, reference };
      const balance = await addCredits(deps, byOperator(request), request.params.org, bought);
      return { body: { balance } };
    },
  }),
  operatorRoute(`GET /organizations/:org/credits`, {
    id: 'getOrganizationCredits',
    summary: 'Read the balance, now or at an earlier moment',
    query: atQuery,
    answers: { 200: balanceAt },
    handle: async ({ params: { org }, query }) => {
      const moment = await momentFrom(deps.store, query.at, 'at');
      if (moment === null) {
        await organizationOf(deps, org);
        return { body: { object: 'credit_balance', balance: await readBalance(deps, org) } };
      }
      const { balance, last, asOf } = await readBalanceAt(deps, org, moment);
      const movement = last && movementBody(last);
      return { body: { object: 'credit_balance', balance, last_movement: movement, ...asOfBody(asOf) } };
    },
  }),
  operatorRoute(`GET /organizations/:org/credits/movements`, {
    id: 'listOrganizationCreditMovements',
    summary: 'List the movements of the credits, newest first',
    query: pageQuery.extend({ starting_after: pageCursor('3') }),
    answers: { 200: movementList },
    handle: async ({ params, query: { limit, starting_after: startingAfter } }) => {
      const lines = await readStatement(deps, params.org, { startingAfter, limit });
      return pageOf(lines, limit, ({ revision }) => String(revision), movementBody);
    },
  }),
  operatorRoute(`POST /organizations/:org/credits/withdraw`, {
    id: 'withdrawCredits',
    summary: 'Take credits back; the balance is never below 0',
    body: whole(withdrawal),
    answers: { 201: balanceLeft },
    errors: ['no_credits'],
    handle: async (request, { amount: taken, reason }) => {
      const { org } = request.params;
      const balance = await withdrawCredits(deps, byOperator(request), org, taken, reason);
      return { body: { balance } };
    },
  }),
];
