import { z } from 'zod';
import { type AdministrationDeps, organizationOf } from '../../../application/organizations/administer.js';
import {
  addCredits,
  readBalanceAt,
  readStatement,
  withdrawCredits,
  type CreditDeps,
} from '../../../application/money/credits.js';
import { reconcileCredits, type ReconcileCreditsDeps } from '../../../application/money/reconcile-credits.js';
import { readBalance, type ReadAccountsDeps } from '../../../application/organizations/read-accounts.js';
import { maxBalance } from '../../../domain/credits.js';
import type { Booking, Reconciliation } from '../../../domain/reconciliation.js';
import { movementBody, movementList, movementRow } from '../api/credit-movements.js';
import { asOfBody, asOfField, atQuery, momentFrom, momentParam } from '../api/as-of.js';
import { annotations, optionalText, pageCursor, reasonFacts, text } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { csvOf } from '../server/csv.js';
import { preferredType } from '../server/media-types.js';
import { byOperator, operatorAccess, pageQuery, operatorRoute } from './route.js';
import { instant, pageOf, timestamp } from '../api/responses.js';
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

const booking = z.object({
  position: shown.position,
  at: instant('When it was made.'),
  amount: shown.number('How many credits.', 100),
  reference: shown.textOrNull('What the buyer calls it; null if there is none.', 'order-1001'),
  reason: shown.textOrNull('The reason that was given; null if there was none.', 'The address needs a look.'),
  actor: shown.actor,
});

const subject = shown.text(
  'What it is about: a card, a purchase or a place in the ledger.',
  shown.examples.card,
);

const reconciliation = shown.component('Reconciliation', 'The credits of an organization, added up.', {
  object: shown.objectKind('reconciliation'),
  organization: shown.organizationId,
  from: shown.nullText('As it was sent; null for the beginning.'),
  to: shown.nullText('As it was sent; null for now.'),
  opening: shown.number('The balance at the beginning of the period.', 0),
  purchased: shown.number('Credits that were added.', 50),
  withdrawn: shown.number('Credits that were taken back.', 5),
  spent: shown.number('Credits that were spent.', 6),
  returned: shown.number('Credits that came back.', 2),
  closing: shown.number(
    'The balance in the last movement: opening + purchased − withdrawn − spent + returned.',
    41,
  ),
  cards: shown.nested('What the credits were spent on, and why they came back.', {
    paid: shown.number('Spends that paid for a card.', 6),
    cancelled: shown.number('Credits that came back for cancelled cards.', 1),
    failed: shown.number('Credits that came back for failed cards.', 0),
    held: shown.number('Credits that came back for cards that were put on hold.', 1),
    void: shown.number('Credits that came back because their spend paid for nothing.', 0),
  }),
  purchases: z.array(booking).describe('Every purchase of the period.'),
  withdrawals: z.array(booking).describe('Every withdrawal of the period.'),
  open: shown.list('What is under way. The reconciler settles what stays open.', {
    kind: z.enum(['spend', 'debt', 'purchase', 'movement']).describe('What is under way.'),
    subject,
    amount: shown.number('How many credits it is about.', 1),
    at: instant('Since when.'),
    position: shown.position,
  }),
  findings: shown.list('What must not be. Empty if the books are right.', {
    code: z
      .enum(['wrong_balance', 'cause_moved_twice', 'wrong_amount', 'paid_card_returned', 'overdue'])
      .describe('What is wrong.'),
    subject,
    position: shown.position,
    message: shown.text('What is wrong, in plain words.', 'The balance is 41, and the movements make 40.'),
  }),
});

const bookingBody = ({ position: at, at: time, ...rest }: Booking) => ({
  position: at?.toString() ?? null,
  at: timestamp(time),
  ...rest,
});

const booksOf = (asked: object, { purchases, withdrawals, open, findings, ...sums }: Reconciliation) => ({
  object: 'reconciliation',
  ...asked,
  ...sums,
  purchases: purchases.map(bookingBody),
  withdrawals: withdrawals.map(bookingBody),
  open: open.map(({ at, position: place, ...item }) => ({
    ...item,
    at: timestamp(at),
    position: place?.toString() ?? null,
  })),
  findings: findings.map(({ position: place, ...finding }) => ({
    ...finding,
    position: place?.toString() ?? null,
  })),
});

const columns = [
  'line',
  'amount',
  'at',
  'position',
  'reference',
  'reason',
  'actor',
  'subject',
  'message',
] as const;

/** The same as rows, in the order in which an accountant adds them up. */
const rowsOf = (body: ReturnType<typeof booksOf>): readonly Readonly<Record<string, unknown>>[] => {
  const sum = (line: 'opening' | 'purchased' | 'withdrawn' | 'spent' | 'returned' | 'closing') => ({
    line,
    amount: body[line],
  });
  const rows = (line: string, items: readonly object[]) => items.map((item) => ({ line, ...item }));
  const actor = (items: readonly ReturnType<typeof bookingBody>[]) =>
    items.map((item) => ({ ...item, actor: [item.actor.kind, item.actor.id].filter(Boolean).join(' ') }));
  return [
    sum('opening'),
    ...rows('purchase', actor(body.purchases)),
    sum('purchased'),
    ...rows('withdrawal', actor(body.withdrawals)),
    sum('withdrawn'),
    sum('spent'),
    sum('returned'),
    sum('closing'),
    ...Object.entries(body.cards).map(([why, amount]) => ({ line: `cards ${why}`, amount })),
    ...body.open.map(({ kind, ...item }) => ({ line: `open ${kind}`, ...item })),
    ...body.findings.map(({ code, ...finding }) => ({ line: `finding ${code}`, ...finding })),
  ];
};

/** For the operator: the books of an organization. */
export const reconciliationRoutes = (deps: ReconcileCreditsDeps): readonly Route[] => [
  operatorRoute(`GET /organizations/:org/reconciliation`, {
    id: 'reconcileCredits',
    summary: 'Add up the credits of an organization, and find what is wrong',
    access: operatorAccess,
    query: z.object({
      from: momentParam(
        'Where the period begins, after this position or time. Omit it for the beginning.',
        '2026-02-28T23:59:59Z',
      ),
      to: momentParam('Where the period ends, with this position or time. Omit it for now.'),
    }),
    responses: {
      200: {
        description: 'The books, as JSON or, by `Accept`, as CSV.',
        schema: reconciliation,
        alsoAs: ['text/csv'],
      },
    },
    handle: async (request) => {
      const { from, to } = request.query;
      const { org } = request.params;
      const begins = await momentFrom(deps.store, from, 'from');
      const ends = await momentFrom(deps.store, to, 'to');
      const body = booksOf({ organization: org, from, to }, await reconcileCredits(deps, org, begins, ends));
      const type = preferredType(request.header('accept'), ['application/json', 'text/csv']);
      if (type === 'application/json') return { body };
      return { type: 'text/csv; charset=utf-8', text: csvOf(columns, rowsOf(body)) };
    },
  }),
];
