import { debtOf, isPurchase, purchaseOf, slotOf, voidOf } from './causes.js';
import { append, changing, goOn, startOver, type Next, type Steps, type Turn } from './turn.js';
import {
  cardIn,
  isOver,
  lastRevision,
  type CardEvent,
  type Duty,
  type Movement,
  type World,
} from './world.js';

/** Whether the slot that a spend paid for was filled by the command that paid. */
const isFilledBy = ({ type, by }: CardEvent, command: string): boolean =>
  ['Scheduled', 'Released'].includes(type) && (String(by) === command || command === '');

const dutyOfSpend = ({ world }: Turn, { cause }: Movement): readonly Duty[] => {
  const { code, revision, command } = slotOf(cause);
  if (isPurchase(cause)) return [];
  const filler = cardIn(world, code)[revision];
  if (filler === undefined) return [{ kind: 'empty slot', code, revision, cause: voidOf(cause) }];
  return isFilledBy(filler, command) ? [] : [{ kind: 'credit', cause: voidOf(cause) }];
};

const debtsIn = ({ cards }: World): readonly Duty[] =>
  Object.entries(cards).flatMap(([code, card]) =>
    card.flatMap(({ owes = 0 }, revision): readonly Duty[] =>
      owes > 0 ? [{ kind: 'credit', cause: debtOf(code, revision) }] : [],
    ),
  );

// (docs/money.md, rule 9: an order comes before its movement, and is a debt)
const ordersIn = ({ world: { cards }, keeps }: Turn): readonly Duty[] =>
  Object.entries(cards).flatMap(([stream, [first]]): readonly Duty[] =>
    first?.type === 'Ordered' && keeps('lost-order')
      ? [{ kind: 'order', cause: purchaseOf(stream), buys: first.buys ?? 0 }]
      : [],
  );

/** What a reader of both kinds of streams sees that is not settled. */
const dutiesIn = (turn: Turn): readonly Duty[] => {
  const { ledger } = turn.world;
  const returned = new Set(ledger.filter(({ amount }) => amount > 0).map(({ cause }) => cause));
  const ofSpends = ledger.filter(({ amount }) => amount < 0).flatMap((spend) => dutyOfSpend(turn, spend));
  return [...ofSpends, ...debtsIn(turn.world), ...ordersIn(turn)].filter(({ cause }) => !returned.has(cause));
};

const isBusy = ({ processes }: World): boolean =>
  processes.some((process) => process.role.kind !== 'reconciler' && !isOver(process));

/** What a reconciler begins to do. The writer of an empty slot may be merely slower than a minute. */
const begin = (turn: Turn, duty: Duty, ledgerRevision: number): readonly Next[] => {
  const { world, keeps } = turn;
  if (duty.kind !== 'empty slot')
    return [goOn(turn, `sees that ${duty.cause} is due`, 'return', { duty, ledgerRevision })];
  if (isBusy(world) && world.early === 0) return [];
  const ready = isBusy(world) ? changing(turn, { early: world.early - 1 }) : turn;
  const seen = `sees that slot ${duty.revision} of ${duty.code} is empty`;
  return [goOn(ready, seen, keeps('no-void') ? 'takeSlot' : 'return', { duty, ledgerRevision })];
};

/**
 * Any number of reconcilers may run. Each works from a prefix of the log: here, from what there is when it
 * starts. It takes a slot when all others have come to rest and, as often as the world allows, before.
 */
export const reconciler: Steps = {
  start: (turn) => {
    const ledgerRevision = lastRevision(turn.world.ledger);
    return dutiesIn(turn).flatMap((duty) => begin(turn, duty, ledgerRevision));
  },

  // (docs/money.md, rule 4: take the slot before you call a spend void) A late writer meets a conflict then.
  takeSlot: (turn) => {
    const { duty } = turn.memory;
    if (duty?.kind !== 'empty slot') throw new Error('there is no slot to take');
    const event: CardEvent = { type: duty.revision === 0 ? 'Abandoned' : 'ReleaseAbandoned' };
    const write = { stream: duty.code, expected: duty.revision - 1, event };
    return append(turn, write, (_, after, happened) => startOver(after, happened));
  },

  // (docs/money.md, rule 5: return at the ledger revision of what you have seen) Whatever happened since
  // makes the append conflict.
  return: (turn) => {
    const { world, memory, keeps } = turn;
    if (memory.duty === null) throw new Error('there is no credit to return');
    const expected = keeps('any-revision') ? memory.ledgerRevision : lastRevision(world.ledger);
    const amount = memory.duty.kind === 'order' ? memory.duty.buys : 1;
    const write = { stream: 'ledger', expected, event: { cause: memory.duty.cause, amount } };
    return append(turn, write, (_, after, happened) => startOver(after, happened));
  },
};
