import { card, isFilledByPayer, owedBy } from './card.js';
import { changeBy, ledger, type LedgerEvent, type Return } from './credits.js';
import { parseEvent, type Actor, type RecordedEvent, type Slot } from './events.js';
import { categoryOf, idOf, type Instant, type Milliseconds } from './ids.js';
import { purchase } from './purchase.js';

/**
 * A purchase or a withdrawal. `position` is null if the engine doesn't give positions when it reads a stream.
 */
export interface Booking {
  readonly position: bigint | null;
  readonly at: Instant;
  readonly amount: number;
  readonly reference: string | null;
  readonly reason: string | null;
  readonly actor: Actor;
}

/**
 * What is under way. `spend`: its slot is not filled by its own command, and it has not come back. `debt`: an
 * event owes credits that have not come back. `purchase`: an order whose credits have not come. `movement`:
 * it stands in the ledger, and what it is for doesn't stand in its stream.
 */
export interface OpenItem {
  readonly kind: 'spend' | 'debt' | 'purchase' | 'movement';
  /** The card and its revision, or the id of the purchase. */
  readonly subject: string;
  readonly amount: number;
  readonly at: Instant;
  readonly position: bigint | null;
}

/** Something that must not be. */
export interface Finding {
  readonly code: 'wrong_balance' | 'cause_moved_twice' | 'wrong_amount' | 'paid_card_returned' | 'overdue';
  readonly subject: string;
  readonly position: bigint | null;
  readonly message: string;
}

export interface Reconciliation {
  readonly opening: number;
  readonly purchased: number;
  readonly withdrawn: number;
  readonly spent: number;
  readonly returned: number;
  /** The balance in the last movement. */
  readonly closing: number;
  /**
   * What the movements of the period were for: spends that paid for a card, and returns by why they were due.
   * `void` counts returns of spends whose slot something else filled.
   */
  readonly cards: {
    readonly paid: number;
    readonly cancelled: number;
    readonly failed: number;
    readonly held: number;
    readonly void: number;
  };
  readonly purchases: readonly Booking[];
  readonly withdrawals: readonly Booking[];
  readonly open: readonly OpenItem[];
  readonly findings: readonly Finding[];
}

export interface Period {
  /** The revision of the ledger after which the period begins: -1 for its beginning. */
  readonly after: number;
  /** When it ends, and how old open work may be then. */
  readonly until: Instant;
  readonly mayBeOpenFor: Milliseconds;
}

const place = (code: string, revision: number): string => `${code}@${revision}`;
const slotName = ({ card: code, revision, command }: Slot): string => `${place(code, revision)}/${command}`;
const returnName = (cause: Return): string =>
  'void' in cause ? slotName(cause.void) : place(cause.owed.card, cause.owed.revision);

interface Debt {
  readonly amount: number;
  readonly why: 'cancelled' | 'failed' | 'held';
  readonly event: RecordedEvent;
}

/** What the streams of cards and purchases say: who filled which slot, what is owed, and what was ordered. */
class Facts {
  readonly fillers = new Map<string, RecordedEvent>();
  readonly debts = new Map<string, Debt>();
  readonly orders = new Map<
    string,
    { readonly amount: number; readonly reference: string; readonly event: RecordedEvent }
  >();

  constructor(events: readonly RecordedEvent[]) {
    for (const event of events) {
      const category = categoryOf(event.stream);
      if (category === 'card') this.#card(event);
      if (category === 'purchase')
        this.orders.set(idOf(event.stream), { ...parseEvent(purchase, event).data, event });
    }
  }

  #card(event: RecordedEvent): void {
    const name = place(idOf(event.stream), event.revision);
    this.fillers.set(name, event);
    const amount = owedBy(parseEvent(card, event));
    const why =
      event.type === 'CardCancelled' ? 'cancelled' : event.type === 'CardFailed' ? 'failed' : 'held';
    if (amount > 0) this.debts.set(name, { amount, why, event });
  }

  /** Whether the command that paid for a slot has filled it. */
  paid(slot: Slot): boolean {
    return isFilledByPayer(slot, this.fillers.get(place(slot.card, slot.revision)));
  }
}

interface Movement {
  readonly stored: RecordedEvent;
  readonly event: LedgerEvent;
}

/** What a movement is for: each name occurs once. (docs/money.md, rule 1: a cause moves money once) */
const nameOf = ({ type, data }: LedgerEvent): string => {
  if (type === 'CreditSpent') return `spend ${slotName(data.cause)}`;
  return type === 'CreditReturned' ? `return ${returnName(data.cause)}` : `${type} ${data.cause}`;
};

interface Verdict {
  readonly open: readonly OpenItem[];
  readonly findings: readonly Finding[];
}
const fine: Verdict = { open: [], findings: [] };

const leftOpen = (
  kind: OpenItem['kind'],
  subject: string,
  amount: number,
  { metadata, position }: RecordedEvent,
): Verdict => ({ open: [{ kind, subject, amount, at: metadata.occurredAt, position }], findings: [] });

const found = (
  code: Finding['code'],
  subject: string,
  { position }: RecordedEvent,
  message: string,
): Verdict => ({ open: [], findings: [{ code, subject, position, message }] });

