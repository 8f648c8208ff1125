/** A rule of the protocol that a run may leave out, to see what it is good for. */
export interface LeftOut {
  /** The number of the rule in docs/money.md. */
  readonly rule: number;
  /** What processes do instead. */
  readonly instead: string;
  /** The scenario that shows it soonest. */
  readonly shownBy: string;
}

export const leftOut = {
  'slot-only': {
    rule: 1,
    instead: 'A spend names the slot that it pays for, and not the command that will fill it.',
    shownBy: 'a send and its retry, two credits',
  },
  'blind-retry': {
    rule: 2,
    instead: 'A send spends again without a look whether its first spend has arrived.',
    shownBy: 'a send and its retry, two credits',
  },
  'blind-return': {
    rule: 2,
    instead: 'A cancel returns the credit again without a look whether its first return has arrived.',
    shownBy: 'two cancels of a paid card, two reconcilers',
  },
  'card-first': {
    rule: 2,
    instead: "A cancel reads the ledger's revision after the card, so that a return may stand before it.",
    shownBy: 'two cancels of a paid card, two reconcilers',
  },
  'blind-purchase': {
    rule: 2,
    instead: 'A purchase under a reference buys again without a look whether its credits have come.',
    shownBy: 'two purchases under one reference, two reconcilers',
  },
  'no-owes': {
    rule: 3,
    instead: 'The event of a cancel does not say that it owes a credit.',
    shownBy: 'two cancels of a paid card, two reconcilers',
  },
  'no-void': {
    rule: 4,
    instead: 'The reconciler returns the credit of an empty slot without taking the slot first.',
    shownBy: 'one send, two reconcilers',
  },
  'any-revision': {
    rule: 5,
    instead: 'A reconciler returns a credit at whatever revision the ledger has by then.',
    shownBy: 'one send, two reconcilers',
  },
  'no-fence': {
    rule: 6,
    instead: 'A retry takes a claim over without comparing it with what it has read.',
    shownBy: 'a send and its retry, two credits',
  },
  'any-card': {
    rule: 7,
    instead: 'A card counts as ours whatever request it names.',
    shownBy: 'a send whose code is taken',
  },
  'no-close': {
    rule: 8,
    instead: 'A take-over that is refused frees the key and leaves the code open.',
    shownBy: 'a slow send, a refused retry, a purchase, another retry',
  },
  'lost-order': {
    rule: 9,
    instead: 'The reconciler passes over an order whose credits have not come.',
    shownBy: 'a purchase under a reference',
  },
  'late-request': {
    rule: 10,
    instead: 'A send claims and spends however long ago it began.',
    shownBy: 'a send and a retry that waits for a day',
  },
} satisfies Readonly<Record<string, LeftOut>>;

export type RuleName = keyof typeof leftOut;

export const isRuleName = (name: string): name is RuleName => Object.hasOwn(leftOut, name);
