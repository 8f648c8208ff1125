import { card, isFilledByPayer, owedBy } from './card.js';
import { changeBy, ledger, type LedgerEvent, type Return } from './credits.js';
import { parseEvent, type Actor, type RecordedEvent, type Slot } from './events.js';
import { categoryOf, idOf, type Instant, type Milliseconds } from './ids.js';
import { OpenMoney, placeName } from './open-money.js';
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

const slotName = ({ card: code, revision, command }: Slot): string =>
  `${placeName(code, revision)}/${command}`;
const returnName = (cause: Return): string =>
  'void' in cause ? slotName(cause.void) : placeName(cause.owed.card, cause.owed.revision);

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
    const name = placeName(idOf(event.stream), event.revision);
    this.fillers.set(name, event);
    const amount = owedBy(parseEvent(card, event));
    const why =
      event.type === 'CardCancelled' ? 'cancelled' : event.type === 'CardFailed' ? 'failed' : 'held';
    if (amount > 0) this.debts.set(name, { amount, why, event });
  }

  /** Whether the command that paid for a slot has filled it. */
  paid(slot: Slot): boolean {
    return isFilledByPayer(slot, this.fillers.get(placeName(slot.card, slot.revision)));
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

const found = (
  code: Finding['code'],
  subject: string,
  { position }: RecordedEvent,
  message: string,
): readonly Finding[] => [{ code, subject, position, message }];

/** A movement beside what it is for, and beside the movement that undoes it. */
const judge = (
  { stored, event }: Movement,
  facts: Facts,
  named: ReadonlyMap<string, Movement>,
): readonly Finding[] => {
  const { amount } = event.data;
  if (event.type === 'CreditSpent') {
    const slot = slotName(event.data.cause);
    const back = facts.paid(event.data.cause) ? named.get(`return ${slot}`) : undefined;
    return back === undefined
      ? []
      : found(
          'paid_card_returned',
          slot,
          back.stored,
          'The credit of a card that was made came back as void.',
        );
  }
  if (event.type === 'CreditReturned') {
    const name = returnName(event.data.cause);
    const due = facts.debts.get(name)?.amount ?? named.get(`spend ${name}`)?.event.data.amount ?? amount;
    return due === amount
      ? []
      : found('wrong_amount', name, stored, `${due} credits were due, and ${amount} came back.`);
  }
  const { cause } = event.data;
  const ordered = facts.orders.get(cause)?.amount ?? amount;
  return ordered === amount
    ? []
    : found('wrong_amount', cause, stored, `${ordered} credits were ordered, and ${amount} came.`);
};

/** What the events leave open, each with the event that began it. */
const openIn = (
  events: readonly RecordedEvent[],
  facts: Facts,
  named: ReadonlyMap<string, Movement>,
): readonly OpenItem[] => {
  const money = new OpenMoney();
  for (const event of events) money.observe(event);
  const item = (
    kind: OpenItem['kind'],
    subject: string,
    began: Pick<RecordedEvent, 'metadata' | 'position'> | undefined,
    amount: number | undefined,
  ): readonly OpenItem[] =>
    began === undefined || amount === undefined
      ? []
      : [{ kind, subject, amount, at: began.metadata.occurredAt, position: began.position }];
  const ofMovement = (kind: OpenItem['kind'], subject: string, name: string): readonly OpenItem[] => {
    const movement = named.get(name);
    return item(kind, subject, movement?.stored, movement?.event.data.amount);
  };
  /** Returns of spends that there are not. */
  const groundless = [...named.values()].flatMap(({ event }) =>
    event.type === 'CreditReturned' &&
    'void' in event.data.cause &&
    !named.has(`spend ${slotName(event.data.cause.void)}`)
      ? [slotName(event.data.cause.void)]
      : [],
  );
  return [
    ...money.spends.flatMap(({ slot }) => ofMovement('spend', slotName(slot), `spend ${slotName(slot)}`)),
    ...[...money.early, ...groundless].flatMap((name) => [
      ...ofMovement('movement', name, `return ${name}`),
      ...ofMovement('movement', name, `CreditsPurchased ${name}`),
    ]),
    ...money.debts.flatMap(({ card: code, revision, amount }) =>
      item('debt', placeName(code, revision), facts.debts.get(placeName(code, revision))?.event, amount),
    ),
    ...money.orders.flatMap(({ purchase: id, amount }) =>
      item('purchase', id, facts.orders.get(id)?.event, amount),
    ),
  ];
};

/** Each movement has the balance before it and its own change as its balance, and no other has its cause. */
const addUp = (movements: readonly Movement[], named: ReadonlyMap<string, Movement>): readonly Finding[] => {
  let balance = 0;
  return movements.flatMap((movement) => {
    const { stored, event } = movement;
    balance += changeBy(event);
    const findings: Finding[] = [];
    if (balance !== event.data.balance || balance < 0)
      findings.push(
        ...found(
          'wrong_balance',
          stored.stream,
          stored,
          `The movements up to here add up to ${balance}, and this one says ${event.data.balance}.`,
        ),
      );
    if (named.get(nameOf(event)) !== movement)
      findings.push(
        ...found('cause_moved_twice', nameOf(event), stored, 'An earlier movement has the same cause.'),
      );
    return findings;
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
  const open = openIn(events, facts, named);
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
    findings: [
      ...addUp(movements, named),
      ...movements.flatMap((movement) => judge(movement, facts, named)),
      ...overdue,
    ],
  };
};
