// A world is one state of everything: both kinds of streams, the claim on the one Idempotency-Key, the writes
// on their way, and the processes. Nothing in it is ever changed in place, so a world shares with the one
// before it whatever a step leaves alone.

/** An event of the ledger. `amount` is negative for a spend. */
export interface Movement {
  readonly cause: string;
  readonly amount: number;
  /** The command that recorded it, if it may be repeated by the same one. */
  readonly by?: number;
}

/** An event of a card's stream, or the one of an order of credits. */
export interface CardEvent {
  readonly type:
    'Scheduled' | 'Held' | 'Released' | 'Cancelled' | 'Failed' | 'Abandoned' | 'ReleaseAbandoned' | 'Ordered';
  /** The command that recorded it. */
  readonly by?: number;
  readonly request?: 'ours' | 'foreign';
  readonly owes?: number;
  /** How many credits were ordered, and the revision of the ledger from before that. */
  readonly buys?: number;
  readonly since?: number;
}

/** The claim on the key. `ledgerRevision`: from before the claim, for whoever takes it over. */
export type Claim =
  | {
      readonly state: 'running';
      readonly owner: number;
      readonly code: string;
      readonly ledgerRevision: number;
    }
  | { readonly state: 'done'; readonly code: string };

/** An append: to the ledger, or to the card whose code is the name of the stream. */
export interface Write {
  readonly stream: string;
  readonly expected: number;
  readonly event: Movement | CardEvent;
  /** What stands behind it in the same append to the ledger. */
  readonly more?: readonly Movement[];
}

export type Kind =
  | 'send'
  | 'cancel'
  | 'hold'
  | 'fail'
  | 'release'
  | 'releases'
  | 'purchase'
  | 'withdrawal'
  | 'order'
  | 'reconciler';

/**
 * What a reconciler sees that is not settled: a paid slot that is empty, a credit that is to come back, or
 * credits that were ordered.
 */
export type Duty =
  | {
      readonly kind: 'empty slot';
      readonly code: string;
      readonly revision: number;
      readonly cause: string;
    }
  | { readonly kind: 'credit'; readonly cause: string }
  | { readonly kind: 'order'; readonly cause: string; readonly buys: number };

/** What a process is for; it never changes. */
export interface Role {
  readonly kind: Kind;
  /** The card that it is about, or two of them; '' for the card of the key. */
  readonly target: string;
  /** How many credits it buys or withdraws. */
  readonly buys: number;
  /** The day on which it begins. */
  readonly day: number;
}

/** What a process knows. One that has ended, died or started over knows nothing. */
export interface Memory {
  /** The last revision of the ledger that it has seen, and the balance there. */
  readonly ledgerRevision: number;
  readonly funds: number;
  /** A spend was sent whose outcome it never learnt. */
  readonly mayHaveSpent: boolean;
  readonly code: string;
  /** The last revision of the card that it has seen. */
  readonly cardRevision: number;
  readonly owes: number;
  /** The claim that a retry wants to take over, and whether the code in it is still free. */
  readonly earlier: Claim | null;
  readonly isCodeFree: boolean;
  /** The revision after which the spend of an earlier owner may stand; null if the code is our own. */
  readonly since: number | null;
  /** The cause of that spend. */
  readonly lost: string;
  readonly duty: Duty | null;
}

export interface Response {
  readonly status: number;
  /** The card that it names; '' if it names none. */
  readonly code: string;
  readonly refunded: number;
}

/** One process. Its place in the world's list is the id of its command. */
export interface Process {
  readonly role: Role;
  /** Its next step; or `end`, or `dead`. */
  readonly at: string;
  readonly memory: Memory;
  readonly response: Response | null;
}

export interface World {
  /** Credits that were there before the ledger's first event. */
  readonly purchased: number;
  /** How many more processes may die, writes get lost or be late, and reconcilers come too early. */
  readonly crashes: number;
  readonly faults: number;
  readonly early: number;
  /** The day that it is, and how many more will come: at the end of each the key is forgotten. */
  readonly day: number;
  readonly days: number;
  readonly ledger: readonly Movement[];
  readonly cards: Readonly<Record<string, readonly CardEvent[]>>;
  readonly claim: Claim | null;
  /** How many codes were drawn. */
  readonly drawn: number;
  readonly late: readonly Write[];
  readonly processes: readonly Process[];
}

export const emptyMemory: Memory = {
  ledgerRevision: -1,
  funds: 0,
  mayHaveSpent: false,
  code: '',
  cardRevision: -1,
  owes: 0,
  earlier: null,
  isCodeFree: false,
  since: null,
  lost: '',
  duty: null,
};

// Reading a world

export const lastRevision = (stream: readonly unknown[]): number => stream.length - 1;
export const balanceOf = ({ purchased, ledger }: Pick<World, 'purchased' | 'ledger'>): number =>
  ledger.reduce((sum, { amount }) => sum + amount, purchased);
export const cardIn = ({ cards }: Pick<World, 'cards'>, code: string): readonly CardEvent[] =>
  cards[code] ?? [];

export const isHeld = (card: readonly CardEvent[]): boolean =>
  ['Held', 'ReleaseAbandoned'].includes(card.at(-1)?.type ?? '');
/** Paid for, and not cancelled. */
export const isLive = (card: readonly CardEvent[]): boolean =>
  ['Scheduled', 'Released'].includes(card.at(-1)?.type ?? '');

/** Whether the ledger has a spend or a return with a cause after a revision. */
export const hasMoved = (
  { ledger }: Pick<World, 'ledger'>,
  after: number,
  cause: string,
  kind: 'spend' | 'return',
): boolean =>
  ledger.slice(after + 1).some((event) => event.cause === cause && event.amount < 0 === (kind === 'spend'));

export const isOver = ({ at }: Process): boolean => at === 'end' || at === 'dead';
