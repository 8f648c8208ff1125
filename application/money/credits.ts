import {
  changeBy,
  ledger,
  ledgerStream,
  purchaseBy,
  withdrawalBy,
  type LedgerEvent,
  type Movement,
} from '../../domain/credits.js';
import { parseEvent, type Actor, type Command, type RecordedEvent } from '../../domain/events.js';
import type { Instant, OrganizationId } from '../../domain/ids.js';
import { purchase } from '../../domain/purchase.js';
import { organizationAt, organizationOf, type AdministrationDeps } from '../organizations/administer.js';
import { asOf, type Moment } from '../history/as-of.js';
import {
  newCommand,
  positionOf,
  OutcomeUnknown,
  type Initiator,
  type WriteDeps,
} from '../writing/execute.js';
import { invalidCursor } from '../requests/invalid-cursor.js';
import type { Page } from '../ports/read-models.js';
import type { Payments } from './payments.js';

export interface CreditDeps extends Omit<AdministrationDeps, 'authenticator'> {
  readonly payments: Payments;
}

export interface CreditPurchase {
  readonly amount: number;
  readonly reason: string | null;
  /** The buyer's own, such as an invoice number, under which credits are bought once; null for none. */
  readonly reference: string | null;
}

/**
 * Returns the balance after this purchase. A repeat with the same reference returns the same and buys
 * nothing. Throws `not_found`, `invalid_transition` for a reference that was used with another amount.
 * (decision 69: what a purchase answers, and when it is repeated)
 */
export const addCredits = async (
  deps: CreditDeps,
  initiator: Initiator,
  org: OrganizationId,
  { amount, reason, reference }: CreditPurchase,
): Promise<number> => {
  await organizationOf(deps, org);
  if (reference === null)
    return move(deps, initiator, org, (command) => purchaseBy(command, org, amount, reason));
  const command = newCommand(deps, initiator, org);
  const found = await deps.payments.buyOnce(org, command, { amount, reason, reference });
  await deps.readYourWrites.afterWrite(await positionOf(deps, found));
  return parseEvent(ledger, found).data.balance;
};

/** Returns the balance that the withdrawal leaves. Throws `not_found`, `no_credits` if there is less. */
export const withdrawCredits = async (
  deps: CreditDeps,
  initiator: Initiator,
  org: OrganizationId,
  amount: number,
  reason: string,
): Promise<number> => {
  await organizationOf(deps, org);
  return move(deps, initiator, org, (command) => withdrawalBy(command, org, amount, reason));
};

const move = async (
  deps: CreditDeps,
  initiator: Initiator,
  org: OrganizationId,
  movementOf: (command: Command) => Movement,
): Promise<number> => {
  const command = newCommand(deps, initiator, org);
  const moved = await deps.ledgers.move({ org, command, movements: [movementOf(command)] });
  if (moved.kind === 'conflict') throw new OutcomeUnknown(command.id);
  await deps.readYourWrites.afterWrite(moved.position);
  return moved.balance;
};

export interface StatementLine {
  readonly revision: number;
  readonly at: Instant;
  readonly actor: Actor;
  readonly event: LedgerEvent;
  /** Negative if it takes credits away. */
  readonly change: number;
  /** Of a purchase that has one. */
  readonly reference: string | null;
}

const lineOf = async ({ streams }: WriteDeps, stored: RecordedEvent): Promise<StatementLine> => {
  const event = parseEvent(ledger, stored);
  const order =
    event.type === 'CreditsPurchased' ? (await streams.load(purchase, event.data.cause)).state : null;
  const { occurredAt: at, actor } = stored.metadata;
  const reference = order?.reference ?? null;
  return { revision: stored.revision, at, actor, event, change: changeBy(event), reference };
};

/**
 * The movements of an organization's credits, newest first. `startingAfter`: the revision of the last one on
 * the previous page. Throws `not_found`, `invalid_cursor`, EventStoreUnavailable.
 */
export const readStatement = async (
  deps: WriteDeps,
  org: OrganizationId,
  { startingAfter, limit }: Page,
): Promise<readonly StatementLine[]> => {
  await organizationOf(deps, org);
  const stream = ledgerStream(org);
  const newest = (await deps.store.readLast(stream))?.revision ?? -1;
  if (startingAfter !== null && !(/^\d{1,15}$/.test(startingAfter) && Number(startingAfter) <= newest))
    throw invalidCursor('movement of this organization');
  const end = startingAfter === null ? newest + 1 : Number(startingAfter);
  const from = Math.max(0, end - limit);
  const stored = end === from ? [] : await deps.store.readStream(stream, from, end - from);
  return Promise.all(stored.toReversed().map((event) => lineOf(deps, event)));
};

/**
 * The balance after the last movement at a moment, and that movement; null before the first one. Movements
 * are recorded in the order of their revisions, and their times follow it except for overlapping requests, so
 * the place is found by bisection. Throws `not_found` if the organization was not there yet,
 * EventStoreUnavailable.
 */
export const readBalanceAt = async (deps: WriteDeps, org: OrganizationId, moment: Moment) => {
  await organizationAt(deps, org, moment);
  const { state, last } = await deps.streams.loadAt(ledger, org, moment);
  return { balance: state.balance, last: last && (await lineOf(deps, last)), asOf: last && asOf(last) };
};
