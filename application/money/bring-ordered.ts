import type { Command, RecordedEvent } from '../../domain/events.js';
import type { OrganizationId } from '../../domain/ids.js';
import type { PurchaseOrder } from '../../domain/purchase.js';
import { OutcomeUnknown } from '../writing/execute.js';
import type { EventStore } from '../ports/event-store.js';
import { movementsAfter } from './ledger-queue.js';
import { purchaseBy, type Movement } from '../../domain/credits.js';
import type { SettlingDeps } from './settle-spend.js';

/** A purchase under a reference: its id, and its order. */
export interface OrderedPurchase {
  readonly id: Command['id'];
  readonly order: PurchaseOrder;
}

/** The order's id is the cause of its movement. (docs/money.md, rule 9: the order comes first) */
export const movementOf = ({ id, order: { org, amount, reason } }: OrderedPurchase): Movement =>
  purchaseBy({ id }, org, amount, reason);

/** Returns the movement of an order, and makes it if it is missing. */
export const bringOrdered = async (
  deps: SettlingDeps,
  command: Command,
  purchase: OrderedPurchase,
): Promise<RecordedEvent> => {
  const { org, ledgerRevision } = purchase.order;
  const movement = movementOf(purchase);
  const { found, since } = await find(deps.store, org, movement, ledgerRevision);
  if (found !== null) return found;
  await deps.ledgers.move({ org, command, movements: [movement], since });
  return brought(deps, command, purchase, since);
};

/** Reads the movement back: another process may have brought it at the same time, on another balance. */
export const brought = async (
  { store }: SettlingDeps,
  command: Command,
  purchase: OrderedPurchase,
  since: number,
): Promise<RecordedEvent> => {
  const { found } = await find(store, purchase.order.org, movementOf(purchase), since);
  if (found === null) throw new OutcomeUnknown(command.id);
  return found;
};

/** The movement, or null and a revision of the ledger up to which it is absent. */
const find = async (
  store: EventStore,
  org: OrganizationId,
  { id }: Movement,
  after: number,
): Promise<{ readonly found: RecordedEvent | null; readonly since: number }> => {
  let since = after;
  for await (const { stored } of movementsAfter(store, org, after)) {
    if (stored.id === id) return { found: stored, since };
    since = stored.revision;
  }
  return { found: null, since };
};
