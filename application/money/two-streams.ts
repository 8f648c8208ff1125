import { cardPrice, ledger, purchase as decidePurchase, spendFor } from '../../domain/credits.js';
import type { Command } from '../../domain/events.js';
import { streamName, type OrganizationId } from '../../domain/ids.js';
import { orderPurchase, purchase, purchaseIdOf } from '../../domain/purchase.js';
import { appendWrites, execute, OutcomeUnknown } from '../writing/execute.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import { larger, type StreamWrite } from '../ports/event-store.js';
import { bringOrdered, returnsOf, settleSpend, type SettlingDeps } from './settle-spend.js';
import { ledgerRevisionBefore } from './ledger-queue.js';
import type { CardRecord, Payment, Payments, ReferencedPurchase, PaymentResult } from './payments.js';
import { openWorkNow } from './reconciler.js';
import type { UnfinishedWork } from './unfinished.js';

export interface TwoStreamsDeps extends SettlingDeps {
  readonly checkpoints: Checkpoints;
  /** Settles writes whose outcome is unknown. */
  readonly unfinished: UnfinishedWork;
}

/**
 * Payments on a store that writes one stream at a time: the ledger and the card are two appends, and
 * `UnfinishedWork` and the reconciler finish work that a process leaves between them. (docs/money.md)
 */
export const twoStreamPayments = (deps: TwoStreamsDeps): Payments => ({
  before: async (org) => (await deps.streams.load(ledger, org)).revision,
  pay: (payment) => pay(deps, payment),
  record: (record) => recordAndReturn(deps, record),
  buyOnce: (org, command, wanted) => buyOnce(deps, org, command, wanted),
  openOrders: async (org) =>
    (await openWorkNow(deps)).orders
      .filter((order) => order.org === org)
      .map((order) => streamName('purchase', order.purchase)),
});

/** The credit that pays, then the card's events; a slot that is taken makes the spend void. */
const pay = async (
  deps: TwoStreamsDeps,
  { org, command, slot, write, since }: Payment,
): Promise<PaymentResult | null> => {
  const { ledgers, store, unfinished } = deps;
  const spend = {
    org,
    slot,
    amount: cardPrice,
    since: since ?? (await ledgerRevisionBefore(deps, org)),
  };
  try {
    const spent = await ledgers.move({ org, command, movements: [spendFor(slot, org)] });
    if (spent.kind === 'conflict') return null;
    const position = await writePaid(deps, write, command);
    if (position !== null) return { position: larger(spent.position, position), isComplete: false };
  } catch (error) {
    if (error instanceof OutcomeUnknown) unfinished.spend(spend);
    throw error;
  }
  const settled = await settleSpend(deps, command, spend).catch(() => {
    unfinished.spend(spend);
    return null;
  });
  return settled === 'filled' ? { position: (await store.head()).position, isComplete: false } : null;
};

/** The credit is spent: the caller must learn it, whatever keeps the card from being written. */
const writePaid = async (
  deps: TwoStreamsDeps,
  write: StreamWrite,
  command: Command,
): Promise<bigint | null> => {
  const append = (): Promise<bigint | null> => appendWrites(deps, [write], command);
  try {
    return await append().catch(append);
  } catch {
    throw new OutcomeUnknown(command.id);
  }
};

/** The card's events, then the credits that they owe. (docs/money.md, rule 3) */
const recordAndReturn = async (
  deps: TwoStreamsDeps,
  { org, command, write, owed, since }: CardRecord,
): Promise<PaymentResult | null> => {
  if (owed.length > 0 && since === null)
    throw new TypeError('a credit is to be returned, and the ledger was not looked at first');
  const movements = returnsOf({ org, owed });
  try {
    const position = await appendWrites(deps, [write], command);
    if (position === null) return null;
    if (since === null || movements.length === 0) return { position, isComplete: false };
    const moved = await deps.ledgers.move({ org, command, movements, since }).catch(() => {
      throw new OutcomeUnknown(command.id);
    });
    const last = moved.kind === 'moved' ? larger(position, moved.position) : position;
    return { position: last, isComplete: false };
  } catch (error) {
    if (error instanceof OutcomeUnknown && since !== null)
      for (const { card, revision } of owed)
        deps.unfinished.debt({ org, card, revision, command: command.id, since });
    throw error;
  }
};

/** The order, then its movement. (docs/money.md, rule 9) */
const buyOnce = async (
  deps: TwoStreamsDeps,
  org: OrganizationId,
  command: Command,
  wanted: ReferencedPurchase,
) => {
  const { state: before, revision } = await deps.streams.load(ledger, org);
  const id = purchaseIdOf(org, wanted.reference);
  const order = { org, ...wanted, ledgerRevision: revision };
  const { state } = await execute(deps, purchase, id, command, (known) => {
    // A purchase that would be refused must not be ordered.
    if (known === null) decidePurchase(id, wanted.amount, wanted.reason)(before);
    return orderPurchase(order)(known);
  });
  return bringOrdered(deps, command, state ?? order);
};
