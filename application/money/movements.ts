import {
  giveBack,
  ledger,
  ledgerStream,
  movementId,
  purchase,
  spend,
  withdraw,
  type Ledger,
  type LedgerEvent,
  type Return,
} from '../../domain/credits.js';
import { parseEvent, type Command, type RecordedEvent, type Slot } from '../../domain/events.js';
import type { OrganizationId, Uuid } from '../../domain/ids.js';
import type { EventStore } from '../ports/event-store.js';
import { streamPages } from '../writing/stream-pages.js';
import type { Streams } from '../writing/streams.js';

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

/** The movements in a ledger after a revision, in their order. */
export async function* movementsAfter(
  store: Pick<EventStore, 'readStream'>,
  org: OrganizationId,
  revision: number,
): AsyncGenerator<{ readonly stored: RecordedEvent; readonly event: LedgerEvent }, void, undefined> {
  for await (const page of streamPages(store, ledgerStream(org), revision + 1))
    for (const stored of page) yield { stored, event: parseEvent(ledger, stored) };
}

/**
 * A revision of the ledger from before anything that begins now. A cached one will do: it only makes searches
 * longer. (docs/money.md, rule 2: look for your own cause before you repeat)
 */
export const ledgerRevisionBefore = async (
  { streams }: { readonly streams: Streams },
  org: OrganizationId,
): Promise<number> => (streams.lastKnown(ledger, org) ?? (await streams.load(ledger, org))).revision;
