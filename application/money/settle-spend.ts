import { card, cardStream, isFilledByPayer, type CardEvent } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { returnOf, type Return } from '../../domain/credits.js';
import type { OrganizationId } from '../../domain/ids.js';
import type { Command, Slot } from '../../domain/events.js';
import type { OpenSpend } from '../../domain/open-money.js';
import { newCommand, service, appendTo, retry, type WriteDeps } from '../writing/execute.js';
import type { LedgerQueue, Transferred } from './ledger-queue.js';

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
