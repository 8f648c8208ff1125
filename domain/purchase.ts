import { z } from 'zod';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { CommandId, derivedUuid, OrganizationId } from './ids.js';

/**
 * A purchase of credits under a reference of the buyer's choice, such as an invoice number. Its id is derived
 * from organization and reference, so a reference buys once; the id is the cause of the movement in the
 * ledger. (decision 69: what a purchase answers, and when it is repeated)
 */
export const purchaseEvents = events({
  /** `ledgerRevision`: of the ledger, from before it could contain the movement. */
  PurchaseOrdered: {
    org: OrganizationId,
    reference: z.string(),
    amount: z.int().positive(),
    reason: z.string().nullable(),
    ledgerRevision: z.int().min(-1),
  },
});
export type PurchaseEvent = EventOf<typeof purchaseEvents>;
export type PurchaseOrder = PurchaseEvent['data'];

/** Null before it is ordered. */
export type Purchase = PurchaseOrder | null;

export const purchase: Aggregate<Purchase, PurchaseEvent> = {
  category: 'purchase',
  schemas: purchaseEvents,
  initial: null,
  evolve: (state, event) => state ?? event.data,
};

/** The id of the purchase, and the cause of its movement. */
export const purchaseIdOf = (org: OrganizationId, reference: string): CommandId =>
  CommandId.parse(derivedUuid('purchase', org, reference));

/**
 * Orders the purchase; a repeat records nothing. Throws `invalid_transition` if the amount is another one.
 */
export const orderPurchase =
  (order: PurchaseOrder) =>
  (state: Purchase): PurchaseEvent[] => {
    if (state === null) return [{ type: 'PurchaseOrdered', data: order }];
    if (state.amount !== order.amount)
      throw new DomainError(
        'invalid_transition',
        `The reference ${JSON.stringify(order.reference)} stands for a purchase of ${state.amount} credits. Use another reference for another purchase.`,
      );
    return [];
  };
