import { card, cardStream, isFilledByPayer, type CardEvent } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { returnOf, purchaseBy, type Return, type Movement } from '../../domain/credits.js';
import type { OrganizationId } from '../../domain/ids.js';
import type { Command, Slot, RecordedEvent } from '../../domain/events.js';
import type { OpenSpend } from '../../domain/open-money.js';
import type { CardRecord } from './payments.js';
import { newCommand, service, appendTo, retry, OutcomeUnknown, type WriteDeps } from '../writing/execute.js';
import { findMovement, type LedgerQueue, type Transferred } from './ledger-queue.js';
import { purchaseIdOf, type PurchaseOrder } from '../../domain/purchase.js';

export interface SettlingDeps extends WriteDeps {
  readonly ledgers: LedgerQueue;
}

/**
 * A credit that was spent for a slot. `since`: a revision of the ledger from before the return could exist.
 */
export type Spend = Omit<OpenSpend, 'at'>;

/** The command of settlements without a request. */
export const reconcilerCommand = (deps: WriteDeps, org: OrganizationId): Command =>
  newCommand(deps, service('reconciler'), org);

/** Returns a credit, once for its cause. (docs/money.md, rule 5: at the revision of what was seen) */
export const returnCredit = (
  { ledgers }: SettlingDeps,
  command: Command,
  { org, since }: Pick<Spend, 'org' | 'since'>,
  cause: Return,
  amount: number,
): Promise<Transferred> => ledgers.move({ org, command, movements: [returnOf(cause, org, amount)], since });

/** The returns of all that events of cards owe, each for its own event. (docs/money.md, rule 1) */
export const returnsOf = ({ org, owed }: Pick<CardRecord, 'org' | 'owed'>): readonly Movement[] =>
  owed.map(({ card: code, revision, amount }) => returnOf({ owed: { card: code, revision } }, org, amount));

/**
 * Decides the fate of a spend: takes its slot if that is still empty, and returns the credit unless the
 * spend's own command has filled the slot. The credit of a void spend comes back only this way.
 * (docs/money.md, rule 4: take the slot before you call a spend void)
 */
export const settleSpend = async (
  deps: SettlingDeps,
  command: Command,
  spend: Spend,
): Promise<'filled' | 'returned'> => {
  const { slot } = spend;
  let filler = await fillerOf(deps, slot);
  if (filler === undefined) {
    await takeSlot(deps, command, slot);
    filler = await fillerOf(deps, slot);
  }
  if (isFilledByPayer(slot, filler)) return 'filled';
  await returnCredit(deps, command, spend, { void: slot }, spend.amount);
  return 'returned';
};

const fillerOf = async ({ store }: SettlingDeps, { card: code, revision }: Slot) =>
  (await store.readStream(cardStream(code as CardCode), revision, 1))[0];

/** Fills the slot unless something else does first. */
const takeSlot = (deps: SettlingDeps, command: Command, slot: Slot): Promise<'taken'> =>
  retry(deps, async () => {
    const at = await deps.streams.load(card, slot.card);
    if (at.revision >= slot.revision) return 'taken';
    const event: CardEvent = {
      type: slot.revision === 0 ? 'CardAbandoned' : 'ReleaseAbandoned',
      data: { command: slot.command },
    };
    await appendTo(deps, card, at, command, [event]);
    return null;
  });

/** The order's id is the cause of its movement. (docs/money.md, rule 9: the order comes first) */
export const movementOf = ({ org, reference, amount, reason }: PurchaseOrder): Movement =>
  purchaseBy({ id: purchaseIdOf(org, reference) }, org, amount, reason);

/** Returns the movement of an order, and makes it if it is missing. */
export const bringOrdered = async (
  deps: SettlingDeps,
  command: Command,
  order: PurchaseOrder,
): Promise<RecordedEvent> => {
  const { org, ledgerRevision } = order;
  const movement = movementOf(order);
  const { found, since } = await findMovement(deps.store, org, movement, ledgerRevision);
  if (found !== null) return found;
  await deps.ledgers.move({ org, command, movements: [movement], since });
  return brought(deps, command, order, since);
};

/** Reads the movement back: another process may have brought it at the same time, on another balance. */
export const brought = async (
  { store }: SettlingDeps,
  command: Command,
  order: PurchaseOrder,
  since: number,
): Promise<RecordedEvent> => {
  const { found } = await findMovement(store, order.org, movementOf(order), since);
  if (found === null) throw new OutcomeUnknown(command.id);
  return found;
};
