import { card, isFilledByPayer, owedBy } from './card.js';
import { changeBy, ledger, type LedgerEvent, type Return } from './credits.js';
import { parseEvent, type Actor, type EventMetadata, type RecordedEvent, type Slot } from './events.js';
import { categoryOf, idOf, type CommandId, type Instant, type Milliseconds } from './ids.js';
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
 * Open work. `spend`: its slot is not filled by its own command, and it has not come back. `debt`: an event
 * owes credits that have not come back. `purchase`: an order whose credits have not come. `movement`: it is
 * in the ledger, and its purpose is missing from its stream.
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
   * The purposes of the period's movements: spends that paid for a card, and returns by their reason. `void`
   * counts returns of spends whose slot something else filled.
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

/** As much of an event as an answer shows of it: there may be millions. */
interface Seen extends Pick<RecordedEvent, 'stream' | 'revision' | 'position'> {
  readonly metadata: Pick<EventMetadata, 'occurredAt' | 'actor'>;
}

const seen = ({ stream, revision, position, metadata: { occurredAt, actor } }: RecordedEvent): Seen => ({
  stream,
  revision,
  position,
  metadata: { occurredAt, actor },
});

interface Debt {
  readonly amount: number;
  readonly why: 'cancelled' | 'failed' | 'held';
  readonly event: Seen;
}

/** Facts from the streams of cards and purchases: filled slots, debts, and orders. */
class StreamFacts {
  /** Slots that the command that paid for them has filled. */
  readonly #paid = new Set<string>();
  readonly debts = new Map<string, Debt>();
  readonly orders = new Map<
    string,
    { readonly amount: number; readonly reference: string; readonly event: Seen }
  >();

  observe(event: RecordedEvent): void {
    const category = categoryOf(event.stream);
    if (category === 'card') this.#card(event);
    if (category === 'purchase') {
      const { amount, reference } = parseEvent(purchase, event).data;
      this.orders.set(idOf(event.stream), { amount, reference, event: seen(event) });
    }
  }

  #card(event: RecordedEvent): void {
    const code = idOf(event.stream);
    const slot = { card: code, revision: event.revision, command: event.metadata.causationId as CommandId };
    if (isFilledByPayer(slot, event)) this.#paid.add(slotName(slot));
    const amount = owedBy(parseEvent(card, event));
    const why =
      event.type === 'CardCancelled' ? 'cancelled' : event.type === 'CardFailed' ? 'failed' : 'held';
    if (amount > 0) this.debts.set(placeName(code, event.revision), { amount, why, event: seen(event) });
  }

  /** Whether the command that paid for a slot has filled it. */
  paid(slot: Slot): boolean {
    return this.#paid.has(slotName(slot));
  }
}

interface RecordedMovement {
  readonly stored: Seen;
  readonly event: LedgerEvent;
}

/** The purpose of a movement: each name occurs once. (docs/money.md, rule 1: a cause moves money once) */
const nameOf = ({ type, data }: LedgerEvent): string => {
  if (type === 'CreditSpent') return `spend ${slotName(data.cause)}`;
  return type === 'CreditReturned' ? `return ${returnName(data.cause)}` : `${type} ${data.cause}`;
};

const found = (
  code: Finding['code'],
  subject: string,
  { position }: Seen,
  message: string,
): readonly Finding[] => [{ code, subject, position, message }];

