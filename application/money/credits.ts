import {
  changeBy,
  ledger,
  ledgerStream,
  purchase as decidePurchase,
  type LedgerEvent,
} from '../../domain/credits.js';
import { parseEvent, type Actor, type Command, type RecordedEvent } from '../../domain/events.js';
import type { Instant, OrganizationId } from '../../domain/ids.js';
import { orderPurchase, purchase, purchaseIdOf, type PurchaseOrder } from '../../domain/purchase.js';
import { organizationAt, organizationOf, type AdministrationDeps } from '../organizations/administer.js';
import { asOf, type AsOf, type Moment } from '../as-of.js';
import { newCommand, type Initiator } from '../commands.js';
import { execute, type WriteDeps } from '../execute.js';
import { invalidCursor } from '../invalid-cursor.js';
import { purchaseBy, withdrawalBy, type Movement } from './ledger-queue.js';
import { OutcomeUnknown } from '../outcome.js';
import { retry } from '../retry.js';
import { streamPages } from '../stream-pages.js';

export type CreditDeps = Omit<AdministrationDeps, 'authenticator'>;

export interface CreditPurchase {
  readonly amount: number;
  readonly reason: string | null;
  /** The buyer's own, such as an invoice number, under which credits are bought once; null for none. */
  readonly reference: string | null;
}

/**
 * Returns the balance that this purchase leaves. A repeat with the same reference returns the same and buys
 * nothing. Throws `not_found`, `invalid_transition` for a reference that stands for another amount. (decision
 * 69: what a purchase answers, and when it is repeated)
 */
export const addCredits = async (
  deps: CreditDeps,
  initiator: Initiator,
  org: OrganizationId,
  { amount, reason, reference }: CreditPurchase,
): Promise<number> => {
  await organizationOf(deps, org);
  return reference === null
    ? move(deps, initiator, org, ({ id }) => purchaseBy({ id }, org, amount, reason))
    : buyOnce(deps, initiator, org, { amount, reason, reference });
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

/**
 * The order comes first, in a stream of its own: it decides which amount the reference stands for. Whoever
 * brings the reference again looks for its movement after the order, and makes it if a crash came in
 * between; so does the reconciler. A store that commits several streams at once gets both in one commit.
 * (docs/money.md, rule 9: an order comes before its movement)
 */
const buyOnce = async (
  deps: CreditDeps,
  initiator: Initiator,
  org: OrganizationId,
  wanted: CreditPurchase & { readonly reference: string },
): Promise<number> => {
  const command = newCommand(deps, initiator, org);
  const found = await (deps.store.atomic ? buyInOneCommit : orderThenBuy)(deps, org, command, wanted);
  await deps.readYourWrites.afterWrite(found.position ?? (await deps.store.head()).position);
  return parseEvent(ledger, found).data.balance;
};

type BuyOnce = (
  deps: CreditDeps,
  org: OrganizationId,
  command: Command,
  wanted: CreditPurchase & { readonly reference: string },
) => Promise<RecordedEvent>;

const orderThenBuy: BuyOnce = async (deps, org, command, { amount, reason, reference }) => {
  const cause = purchaseIdOf(org, reference);
  const { state: before, revision } = await deps.streams.load(ledger, org);
  const wanted = { org, reference, amount, reason, ledgerRevision: revision };
  const { state, events } = await execute(deps, purchase, cause, command, (known) => {
    // What would be refused must not be ordered.
    if (known === null) decidePurchase(cause, amount, reason)(before);
    return orderPurchase(wanted)(known);
  });
  const order = state ?? wanted;
  const movement = purchaseBy({ id: cause }, org, order.amount, order.reason);
  const search = events.length > 0 ? { since: revision } : await lookFor(deps, org, movement, order);
  return 'event' in search ? search.event : buy(deps, org, command, movement, search.since);
};

const buyInOneCommit: BuyOnce = (deps, org, command, { amount, reason, reference }) => {
  const cause = purchaseIdOf(org, reference);
  return retry(deps, async () => {
    const { revision } = await deps.streams.load(ledger, org);
    const loaded = await deps.streams.load(purchase, cause);
    const wanted = { org, reference, amount, reason, ledgerRevision: revision };
    const events = orderPurchase(wanted)(loaded.state);
    const order = loaded.state ?? wanted;
    const movement = purchaseBy({ id: cause }, org, order.amount, order.reason);
    if (events.length === 0) {
      const search = await lookFor(deps, org, movement, order);
      return 'event' in search ? search.event : buy(deps, org, command, movement, search.since);
    }
    const ordering = deps.streams.write(
      purchase,
      loaded,
      events.map((event) => ({ event, command })),
    );
    const transfer = { org, command, movements: [movement], since: revision, writes: [ordering] };
    const moved = await deps.ledgers.move(transfer);
    return moved.kind === 'conflict' ? null : bought(deps, org, command, movement, revision);
  });
};

type Search = { readonly event: RecordedEvent } | { readonly since: number };

/** The movement, or a revision of the ledger up to which it does not stand there. */
const lookFor = async (
  { store }: WriteDeps,
  org: OrganizationId,
  { id }: Movement,
  { ledgerRevision }: Pick<PurchaseOrder, 'ledgerRevision'>,
): Promise<Search> => {
  let since = ledgerRevision;
  for await (const page of streamPages(store, ledgerStream(org), ledgerRevision + 1)) {
    const event = page.find((stored) => stored.id === id);
    if (event !== undefined) return { event };
    since = page.at(-1)?.revision ?? since;
  }
  return { since };
};

const buy = async (
  deps: CreditDeps,
  org: OrganizationId,
  command: Command,
  movement: Movement,
  since: number,
): Promise<RecordedEvent> => {
  await deps.ledgers.move({ org, command, movements: [movement], since });
  return bought(deps, org, command, movement, since);
};

/** Reads the movement back: another process may have brought it at the same time, on another balance. */
const bought = async (
  deps: CreditDeps,
  org: OrganizationId,
  command: Command,
  movement: Movement,
  since: number,
): Promise<RecordedEvent> => {
  const search = await lookFor(deps, org, movement, { ledgerRevision: since });
  if (!('event' in search)) throw new OutcomeUnknown(command.id);
  return search.event;
};

/** One line of the statement. */
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
  { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
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

/** The balance of an organization, and the movement that left it; null before the first one. */
export interface BalanceAt {
  readonly balance: number;
  readonly last: StatementLine | null;
  readonly asOf: AsOf | null;
}

/**
 * The balance after the last movement at a moment. Movements are recorded in the order of their revisions,
 * and their times follow it but for those of requests that overlapped, so the place is found by halving.
 * Throws `not_found` if the organization was not there yet, EventStoreUnavailable.
 */
export const readBalanceAt = async (
  deps: WriteDeps,
  org: OrganizationId,
  moment: Moment,
): Promise<BalanceAt> => {
  await organizationAt(deps, org, moment);
  const { state, last } = await deps.streams.loadAt(ledger, org, moment);
  return {
    balance: state.balance,
    last: last === null ? null : await lineOf(deps, last),
    asOf: last === null ? null : asOf(last),
  };
};
