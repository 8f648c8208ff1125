import { z } from 'zod';
import { card, owedBy, type CardEvent } from '../../domain/card.js';
import { collectionCard } from '../../domain/catalogue.js';
import { ledger, type LedgerEvent } from '../../domain/credits.js';
import { parseEvent, Slot, type LoggedEvent } from '../../domain/events.js';
import {
  categoryOf,
  CommandId,
  idOf,
  Instant,
  OrganizationId,
  Uuid,
  type Milliseconds,
} from '../../domain/ids.js';
import { organization, saveDesign } from '../../domain/organization.js';
import { purchase, purchaseIdOf } from '../../domain/purchase.js';
import { atMost } from '../at-most.js';
import { execute } from '../execute.js';
import { purchaseBy } from './movements.js';
import { reconcilerCommand, returnCredit, settleSpend, type SettlingDeps } from './settle-spend.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import { markOf, type EventMark } from '../ports/event-store.js';
import { assertSameLog } from '../same-log.js';
import { untilAborted } from '../until-aborted.js';
import { within } from '../within.js';

export interface ReconcilerDeps extends SettlingDeps {
  readonly checkpoints: Checkpoints;
  /** How old open work must be before it is closed. */
  readonly reconcileAfter: Milliseconds;
}

/** `since`: a revision of the ledger from before the return could exist. (docs/money.md, rule 2) */
const Spend = z.object({ org: OrganizationId, slot: Slot, amount: z.int(), at: Instant, since: z.int() });
const Debt = z.object({
  org: OrganizationId,
  card: z.string(),
  revision: z.int(),
  amount: z.int(),
  at: Instant,
  since: z.int(),
});
const Copy = z.object({ org: OrganizationId, id: Uuid, slug: z.string(), at: Instant });
/** A purchase under a reference whose credits have not come. */
const Order = z.object({
  org: OrganizationId,
  purchase: CommandId,
  amount: z.int(),
  reason: z.string().nullable(),
  at: Instant,
  since: z.int(),
});
type Spend = z.infer<typeof Spend>;
type Order = z.infer<typeof Order>;
type Debt = z.infer<typeof Debt>;
type Copy = z.infer<typeof Copy>;

type Piece = Spend | Debt | Copy | Order;

const nameOf = (piece: Piece): string => {
  if ('slot' in piece) return `spend ${slotName(piece.slot.card, piece.slot.revision)} ${piece.slot.command}`;
  if ('purchase' in piece) return `purchase ${piece.purchase}`;
  return 'slug' in piece ? `copy ${piece.id}` : `debt ${slotName(piece.card, piece.revision)}`;
};

const SavedWork = z.object({
  spends: z.array(Spend),
  debts: z.array(Debt),
  copies: z.array(Copy),
  early: z.array(z.string()),
  orders: z.array(Order),
  revisions: z.array(z.tuple([OrganizationId, z.int()])),
});

/**
 * The revision of this many ledgers, those that moved last, is remembered. A return to any other one is
 * looked for from its first movement on.
 */
const rememberedLedgers = 10_000;

const checkpointName = 'reconciler';

const slotName = (code: string, revision: number): string => `${code}@${revision}`;

/**
 * What a prefix of the log leaves to be done: spends whose slot their own command has not filled, events that
 * owe a credit that has not come back, purchases whose credits have not come, and cards whose design was not
 * copied. It has to observe every event, in log order. (docs/money.md#the-flows)
 */
export class OpenWork {
  /** By slot, because several commands may pay for one. */
  readonly #spends = new Map<string, Spend[]>();
  readonly #debts = new Map<string, Debt>();
  readonly #copies = new Map<string, Copy>();
  readonly #orders = new Map<string, Order>();
  /**
   * Slots of events that owe and ids of purchases, for movements that precede their event in the log, as they
   * may within a commit.
   */
  readonly #earlyMovements = new Set<string>();
  /** The names of pieces that are being closed. */
  readonly #inHand = new Set<string>();
  /** In the order in which they moved. */
  readonly #ledgerRevisions = new Map<OrganizationId, number>();

