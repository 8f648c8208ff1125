import { card, isFilledByPayer, owedBy } from './card.js';
import { changeBy, ledger, type LedgerEvent, type Return } from './credits.js';
import { parseEvent, type Actor, type RecordedEvent, type Slot } from './events.js';
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
  readonly at: Instant;
  readonly actor: Actor;
}

const seen = ({ stream, revision, position, metadata }: RecordedEvent): Seen => {
  const { occurredAt: at, actor } = metadata;
  return { stream, revision, position, at, actor };
};

interface RecordedMovement {
  readonly stored: Seen;
  readonly event: LedgerEvent;
}

interface Debt {
  readonly amount: number;
  readonly why: 'cancelled' | 'failed' | 'held';
  readonly event: Seen;
}

interface OrderedCredits {
  readonly amount: number;
  readonly reference: string;
  readonly event: Seen;
}

/** The purpose of a movement: each name occurs once. (docs/money.md, rule 1: a cause moves money once) */
const nameOf = ({ type, data }: LedgerEvent): string => {
  if (type === 'CreditSpent') return `spend ${slotName(data.cause)}`;
  return type === 'CreditReturned' ? `return ${returnName(data.cause)}` : `${type} ${data.cause}`;
};

const found = (code: Finding['code'], subject: string, { position }: Seen, message: string): Finding => ({
  code,
  subject,
  position,
  message,
});

/** The sums of the movements of a period. */
class Sums {
  purchased = 0;
  withdrawn = 0;
  spent = 0;
  returned = 0;
  readonly cards = { paid: 0, cancelled: 0, failed: 0, held: 0, void: 0 };
  readonly purchases: Booking[] = [];
  readonly withdrawals: Booking[] = [];
}

/**
 * The credits of one organization. They have to observe its ledger from the first event on, the cards that
 * the ledger names and the organization's purchases, each up to the end of the period, and each stream in its
 * order.
 */
export class Books {
  readonly #movements: RecordedMovement[] = [];
  /** The first movement of each name. */
  readonly #named = new Map<string, RecordedMovement>();
  /** Slots that the command that paid for them has filled. */
  readonly #paid = new Set<string>();
  readonly #debts = new Map<string, Debt>();
  readonly #orders = new Map<string, OrderedCredits>();
  readonly #money = new OpenMoney();

  observe(stored: RecordedEvent): void {
    this.#money.observe(stored);
    const category = categoryOf(stored.stream);
    if (category === 'credits')
      this.#observeMovement({ stored: seen(stored), event: parseEvent(ledger, stored) });
    if (category === 'card') this.#observeCard(stored);
    if (category === 'purchase') {
      const { amount, reference } = parseEvent(purchase, stored).data;
      this.#orders.set(idOf(stored.stream), { amount, reference, event: seen(stored) });
    }
  }