/** Judges a movement by its purpose, and by the movement that undoes it. */
const judge = (
  { stored, event }: RecordedMovement,
  facts: StreamFacts,
  named: ReadonlyMap<string, RecordedMovement>,
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

/** The open work, each item with the event that began it. */
const openIn = (
  money: OpenMoney,
  groundless: Iterable<string>,
  facts: StreamFacts,
  named: ReadonlyMap<string, RecordedMovement>,
): readonly OpenItem[] => {
  const item = (
    kind: OpenItem['kind'],
    subject: string,
    began: Seen | undefined,
    amount: number | undefined,
  ): readonly OpenItem[] =>
    began === undefined || amount === undefined
      ? []
      : [{ kind, subject, amount, at: began.metadata.occurredAt, position: began.position }];
  const ofMovement = (kind: OpenItem['kind'], subject: string, name: string): readonly OpenItem[] => {
    const movement = named.get(name);
    return item(kind, subject, movement?.stored, movement?.event.data.amount);
  };
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

/** The slot of a spend that there is not, if the movement returns its credit. */
const groundOf = (
  { event }: RecordedMovement,
  named: ReadonlyMap<string, RecordedMovement>,
): readonly string[] => {
  if (event.type !== 'CreditReturned' || !('void' in event.data.cause)) return [];
  const slot = slotName(event.data.cause.void);
  return named.has(`spend ${slot}`) ? [] : [slot];
};

/** Adds up movements: each must state the sum of all movements up to it, and causes must be unique. */
const addUp = (
  movement: RecordedMovement,
  balance: number,
  named: ReadonlyMap<string, RecordedMovement>,
): readonly Finding[] => {
  const { stored, event } = movement;
  const isRight = balance === event.data.balance && balance >= 0;
  const message = `The movements up to here add up to ${balance}, and this one says ${event.data.balance}.`;
  return [
    ...(isRight ? [] : found('wrong_balance', stored.stream, stored, message)),
    ...(named.get(nameOf(event)) === movement
      ? []
      : found('cause_moved_twice', nameOf(event), stored, 'An earlier movement has the same cause.')),
  ];
};

const bookingOf = ({ stored, event }: RecordedMovement, facts: StreamFacts): Booking => {
  const { occurredAt: at, actor } = stored.metadata;
  const { amount, cause } = event.data;
  const reference = typeof cause === 'string' ? (facts.orders.get(cause)?.reference ?? null) : null;
  const reason = 'reason' in event.data ? event.data.reason : null;
  return { position: stored.position, at, amount, reference, reason, actor };
};

/** The sums of the movements of a period. */
class Sums {
  purchased = 0;
  withdrawn = 0;
  spent = 0;
  returned = 0;
  readonly cards = { paid: 0, cancelled: 0, failed: 0, held: 0, void: 0 };
  readonly purchases: Booking[] = [];
  readonly withdrawals: Booking[] = [];

  add(movement: RecordedMovement, facts: StreamFacts): void {
    const { type, data } = movement.event;
    if (type === 'CreditsPurchased') {
      this.purchased += data.amount;
      this.purchases.push(bookingOf(movement, facts));
    } else if (type === 'CreditsWithdrawn') {
      this.withdrawn += data.amount;
      this.withdrawals.push(bookingOf(movement, facts));
    } else if (type === 'CreditReturned') {
      this.returned += data.amount;
      this.cards[facts.debts.get(returnName(data.cause))?.why ?? 'void']++;
    } else {
      this.spent += data.amount;
      if (facts.paid(data.cause)) this.cards.paid++;
    }
  }
}

/**
 * The credits of one organization. They have to observe its ledger from the first event on, the cards that
 * the ledger names and the organization's purchases, each up to the end of the period, and each stream in its
 * order.
 */
export class Books {
  readonly #movements: RecordedMovement[] = [];
  readonly #named = new Map<string, RecordedMovement>();
  readonly #facts = new StreamFacts();
  readonly #money = new OpenMoney();

  observe(stored: RecordedEvent): void {
    this.#money.observe(stored);
    if (categoryOf(stored.stream) !== 'credits') return this.#facts.observe(stored);
    const event = parseEvent(ledger, stored);
    const movement = { stored: seen(stored), event };
    this.#movements.push(movement);
    const name = nameOf(event);
    if (!this.#named.has(name)) this.#named.set(name, movement);
  }

  /** Adds them up, a movement a step: there may be millions. */
  *addUp({ after, until, mayBeOpenFor }: Period): Generator<void, Reconciliation, void> {
    const [facts, named, movements] = [this.#facts, this.#named, this.#movements];
    const sums = new Sums();
    const badSums: Finding[] = [];
    const badCauses: Finding[] = [];
    const groundless = new Set<string>();
    let balance = 0;
    let opening = 0;
    for (const movement of movements) {
      balance += changeBy(movement.event);
      badSums.push(...addUp(movement, balance, named));
      badCauses.push(...judge(movement, facts, named));
      for (const slot of groundOf(movement, named)) groundless.add(slot);
      if (movement.stored.revision > after) sums.add(movement, facts);
      else opening = movement.event.data.balance;
      yield;
    }
    const open = openIn(this.#money, groundless, facts, named);
    const overdue = open
      .filter(({ at }) => Date.parse(until) - Date.parse(at) > mayBeOpenFor)
      .map(({ kind, subject, at, position }) => ({
        code: 'overdue' as const,
        subject,
        position,
        message: `This ${kind} is open since ${at}.`,
      }));
    return {
      opening,
      closing: movements.at(-1)?.event.data.balance ?? 0,
      ...sums,
      open,
      findings: [...badSums, ...badCauses, ...overdue],
    };
  }
}
