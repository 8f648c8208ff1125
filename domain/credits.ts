import { z } from 'zod';
import { DomainError } from './errors.js';
import { events, Slot, type Aggregate, type Command, type EventOf } from './events.js';
import { CommandId, derivedUuid, streamName, type OrganizationId, type Uuid } from './ids.js';

/** The credits of one organization. Every movement names its cause and carries the balance it leaves. */
export const ledgerStream = (org: OrganizationId) => streamName('credits', org);

/**
 * Why a credit came back: the card's event that owes it, or a spend whose slot something else filled.
 * (docs/money.md, rule 1: a cause moves money once)
 */
const Return = z.union([
  z.object({ owed: z.object({ card: z.string(), revision: z.int().min(0) }) }),
  z.object({ void: Slot }),
]);
export type Return = z.infer<typeof Return>;

const Credits = z.int().positive();
const Balance = z.int().min(0);

export const ledgerEvents = events({
  CreditsPurchased: { cause: CommandId, amount: Credits, reason: z.string().nullable(), balance: Balance },
  CreditsWithdrawn: { cause: CommandId, amount: Credits, reason: z.string(), balance: Balance },
  CreditSpent: { cause: Slot, amount: Credits, balance: Balance },
  CreditReturned: { cause: Return, amount: Credits, balance: Balance },
});
export type LedgerEvent = EventOf<typeof ledgerEvents>;

export interface Ledger {
  readonly balance: number;
}

export const ledger: Aggregate<Ledger, LedgerEvent> = {
  category: 'credits',
  schemas: ledgerEvents,
  initial: { balance: 0 },
  lastEventIsState: true,
  evolve: (_, event) => ({ balance: event.data.balance }),
};

/** The price of one card. (docs/contract.md#service) */
export const cardPrice = 1;

/** The largest balance: numbers in JSON are exact up to here. */
export const maxBalance = Number.MAX_SAFE_INTEGER;

export const purchase =
  (cause: CommandId, amount: number, reason: string | null) =>
  ({ balance }: Ledger): LedgerEvent => {
    if (balance + amount > maxBalance)
      throw new DomainError('invalid_parameter', `The balance can't exceed ${maxBalance}.`);
    return { type: 'CreditsPurchased', data: { cause, amount, reason, balance: balance + amount } };
  };

/** Takes credits back, for example after a refund. Throws `no_credits` if the balance is less. */
export const withdraw =
  (cause: CommandId, amount: number, reason: string) =>
  ({ balance }: Ledger): LedgerEvent => {
    if (balance < amount)
      throw new DomainError(
        'no_credits',
        `The balance is ${balance}: no more than that can be withdrawn. Nothing was: send an \`amount\` up to the balance.`,
      );
    return { type: 'CreditsWithdrawn', data: { cause, amount, reason, balance: balance - amount } };
  };

/** The change of the balance by a movement: negative if it takes credits. */
export const changeBy = ({ type, data: { amount } }: LedgerEvent): number =>
  type === 'CreditSpent' || type === 'CreditsWithdrawn' ? -amount : amount;

/**
 * Pays one credit for the slot of a card's stream. Throws `no_credits` if the balance is empty.
 * (docs/money.md#the-flows)
 */
export const spend =
  (cause: Slot) =>
  ({ balance }: Ledger): LedgerEvent => {
    if (balance < cardPrice)
      throw new DomainError(
        'no_credits',
        'The balance is empty. Add credits, then send again; the same idempotency key can be used.',
      );
    return { type: 'CreditSpent', data: { cause, amount: cardPrice, balance: balance - cardPrice } };
  };

/** Returns the credit that an event owes or that a void spend took. */
export const giveBack =
  (cause: Return, amount: number) =>
  ({ balance }: Ledger): LedgerEvent => ({
    type: 'CreditReturned',
    data: { cause, amount, balance: balance + amount },
  });

type Cause = LedgerEvent['data']['cause'];

const slotKey = ({ card, revision, command }: Slot): string => `${card}@${revision}/${command}`;

const causeKey = (cause: Cause): string => {
  if (typeof cause === 'string') return cause;
  if ('owed' in cause) return `${cause.owed.card}@${cause.owed.revision}`;
  return 'void' in cause ? `void ${slotKey(cause.void)}` : slotKey(cause);
};

/** The event id of a movement, derived from its cause: a cause moves money once. (docs/money.md, rule 1) */
export const movementId = (org: OrganizationId, type: LedgerEvent['type'], cause: Cause): Uuid =>
  derivedUuid(ledgerStream(org), type, causeKey(cause));

/** One movement of credits. The id of its event is derived from its cause, so a cause moves credits once. */
export interface Movement {
  readonly id: Uuid;
  /** The event on a given balance. Throws if the balance does not allow it. */
  readonly decide: (ledger: Ledger) => LedgerEvent;
}

export const purchaseBy = (
  { id: cause }: Pick<Command, 'id'>,
  org: OrganizationId,
  amount: number,
  reason: string | null,
): Movement => ({
  id: movementId(org, 'CreditsPurchased', cause),
  decide: purchase(cause, amount, reason),
});

export const withdrawalBy = (
  { id: cause }: Command,
  org: OrganizationId,
  amount: number,
  reason: string,
): Movement => ({
  id: movementId(org, 'CreditsWithdrawn', cause),
  decide: withdraw(cause, amount, reason),
});

export const spendFor = (slot: Slot, org: OrganizationId): Movement => ({
  id: movementId(org, 'CreditSpent', slot),
  decide: spend(slot),
});

export const returnOf = (cause: Return, org: OrganizationId, amount: number): Movement => ({
  id: movementId(org, 'CreditReturned', cause),
  decide: giveBack(cause, amount),
});