  /** Adds them up, a movement a step: there may be millions. */
  *addUp({ after, until, mayBeOpenFor }: Period): Generator<void, Reconciliation, void> {
    const sums = new Sums();
    const badSums: Finding[] = [];
    const badCauses: Finding[] = [];
    /** The slots of spends that there are not, and whose credits came back. */
    const groundless = new Set<string>();
    let balance = 0;
    let opening = 0;
    for (const movement of this.#movements) {
      const { stored, event } = movement;
      balance += changeBy(event);
      badSums.push(...this.#misstated(movement, balance));
      badCauses.push(...this.#misjudged(movement));
      if (event.type === 'CreditReturned' && 'void' in event.data.cause) {
        const slot = slotName(event.data.cause.void);
        if (!this.#named.has(`spend ${slot}`)) groundless.add(slot);
      }
      if (stored.revision > after) this.#addTo(sums, movement);
      else opening = event.data.balance;
      yield;
    }
    const open = this.#open(groundless);
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
      closing: this.#movements.at(-1)?.event.data.balance ?? 0,
      ...sums,
      open,
      findings: [...badSums, ...badCauses, ...overdue],
    };
  }

  #observeMovement(movement: RecordedMovement): void {
    this.#movements.push(movement);
    const name = nameOf(movement.event);
    if (!this.#named.has(name)) this.#named.set(name, movement);
  }

  #observeCard(event: RecordedEvent): void {
    const code = idOf(event.stream);
    const slot = { card: code, revision: event.revision, command: event.metadata.causationId as CommandId };
    if (isFilledByPayer(slot, event)) this.#paid.add(slotName(slot));
    const amount = owedBy(parseEvent(card, event));
    const why =
      event.type === 'CardCancelled' ? 'cancelled' : event.type === 'CardFailed' ? 'failed' : 'held';
    if (amount > 0) this.#debts.set(placeName(code, event.revision), { amount, why, event: seen(event) });
  }

  /** A movement must state the sum of all movements up to it, and have a cause of its own. */
  *#misstated(movement: RecordedMovement, balance: number): Generator<Finding, void, void> {
    const { stored, event } = movement;
    const message = `The movements up to here add up to ${balance}, and this one says ${event.data.balance}.`;
    if (balance !== event.data.balance || balance < 0)
      yield found('wrong_balance', stored.stream, stored, message);
    if (this.#named.get(nameOf(event)) !== movement)
      yield found('cause_moved_twice', nameOf(event), stored, 'An earlier movement has the same cause.');
  }

  /** Judges a movement by its purpose, and by the movement that undoes it. */
  *#misjudged({ stored, event: { type, data } }: RecordedMovement): Generator<Finding, void, void> {
    const { amount } = data;
    if (type === 'CreditSpent') {
      const slot = slotName(data.cause);
      const back = this.#paid.has(slot) ? this.#named.get(`return ${slot}`) : undefined;
      const message = 'The credit of a card that was made came back as void.';
      if (back !== undefined) yield found('paid_card_returned', slot, back.stored, message);
    } else if (type === 'CreditReturned') {
      const name = returnName(data.cause);
      const due = this.#debts.get(name)?.amount ?? this.#named.get(`spend ${name}`)?.event.data.amount;
      const message = `${due} credits were due, and ${amount} came back.`;
      if ((due ?? amount) !== amount) yield found('wrong_amount', name, stored, message);
    } else {
      const ordered = this.#orders.get(data.cause)?.amount ?? amount;
      const message = `${ordered} credits were ordered, and ${amount} came.`;
      if (ordered !== amount) yield found('wrong_amount', data.cause, stored, message);
    }
  }

  #addTo(sums: Sums, { stored, event: { type, data } }: RecordedMovement): void {
    if (type === 'CreditReturned') {
      sums.returned += data.amount;
      sums.cards[this.#debts.get(returnName(data.cause))?.why ?? 'void']++;
    } else if (type === 'CreditSpent') {
      sums.spent += data.amount;
      if (this.#paid.has(slotName(data.cause))) sums.cards.paid++;
    } else {
      const { position, at, actor } = stored;
      const { amount, cause, reason } = data;
      const reference = this.#orders.get(cause)?.reference ?? null;
      const isPurchase = type === 'CreditsPurchased';
      sums[isPurchase ? 'purchased' : 'withdrawn'] += amount;
      sums[isPurchase ? 'purchases' : 'withdrawals'].push({ position, at, amount, reference, reason, actor });
    }
  }

  /** The open work, each item with the event that began it. */
  #open(groundless: Iterable<string>): readonly OpenItem[] {
    const [money, items]: [OpenMoney, OpenItem[]] = [this.#money, []];
    const add = (kind: OpenItem['kind'], subject: string, began?: Seen, amount?: number): void => {
      if (began === undefined || amount === undefined) return;
      items.push({ kind, subject, amount, at: began.at, position: began.position });
    };
    const addMovement = (kind: OpenItem['kind'], subject: string, name: string): void => {
      const movement = this.#named.get(name);
      add(kind, subject, movement?.stored, movement?.event.data.amount);
    };
    for (const { slot } of money.spends) addMovement('spend', slotName(slot), `spend ${slotName(slot)}`);
    for (const name of [...money.early, ...groundless]) {
      addMovement('movement', name, `return ${name}`);
      addMovement('movement', name, `CreditsPurchased ${name}`);
    }
    for (const { card: code, revision, amount } of money.debts) {
      const name = placeName(code, revision);
      add('debt', name, this.#debts.get(name)?.event, amount);
    }
    for (const { purchase: id, amount } of money.orders)
      add('purchase', id, this.#orders.get(id)?.event, amount);
    return items;
  }
}