/** A movement beside what it is for, and beside the movement that undoes it or is undone by it. */
const judge = ({ stored, event }: Movement, facts: Facts, named: ReadonlyMap<string, Movement>): Verdict => {
  const { amount, cause } = event.data;
  if (event.type === 'CreditSpent') {
    const slot = slotName(event.data.cause);
    const back = named.get(`return ${slot}`);
    if (!facts.paid(event.data.cause))
      return back === undefined ? leftOpen('spend', slot, amount, stored) : fine;
    return back === undefined
      ? fine
      : found(
          'paid_card_returned',
          slot,
          back.stored,
          'The credit of a card that was made came back as void.',
        );
  }
  if (event.type === 'CreditReturned') {
    const name = returnName(event.data.cause);
    const due = facts.debts.get(name)?.amount ?? named.get(`spend ${name}`)?.event.data.amount;
    if (due === undefined) return leftOpen('movement', name, amount, stored);
    return due === amount
      ? fine
      : found('wrong_amount', name, stored, `${due} credits were due, and ${amount} came back.`);
  }
  const order = facts.orders.get(event.data.cause);
  if (order === undefined)
    return cause === stored.metadata.causationId
      ? fine
      : leftOpen('movement', event.data.cause, amount, stored);
  return order.amount === amount
    ? fine
    : found(
        'wrong_amount',
        event.data.cause,
        stored,
        `${order.amount} credits were ordered, and ${amount} came.`,
      );
};

/** Each movement has the balance before it and its own change as its balance, and no other has its cause. */
const addUp = (movements: readonly Movement[], named: ReadonlyMap<string, Movement>): readonly Verdict[] => {
  let balance = 0;
  return movements.flatMap((movement) => {
    const { stored, event } = movement;
    balance += changeBy(event);
    const verdicts: Verdict[] = [];
    if (balance !== event.data.balance || balance < 0)
      verdicts.push(
        found(
          'wrong_balance',
          stored.stream,
          stored,
          `The movements up to here add up to ${balance}, and this one says ${event.data.balance}.`,
        ),
      );
    if (named.get(nameOf(event)) !== movement)
      verdicts.push(
        found('cause_moved_twice', nameOf(event), stored, 'An earlier movement has the same cause.'),
      );
    return verdicts;
  });
};

const bookingOf = ({ stored, event }: Movement, facts: Facts): Booking => {
  const { occurredAt: at, actor } = stored.metadata;
  const { amount, cause } = event.data;
  const reference = typeof cause === 'string' ? (facts.orders.get(cause)?.reference ?? null) : null;
  const reason = 'reason' in event.data ? event.data.reason : null;
  return { position: stored.position, at, amount, reference, reason, actor };
};

const cardsOf = (period: readonly Movement[], facts: Facts): Reconciliation['cards'] => {
  const cards = { paid: 0, cancelled: 0, failed: 0, held: 0, void: 0 };
  for (const { event } of period) {
    if (event.type === 'CreditSpent' && facts.paid(event.data.cause)) cards.paid++;
    if (event.type === 'CreditReturned')
      cards[facts.debts.get(returnName(event.data.cause))?.why ?? 'void']++;
  }
  return cards;
};

const sumOf = (movements: readonly Movement[], type: LedgerEvent['type']): number =>
  movements.reduce((sum, { event }) => sum + (event.type === type ? event.data.amount : 0), 0);

/**
 * Adds up the credits of one organization. `events`: its ledger from the first event on, the cards that the
 * ledger names and the organization's purchases, each up to the end of the period, and each stream in its
 * order.
 */
export const reconcile = (
  events: readonly RecordedEvent[],
  { after, until, mayBeOpenFor }: Period,
): Reconciliation => {
  const facts = new Facts(events);
  const movements = events
    .filter(({ stream }) => categoryOf(stream) === 'credits')
    .map((stored) => ({ stored, event: parseEvent(ledger, stored) }));
  const named = new Map(movements.toReversed().map((movement) => [nameOf(movement.event), movement]));
  const missing = [
    ...[...facts.debts].map(([name, { amount, event }]) =>
      named.has(`return ${name}`) ? fine : leftOpen('debt', name, amount, event),
    ),
    ...[...facts.orders].map(([id, { amount, event }]) =>
      named.has(`CreditsPurchased ${id}`) ? fine : leftOpen('purchase', id, amount, event),
    ),
  ];
  const verdicts = [
    ...addUp(movements, named),
    ...movements.map((movement) => judge(movement, facts, named)),
    ...missing,
  ];
  const open = verdicts.flatMap((verdict) => verdict.open);
  const overdue = open
    .filter(({ at }) => Date.parse(until) - Date.parse(at) > mayBeOpenFor)
    .map(({ kind, subject, at, position }) => ({
      code: 'overdue' as const,
      subject,
      position,
      message: `This ${kind} is open since ${at}.`,
    }));
  const period = movements.filter(({ stored }) => stored.revision > after);
  const bookings = (type: LedgerEvent['type']): readonly Booking[] =>
    period.filter(({ event }) => event.type === type).map((movement) => bookingOf(movement, facts));
  return {
    opening: movements.findLast(({ stored }) => stored.revision <= after)?.event.data.balance ?? 0,
    purchased: sumOf(period, 'CreditsPurchased'),
    withdrawn: sumOf(period, 'CreditsWithdrawn'),
    spent: sumOf(period, 'CreditSpent'),
    returned: sumOf(period, 'CreditReturned'),
    closing: movements.at(-1)?.event.data.balance ?? 0,
    cards: cardsOf(period, facts),
    purchases: bookings('CreditsPurchased'),
    withdrawals: bookings('CreditsWithdrawn'),
    open,
    findings: [...verdicts.flatMap((verdict) => verdict.findings), ...overdue],
  };
};