  static restore(saved: unknown): OpenWork {
    const { spends, debts, copies, orders, early, revisions } = SavedWork.parse(saved);
    const openWork = new OpenWork();
    for (const spend of spends) openWork.#add(spend);
    for (const debt of debts) openWork.#debts.set(slotName(debt.card, debt.revision), debt);
    for (const copy of copies) openWork.#copies.set(copy.id, copy);
    for (const order of orders) openWork.#orders.set(order.purchase, order);
    for (const name of early) openWork.#earlyMovements.add(name);
    for (const [org, revision] of revisions) openWork.#remember(org, revision);
    return openWork;
  }

  /** When the oldest piece of it was begun; null if there is none. */
  get oldest(): Milliseconds | null {
    const begun = [...this.spends, ...this.debts, ...this.copies, ...this.orders].map(({ at }) =>
      Date.parse(at),
    );
    return begun.length === 0 ? null : begun.reduce((least, at) => Math.min(least, at));
  }

  /** Takes pieces in hand; leaves out those that are in somebody's hand already. */
  take<Work>(pieces: readonly (readonly [Piece, Work])[]): readonly (readonly [Piece, Work])[] {
    const free = pieces.filter(([piece]) => !this.#inHand.has(nameOf(piece)));
    for (const [piece] of free) this.#inHand.add(nameOf(piece));
    return free;
  }

  putDown(piece: Piece): void {
    this.#inHand.delete(nameOf(piece));
  }

  get spends(): readonly Spend[] {
    return [...this.#spends.values()].flat();
  }

  get debts(): readonly Debt[] {
    return [...this.#debts.values()];
  }

  get copies(): readonly Copy[] {
    return [...this.#copies.values()];
  }

  get orders(): readonly Order[] {
    return [...this.#orders.values()];
  }

  save(): z.infer<typeof SavedWork> {
    return {
      spends: [...this.spends],
      debts: [...this.debts],
      copies: [...this.copies],
      orders: [...this.orders],
      early: [...this.#earlyMovements],
      revisions: [...this.#ledgerRevisions],
    };
  }

  #remember(org: OrganizationId, revision: number): void {
    const revisions = this.#ledgerRevisions;
    revisions.delete(org);
    revisions.set(org, revision);
    if (revisions.size <= rememberedLedgers) return;
    for (const oldest of revisions.keys()) {
      revisions.delete(oldest);
      return;
    }
  }

  observe(logged: LoggedEvent): void {
    const category = categoryOf(logged.stream);
    if (category === 'credits') this.#observeMovement(logged, parseEvent(ledger, logged));
    else if (category === 'card') this.#observeCard(logged);
    else if (category === 'purchase') this.#observeOrder(logged);
    else if (logged.type === 'DesignSaved') this.#observeDesign(logged);
  }

  /** Called for a copy that exists, because no event follows if another send made it. */
  settleCopy({ id }: Copy): void {
    this.#copies.delete(id);
  }

  /** Called if the spend's own command filled the slot, or its credit came back. */
  settleSpend(spend: Spend): void {
    const name = slotName(spend.slot.card, spend.slot.revision);
    const left = (this.#spends.get(name) ?? []).filter(({ slot }) => slot.command !== spend.slot.command);
    if (left.length === 0) this.#spends.delete(name);
    else this.#spends.set(name, left);
  }

  #add(spend: Spend): void {
    const name = slotName(spend.slot.card, spend.slot.revision);
    this.#spends.set(name, [...(this.#spends.get(name) ?? []), spend]);
  }

  #observeMovement({ stream, revision, metadata }: LoggedEvent, event: LedgerEvent): void {
    const org = idOf(stream) as OrganizationId;
    this.#remember(org, revision);
    if (event.type === 'CreditSpent')
      this.#add({
        org,
        slot: event.data.cause,
        amount: event.data.amount,
        at: metadata.occurredAt,
        since: revision,
      });
    if (event.type === 'CreditsPurchased' && event.data.cause !== metadata.causationId)
      this.#observePurchase(event.data.cause);
    if (event.type !== 'CreditReturned') return;
    const { cause } = event.data;
    if ('void' in cause) {
      this.settleSpend({ org, slot: cause.void, amount: 0, at: metadata.occurredAt, since: revision });
      return;
    }
    const name = slotName(cause.owed.card, cause.owed.revision);
    if (!this.#debts.delete(name)) this.#earlyMovements.add(name);
  }

  #observeCard(logged: LoggedEvent): void {
    const code = idOf(logged.stream);
    const name = slotName(code, logged.revision);
    if (logged.type === 'CardScheduled' || logged.type === 'CardReleased') {
      const paid = this.#spends.get(name)?.find(({ slot }) => slot.command === logged.metadata.causationId);
      if (paid !== undefined) this.settleSpend(paid);
    }
    if (!typesWithWork.has(logged.type)) return;
    const event = parseEvent(card, logged);
    const { occurredAt: at } = logged.metadata;
    const org = logged.metadata.org;
    const amount = owedBy(event);
    if (amount > 0 && org !== null && !this.#earlyMovements.delete(name)) {
      this.#debts.set(name, {
        org,
        card: code,
        revision: logged.revision,
        amount,
        at,
        since: this.#ledgerRevisions.get(org) ?? -1,
      });
    }
    if (
      (event.type === 'CardScheduled' || event.type === 'CardHeld') &&
      event.data.order?.design.copied === true
    ) {
      const { org: owner, design } = event.data.order;
      if (design.slug !== null)
        this.#copies.set(design.id, { org: owner, id: design.id, slug: design.slug, at });
    }
  }

  /** Of credits whose cause isn't the command that brings them, but an order. */
  #observePurchase(id: CommandId): void {
    if (!this.#orders.delete(id)) this.#earlyMovements.add(id);
  }

  #observeOrder({ metadata, ...logged }: LoggedEvent): void {
    const { org, reference, amount, reason, ledgerRevision } = parseEvent(purchase, {
      metadata,
      ...logged,
    }).data;
    const id = purchaseIdOf(org, reference);
    if (this.#earlyMovements.delete(id)) return;
    this.#orders.set(id, {
      org,
      purchase: id,
      amount,
      reason,
      at: metadata.occurredAt,
      since: ledgerRevision,
    });
  }

  #observeDesign(logged: LoggedEvent): void {
    const event = parseEvent(organization, logged);
    if (event.type === 'DesignSaved') this.#copies.delete(event.data.design.id);
  }
}

