import { z } from 'zod';
import { card, owedBy, type CardEvent } from './card.js';
import { ledger, type LedgerEvent } from './credits.js';
import { parseEvent, Slot, type RecordedEvent } from './events.js';
import { categoryOf, CommandId, idOf, Instant, OrganizationId } from './ids.js';
import { purchase, purchaseIdOf } from './purchase.js';

const Open = z.object({ org: OrganizationId, amount: z.int(), at: Instant, since: z.int() });

/** A spend whose slot its own command has not filled. `since`: its revision in the ledger. */
const OpenSpend = Open.extend({ slot: Slot });
export type OpenSpend = z.infer<typeof OpenSpend>;

/**
 * An event that owes a credit which has not come back. `since`: a revision of the ledger from before the
 * return could exist. (docs/money.md, rule 2)
 */
const OpenDebt = Open.extend({ card: z.string(), revision: z.int() });
export type OpenDebt = z.infer<typeof OpenDebt>;

/** A purchase under a reference whose credits have not come. */
const OpenOrder = Open.extend({ purchase: CommandId, reason: z.string().nullable() });
export type OpenOrder = z.infer<typeof OpenOrder>;

export const SavedMoney = z.object({
  spends: z.array(OpenSpend),
  debts: z.array(OpenDebt),
  orders: z.array(OpenOrder),
  early: z.array(z.string()),
  revisions: z.array(z.tuple([OrganizationId, z.int()])),
});
export type SavedMoney = z.infer<typeof SavedMoney>;

/**
 * The revisions of this many ledgers, the most recently changed, are remembered. A return to any other ledger
 * is searched for from its first movement on.
 */
const rememberedLedgers = 10_000;

/** The name of a place in a card's stream. */
export const placeName = (code: string, revision: number): string => `${code}@${revision}`;

/**
 * Open movements of credits: spends that neither paid for a card nor came back, debts, and orders. It has to
 * observe the events of each stream in their order, and for `since` all of them in the order of the log.
 * (docs/money.md#the-flows)
 */
export class OpenMoney {
  /** By slot, because several commands may pay for one. */
  readonly #spends = new Map<string, OpenSpend[]>();
  readonly #debts = new Map<string, OpenDebt>();
  readonly #orders = new Map<string, OpenOrder>();
  readonly #early = new Set<string>();
  /** In the order in which they moved. */
  readonly #ledgerRevisions = new Map<OrganizationId, number>();

  constructor(saved: SavedMoney = { spends: [], debts: [], orders: [], early: [], revisions: [] }) {
    for (const spend of saved.spends) this.#add(spend);
    for (const debt of saved.debts) this.#debts.set(placeName(debt.card, debt.revision), debt);
    for (const order of saved.orders) this.#orders.set(order.purchase, order);
    for (const name of saved.early) this.#early.add(name);
    for (const [org, revision] of saved.revisions) this.#remember(org, revision);
  }

  get spends(): readonly OpenSpend[] {
    return [...this.#spends.values()].flat();
  }

  get debts(): readonly OpenDebt[] {
    return [...this.#debts.values()];
  }

  get orders(): readonly OpenOrder[] {
    return [...this.#orders.values()];
  }

  /**
   * Movements whose cause has not been seen, as it may follow them within a commit: the places of events that
   * owe, and ids of purchases.
   */
  get early(): readonly string[] {
    return [...this.#early];
  }

  saved(): SavedMoney {
    return {
      spends: [...this.spends],
      debts: [...this.debts],
      orders: [...this.orders],
      early: [...this.early],
      revisions: [...this.#ledgerRevisions],
    };
  }

  observe(event: RecordedEvent): void {
    const category = categoryOf(event.stream);
    if (category === 'credits') this.#observeMovement(event, parseEvent(ledger, event));
    else if (category === 'card') this.#observeCard(event);
    else if (category === 'purchase') this.#observeOrder(event);
  }

  /** Called if the spend's own command filled the slot, or its credit came back. */
  settleSpend({ card: code, revision, command }: Omit<Slot, 'command'> & { readonly command: string }): void {
    const name = placeName(code, revision);
    const left = (this.#spends.get(name) ?? []).filter(({ slot }) => slot.command !== command);
    if (left.length === 0) this.#spends.delete(name);
    else this.#spends.set(name, left);
  }

  #add(spend: OpenSpend): void {
    const name = placeName(spend.slot.card, spend.slot.revision);
    this.#spends.set(name, [...(this.#spends.get(name) ?? []), spend]);
  }

  #remember(org: OrganizationId, revision: number): void {
    const revisions = this.#ledgerRevisions;
    revisions.delete(org);
    revisions.set(org, revision);
    const [oldest] = revisions.size > rememberedLedgers ? revisions.keys() : [];
    if (oldest !== undefined) revisions.delete(oldest);
  }

  #observeMovement({ stream, revision: since, metadata }: RecordedEvent, event: LedgerEvent): void {
    const org = idOf(stream) as OrganizationId;
    const { occurredAt: at, causationId } = metadata;
    this.#remember(org, since);
    if (event.type === 'CreditSpent') {
      const { cause: slot, amount } = event.data;
      this.#add({ org, slot, amount, at, since });
    } else if (event.type === 'CreditsPurchased') {
      const { cause } = event.data;
      // Its cause is the command that brings it, or else an order.
      if (cause !== causationId && !this.#orders.delete(cause)) this.#early.add(cause);
    } else if (event.type === 'CreditReturned') {
      const { cause } = event.data;
      if ('void' in cause) this.settleSpend(cause.void);
      else {
        const name = placeName(cause.owed.card, cause.owed.revision);
        if (!this.#debts.delete(name)) this.#early.add(name);
      }
    }
  }

  #observeCard(stored: RecordedEvent): void {
    const { stream, revision, type, metadata } = stored;
    const { org, occurredAt: at, causationId } = metadata;
    const code = idOf(stream);
    if (type === 'CardScheduled' || type === 'CardReleased')
      this.settleSpend({ card: code, revision, command: causationId });
    if (!typesThatOwe.has(type) || org === null) return;
    const amount = owedBy(parseEvent(card, stored));
    const name = placeName(code, revision);
    if (amount > 0 && !this.#early.delete(name))
      this.#debts.set(name, {
        org,
        card: code,
        revision,
        amount,
        at,
        since: this.#ledgerRevisions.get(org) ?? -1,
      });
  }

  #observeOrder(stored: RecordedEvent): void {
    const { org, reference, amount, reason, ledgerRevision: since } = parseEvent(purchase, stored).data;
    const id = purchaseIdOf(org, reference);
    if (this.#early.delete(id)) return;
    this.#orders.set(id, { org, purchase: id, amount, reason, at: stored.metadata.occurredAt, since });
  }
}

const typesThatOwe: ReadonlySet<string> = new Set<CardEvent['type']>([
  'CardHeld',
  'CardCancelled',
  'CardFailed',
]);
