import { z } from 'zod';
import { reconcileCredits, type ReconcileCreditsDeps } from '../../../application/money/reconcile-credits.js';
import type { Booking, Reconciliation } from '../../../domain/reconciliation.js';
import { csvOf } from '../server/csv.js';
import { preferredType } from '../server/media-types.js';
import { momentFrom, momentParam } from '../api/as-of.js';
import { operatorAccess, orgOf, operatorRoute } from './route.js';
import { instant, timestamp } from '../api/responses.js';
import { type Route } from '../server/route.js';

const position = z
  .string()
  .nullable()
  .describe('Position in the log. Null if the event store does not give it for a single stream.');

const booking = z.object({
  position,
  at: instant('When it was made.'),
  amount: z.int(),
  reference: z.string().nullable(),
  reason: z.string().nullable(),
  actor: z.object({ kind: z.string(), id: z.string().nullable() }),
});

const reconciliation = z
  .object({
    object: z.literal('reconciliation'),
    organization: z.string(),
    from: z.string().nullable().describe('As it was sent; null for the beginning.'),
    to: z.string().nullable().describe('As it was sent; null for now.'),
    opening: z.int().describe('The balance at the beginning of the period.'),
    purchased: z.int(),
    withdrawn: z.int(),
    spent: z.int(),
    returned: z.int(),
    closing: z
      .int()
      .describe('The balance in the last movement: opening + purchased − withdrawn − spent + returned.'),
    cards: z.object({
      paid: z.int().describe('Spends that paid for a card.'),
      cancelled: z.int().describe('Credits that came back for cancelled cards.'),
      failed: z.int().describe('Credits that came back for failed cards.'),
      held: z.int().describe('Credits that came back for cards that were put on hold.'),
      void: z.int().describe('Credits that came back because their spend paid for nothing.'),
    }),
    purchases: z.array(booking),
    withdrawals: z.array(booking),
    open: z
      .array(
        z.object({
          kind: z.enum(['spend', 'debt', 'purchase', 'movement']),
          subject: z.string(),
          amount: z.int(),
          at: instant('Since when.'),
          position,
        }),
      )
      .describe('What is under way. The reconciler settles what stays open.'),
    findings: z
      .array(
        z.object({
          code: z.enum([
            'wrong_balance',
            'cause_moved_twice',
            'wrong_amount',
            'paid_card_returned',
            'overdue',
          ]),
          subject: z.string(),
          position,
          message: z.string(),
        }),
      )
      .describe('What must not be. Empty if the books are right.'),
  })
  .meta({ id: 'Reconciliation' });

const shown = (at: bigint | null): string | null => (at === null ? null : String(at));

const bookingBody = ({ position: at, at: time, ...rest }: Booking) => ({
  position: shown(at),
  at: timestamp(time),
  ...rest,
});

interface Asked {
  readonly organization: string;
  readonly from: string | null;
  readonly to: string | null;
}

const bodyOf = (asked: Asked, { purchases, withdrawals, open, findings, ...sums }: Reconciliation) => ({
  object: 'reconciliation',
  ...asked,
  ...sums,
  purchases: purchases.map(bookingBody),
  withdrawals: withdrawals.map(bookingBody),
  open: open.map(({ at, position: place, ...item }) => ({
    ...item,
    at: timestamp(at),
    position: shown(place),
  })),
  findings: findings.map(({ position: place, ...finding }) => ({ ...finding, position: shown(place) })),
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
const rowsOf = (body: ReturnType<typeof bodyOf>): readonly Readonly<Record<string, unknown>>[] => {
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
    errors: ['not_found', 'invalid_parameter'],
    handle: async (request) => {
      const { from, to } = request.query;
      const org = orgOf(request.params);
      const begins = await momentFrom(deps.store, from, 'from');
      const ends = await momentFrom(deps.store, to, 'to');
      const body = bodyOf({ organization: org, from, to }, await reconcileCredits(deps, org, begins, ends));
      const type = preferredType(request.header('accept'), ['application/json', 'text/csv']);
      if (type === 'application/json') return { status: 200, body };
      return { status: 200, type: 'text/csv; charset=utf-8', text: csvOf(columns, rowsOf(body)) };
    },
  }),
];