const logPage = 500;

/**
 * What the log leaves to be done: what the reconciler saved last, and what came since. Throws
 * EventStoreUnavailable.
 */
export const openWorkNow = async ({
  store,
  checkpoints,
}: Pick<ReconcilerDeps, 'store' | 'checkpoints'>): Promise<OpenWork> => {
  const saved = await checkpoints.load(checkpointName);
  const openWork = saved === null ? new OpenWork() : OpenWork.restore(saved.state);
  for (let after = saved?.position ?? 0n; ;) {
    const events = await store.readLog(after, logPage);
    for (const logged of events) openWork.observe(logged);
    const last = events.at(-1);
    if (last === undefined) return openWork;
    after = last.position;
  }
};

/** Card events that may leave something to be done. */
const typesWithWork: ReadonlySet<string> = new Set<CardEvent['type']>([
  'CardScheduled',
  'CardHeld',
  'CardCancelled',
  'CardFailed',
]);

/** So much is closed at a time: one piece that takes long holds up no other. */
const atOnce = 16;

/**
 * Closes the work that has been open for long enough and that no earlier call has in hand. A failure doesn't
 * keep the rest waiting; after the signal aborts, nothing more is begun. Returns how much it closed, and what
 * went wrong.
 */
export const closeOpenWork = async (
  deps: ReconcilerDeps,
  openWork: OpenWork,
  signal: AbortSignal | null = null,
): Promise<{ readonly closed: number; readonly errors: readonly unknown[] }> => {
  const { clock, reconcileAfter } = deps;
  const due = ({ at }: { readonly at: Instant }) => clock.now() - Date.parse(at) >= reconcileAfter;
  const errors: unknown[] = [];
  let closed = 0;
  const attempt = async (close: () => Promise<boolean>): Promise<void> => {
    if (signal?.aborted === true) return;
    try {
      if (await close()) closed++;
    } catch (error) {
      errors.push(error);
    }
  };
  const returnOwed = async (debt: Debt): Promise<boolean> => {
    const cause = { owed: { card: debt.card, revision: debt.revision } };
    await returnCredit(deps, reconcilerCommand(deps, debt.org), debt, cause, debt.amount);
    return true;
  };
  const close = async (spend: Spend): Promise<boolean> => {
    const settled = await settleSpend(deps, reconcilerCommand(deps, spend.org), spend);
    openWork.settleSpend(spend);
    return settled === 'returned';
  };
  const copyOf = async (copy: Copy): Promise<boolean> => {
    const made = await makeCopy(deps, copy);
    openWork.settleCopy(copy);
    return made;
  };
  const buy = async (order: Order): Promise<boolean> => {
    await bringCredits(deps, order);
    return true;
  };
  const taken = openWork.take([
    ...openWork.debts.filter(due).map((debt) => [debt, () => returnOwed(debt)] as const),
    ...openWork.spends.filter(due).map((spend) => [spend, () => close(spend)] as const),
    ...openWork.orders.filter(due).map((order) => [order, () => buy(order)] as const),
    ...openWork.copies.filter(due).map((copy) => [copy, () => copyOf(copy)] as const),
  ]);
  const limited = atMost(atOnce);
  await Promise.all(
    taken.map(async ([piece, work]) => {
      await limited(() => attempt(work));
      openWork.putDown(piece);
    }),
  );
  return { closed, errors };
};

