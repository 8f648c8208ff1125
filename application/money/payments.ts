import type { Command, RecordedEvent, Slot } from '../../domain/events.js';
import type { OrganizationId, StreamName } from '../../domain/ids.js';
import type { OpenDebt } from '../../domain/open-money.js';
import type { PurchaseOrder } from '../../domain/purchase.js';
import type { StreamWrite } from '../ports/event-store.js';
import type { KeyClaim } from '../ports/idempotency-store.js';

interface CardWrite {
  readonly org: OrganizationId;
  readonly command: Command;
  /** Of the card's events, at the revision that was decided on. */
  readonly write: StreamWrite;
  /** A send's other changes, in the same commit if there is one for several streams. */
  readonly beside?: { readonly claim: KeyClaim | null; readonly writes: readonly StreamWrite[] };
}

/** Card events whose first one fills a slot, for one credit. */
export interface Payment extends CardWrite {
  readonly slot: Slot;
  /**
   * The result of `before`, from before the card was read; null if nothing can have been spent for the slot
   * yet.
   */
  readonly since: number | null;
}

/** Card events that nothing is paid for. */
export interface CardRecord extends CardWrite {
  /** The events that owe credits: each is the cause of their return. (docs/money.md, rule 1) */
  readonly owed: readonly Pick<OpenDebt, 'card' | 'revision' | 'amount'>[];
  /** The result of `before`, from before the card was read; null if nothing is owed. */
  readonly since: number | null;
}

/** `isComplete`: the other work is done, too. */
export interface PaymentResult {
  readonly position: bigint;
  readonly isComplete: boolean;
}

/** Credits that are bought once under a reference. */
export type ReferencedPurchase = Pick<PurchaseOrder, 'amount' | 'reason' | 'reference'>;

/**
 * Moves credits together with their purpose. There are two ways: one commit for several streams
 * (`one-commit.ts`), or the rules of docs/money.md for streams that are written one after the other
 * (`two-streams.ts`). All methods throw EventStoreUnavailable and TooContended if nothing was written and
 * nothing stays charged, and OutcomeUnknown; then the open work is found and closed without the caller.
 */
export interface Payments {
  /** A revision of the organization's ledger from before anything that begins after the call. */
  before(org: OrganizationId): Promise<number>;

  /**
   * Fills the slot and spends a credit for it. Null if something else fills it: then no credit is spent, or
   * it comes back. Throws `no_credits`.
   */
  pay(payment: Payment): Promise<PaymentResult | null>;

  /** Writes card events, and returns their debts. Null if the card has changed: nothing is written then. */
  record(record: CardRecord): Promise<PaymentResult | null>;

  /**
   * Buys credits once under a reference, and returns the movement; a repeat returns the same. Throws
   * `invalid_transition` for a reference that was used with another amount.
   */
  buyOnce(org: OrganizationId, command: Command, purchase: ReferencedPurchase): Promise<RecordedEvent>;

  /** The streams of an organization's orders whose credits have not come. */
  openOrders(org: OrganizationId): Promise<readonly StreamName[]>;
}
