import { ledger, spendFor, type Movement } from '../../domain/credits.js';
import { orderPurchase, purchase, purchaseIdOf } from '../../domain/purchase.js';
import { appendWrites, retry } from '../writing/execute.js';
import { decidedBy } from '../writing/streams.js';
import { bringOrdered, brought, movementOf, returnsOf, type SettlingDeps } from './settle-spend.js';
import type { CardRecord, Payment, Payments, PaymentResult } from './payments.js';

/**
 * Payments on a store that commits several streams at once: a card and the credits that it moves are one
 * commit, so nothing is ever half-done.
 */
export const oneCommitPayments = (deps: SettlingDeps): Payments => {
  const { ledgers, streams } = deps;

  const commit = async (
    { org, command, write, beside }: Payment | CardRecord,
    movements: readonly Movement[],
  ): Promise<PaymentResult | null> => {
    const writes = [write, ...(beside?.writes ?? [])];
    const completing = beside?.claim ?? null;
    if (movements.length === 0) {
      const position = await appendWrites(deps, writes, command, completing);
      return position === null ? null : { position, isComplete: true };
    }
    const moved = await ledgers.move({ org, command, movements, writes, completing });
    return moved.kind === 'conflict' ? null : { position: moved.position, isComplete: true };
  };

  return {
    before: async () => 0,
    pay: (payment) => commit(payment, [spendFor(payment.slot, payment.org)]),
    record: (record) => commit(record, returnsOf(record)),
    buyOnce: (org, command, wanted) =>
      retry(deps, async () => {
        const { revision: ledgerRevision } = await streams.load(ledger, org);
        const id = purchaseIdOf(org, wanted.reference);
        const at = await streams.load(purchase, id);
        const order = { org, ...wanted, ledgerRevision };
        const ordered = decidedBy(command, orderPurchase(order)(at.state));
        if (at.state !== null) return bringOrdered(deps, command, at.state);
        const ordering = streams.write(purchase, at, ordered);
        const movement = { movements: [movementOf(order)], since: ledgerRevision };
        const moved = await ledgers.move({ org, command, ...movement, writes: [ordering] });
        return moved.kind === 'conflict' ? null : brought(deps, command, order, ledgerRevision);
      }),
    openOrders: async () => [],
  };
};
