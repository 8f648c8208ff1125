import { z } from 'zod';
import { readStatement, type StatementLine } from '../../../application/money/credits.js';
import type { WriteDeps } from '../../../application/writing/execute.js';
import { pageCursor, pageLimit } from '../schema/fields.js';
import * as shown from '../schema/shown.js';
import { instant, listOf, pageOf, timestamp } from './responses.js';
import { route, type Route } from '../server/route.js';

export const movementRow = shown.component(
  'CreditMovement',
  'A movement of the credits of an organization.',
  {
    revision: shown.text('Its place in the ledger, from 0. Pass as `starting_after`.', '3'),
    at: instant('When it was made.'),
    kind: z.enum(['purchase', 'withdrawal', 'spend', 'return']).describe('What kind of movement it is.'),
    change: shown.number('What it adds to the balance; negative if it takes.', -1),
    balance: shown.number('The balance that it leaves.', 41),
    card: shown.cardCode.nullable().describe('The code of the card that it is for.'),
    reason: shown.textOrNull('The reason that was given; else null.', 'refund'),
    reference: shown.textOrNull(
      'What the buyer calls the purchase, such as the number of an invoice; null if there is none.',
      'invoice-2026-03',
    ),
    actor: shown.actor,
  },
  {
    examples: [
      {
        revision: '3',
        at: '2026-03-02T15:04:05.678+00:00',
        kind: 'spend',
        change: -1,
        balance: 41,
        card: 'HC-7K3M9QX',
        reason: null,
        reference: null,
        actor: { kind: 'key', id: '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91' },
      },
    ],
  },
);

export const movementList = listOf(movementRow, 'CreditMovementList');

export const cardOf = ({ event }: StatementLine): string | null => {
  if (event.type === 'CreditSpent') return event.data.cause.card;
  if (event.type !== 'CreditReturned') return null;
  const { cause } = event.data;
  return 'owed' in cause ? cause.owed.card : cause.void.card;
};

export const kinds = {
  CreditsPurchased: 'purchase',
  CreditsWithdrawn: 'withdrawal',
  CreditSpent: 'spend',
  CreditReturned: 'return',
} as const;

export const movementBody = (line: StatementLine) => ({
  revision: String(line.revision),
  at: timestamp(line.at),
  kind: kinds[line.event.type],
  change: line.change,
  balance: line.event.data.balance,
  card: cardOf(line),
  reason: 'reason' in line.event.data ? line.event.data.reason : null,
  reference: line.reference,
  actor: line.actor,
});

/** The cause of a movement, as its owner sees it: owners aren't shown which operator it was. */
const forOwner = ({ actor, ...line }: StatementLine) =>
  movementBody({
    ...line,
    actor: actor.kind === 'key' || actor.kind === 'hook' ? actor : { ...actor, id: null },
  });

export const movementRoutes = (deps: WriteDeps): readonly Route[] => [
  route('GET /api/v1/credits/movements', {
    id: 'listCreditMovements',
    summary: 'List the movements of your credits, newest first',
    access: { kind: 'key', scope: 'cards:read' },
    query: z.object({
      limit: pageLimit,
      starting_after: pageCursor('3'),
    }),
    tags: ['account'],
    answers: { 200: ['A page of movements.', movementList] },
    handle: async ({ caller, query: { limit, starting_after: startingAfter } }) => {
      const lines = await readStatement(deps, caller.org, { startingAfter, limit });
      return pageOf(lines, limit, ({ revision }) => String(revision), forOwner);
    },
  }),
];