/**
 * Brings the credits of an order, unless they have come. (docs/money.md, rule 9: an order comes before its
 * movement)
 */
const bringCredits = (deps: ReconcilerDeps, { org, purchase: id, amount, reason, since }: Order) =>
  deps.ledgers.move({
    org,
    command: reconcilerCommand(deps, org),
    movements: [purchaseBy({ id }, org, amount, reason)],
    since,
  });

const makeCopy = async (deps: ReconcilerDeps, { org, id, slug }: Copy): Promise<boolean> => {
  const { state } = await deps.streams.load(collectionCard, slug);
  const { events } = await execute(
    deps,
    organization,
    org,
    reconcilerCommand(deps, org),
    saveDesign({ id, name: state?.title ?? slug, slug }),
  );
  return events.length > 0;
};

const pause: Milliseconds = 1_000;
/** Then the next pass begins beside one that goes on. */
const longestPass: Milliseconds = 2_000;
/** What the log brought since is read once more after a start; from outside all of it looks as old. */
const saveEvery: Milliseconds = 5_000;

/**
 * Follows the log and closes open work until the signal aborts. Any number of reconcilers may run at once.
 * (docs/money.md, rule 5: return at the ledger revision of what you have seen)
 */
export const runReconciler = async (
  deps: ReconcilerDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, checkpoints, clock } = deps;
  const saved = await checkpoints.load(checkpointName);
  const openWork = saved === null ? new OpenWork() : OpenWork.restore(saved.state);
  await assertSameLog(store, 'The reconciler', saved ?? { position: 0n });
  let handled = saved?.position ?? 0n;
  let event: EventMark | undefined = saved?.event;
  let kept = { handled, openSince: openWork.oldest };
  let savedAt = -Infinity;

  const observe = async (): Promise<void> => {
    for await (const batch of store.follow(handled, { signal })) {
      for (const logged of batch) openWork.observe(logged);
      const last = batch.at(-1);
      if (last === undefined) continue;
      handled = last.position;
      event = markOf(last);
    }
  };
  const passes = new Set<Promise<void>>();
  const pass = async (): Promise<void> => {
    for (const error of (await closeOpenWork(deps, openWork, signal)).errors) report(error);
  };
  const act = async (): Promise<void> => {
    // What falls due meanwhile doesn't wait for a piece that takes long.
    const passing: Promise<void> = pass().finally(() => passes.delete(passing));
    passes.add(passing);
    await within(clock, longestPass, passing, () => undefined);
    const openSince = openWork.oldest;
    const isNew = kept.handled < handled || kept.openSince !== openSince;
    if (!isNew || clock.monotonic() - savedAt < saveEvery) return;
    const next = { handled, openSince };
    savedAt = clock.monotonic();
    await checkpoints.save(checkpointName, {
      position: handled,
      ...(event !== undefined && { event }),
      ...(openSince !== null && { openSince }),
      state: openWork.save(),
    });
    kept = next;
  };
  try {
    await Promise.all([observe(), untilAborted({ clock, signal, pause, onError: report }, act)]);
  } finally {
    await Promise.all(passes);
  }
};
