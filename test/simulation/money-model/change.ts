import { debtOf, purchaseBy, purchaseOf, spendFor } from './causes.js';
import {
  append,
  changing,
  end,
  goOn,
  goOnWith,
  moving,
  startOver,
  type Next,
  type Steps,
  type Turn,
} from './turn.js';
import {
  balanceOf,
  cardIn,
  hasMoved,
  isHeld,
  isLive,
  lastRevision,
  type CardEvent,
  type Movement,
  type Write,
} from './world.js';

const cardOf = ({ world, memory }: Turn): readonly CardEvent[] => cardIn(world, memory.code);

/** The event after the last one that the process has seen. */
const nextEvent = (turn: Turn): CardEvent | undefined => cardOf(turn)[turn.memory.cardRevision + 1];

/** An event for the card, at the revision that the process has seen. */
const changingCard = ({ memory }: Turn, event: CardEvent): Write => ({
  stream: memory.code,
  expected: memory.cardRevision,
  event,
});

const respond = (turn: Turn, happened: string): Next =>
  goOnWith(turn, happened, 'respond', { owes: turn.memory.owes });

const targetOf = ({ world: { claim }, role }: Turn): string =>
  role.target === '' && claim?.state === 'done' ? claim.code : role.target;

const debtOfEnding = ({ memory }: Turn): string => debtOf(memory.code, memory.cardRevision + 1);

/**
 * A card is cancelled, held or fails: what was paid for it comes back. (docs/money.md, rule 2: the ledger's
 * revision is read before the card's stream)
 */
const ending = (type: 'Cancelled' | 'Held' | 'Failed'): Steps => ({
  start: (turn) => {
    const code = targetOf(turn);
    if (code === '') return [end(turn, 404)];
    const ledgerRevision = turn.keeps('card-first') ? lastRevision(turn.world.ledger) : -1;
    return [goOn(turn, 'reads the ledger', 'look', { code, ledgerRevision })];
  },

  look: (turn) => {
    const card = cardOf(turn);
    const last = card.at(-1);
    if (last === undefined || card[0]?.type === 'Abandoned') return [end(turn, 404)];
    if (last.type === 'Cancelled' && type === 'Cancelled') return [end(turn, 200)];
    if (['Cancelled', 'Failed'].includes(last.type) || (type === 'Held' && !isLive(card)))
      return [end(turn, 409)];
    const learnt = { cardRevision: lastRevision(card), owes: isLive(card) ? 1 : 0 };
    return [goOn(turn, 'reads the card', turn.keeps('card-first') ? 'cancel' : 'readLedger', learnt)];
  },

  /** Only if the rule is left out. */
  readLedger: (turn) => [
    goOn(turn, 'reads the ledger', 'cancel', { ledgerRevision: lastRevision(turn.world.ledger) }),
  ],

  // (docs/money.md, rule 3: a debt is written into the card's event, so that others can settle it)
  cancel: (turn) => {
    const { memory, self, keeps } = turn;
    const event: CardEvent = { type, by: self, owes: keeps('no-owes') ? memory.owes : 0 };
    return append(turn, changingCard(turn, event), (outcome, after, happened) => {
      if (outcome !== 'appended') return goOn(after, happened, 'cancelAgain');
      return memory.owes > 0 ? goOn(after, happened, 'return') : respond(after, happened);
    });
  },

  cancelAgain: (turn) => {
    const slot = nextEvent(turn);
    if (slot?.type !== type || slot.by !== turn.self) return [startOver(turn, 'finds no event of its own')];
    const happened = 'finds its event';
    return [turn.memory.owes > 0 ? goOn(turn, happened, 'returnAgain') : respond(turn, happened)];
  },

  return: (turn) =>
    append(turn, moving(turn, debtOfEnding(turn), 1), (outcome, after, happened) =>
      outcome === 'appended' ? respond(after, happened) : goOn(after, happened, 'returnAgain'),
    ),

  // (docs/money.md, rule 2: look for your own cause before you repeat)
  returnAgain: (turn) => {
    const { world, memory, keeps } = turn;
    if (keeps('blind-return') && hasMoved(world, memory.ledgerRevision, debtOfEnding(turn), 'return'))
      return [respond(turn, 'finds its return')];
    return [goOn(turn, 'finds no return', 'return', { ledgerRevision: lastRevision(world.ledger) })];
  },

  respond: (turn) => [end(turn, 200, { refunded: turn.memory.owes })],
});

/** DELETE /api/v1/cards/{code}. */
export const cancel = ending('Cancelled');
export const hold = ending('Held');
export const fail = ending('Failed');

const spendOfRelease = ({ memory, self }: Turn): string =>
  spendFor(memory.code, memory.cardRevision + 1, self);

/** The slot is paid for: all that is left is to fill it. */
const fill = (turn: Turn, happened: string): Next => {
  const { code, cardRevision } = turn.memory;
  return goOnWith(turn, happened, 'release', { code, cardRevision });
};

/** The release of a held card: its spend pays for the next slot of the card's stream. */
export const release: Steps = {
  start: (turn) => {
    const { world } = turn;
    const learnt = { ledgerRevision: lastRevision(world.ledger), funds: balanceOf(world) };
    return [goOn(turn, 'reads the ledger', 'look', learnt)];
  },

  look: (turn) => {
    const { target } = turn.role;
    const card = cardIn(turn.world, target);
    if (!isHeld(card)) return [end(turn, 409)];
    if (turn.memory.funds < 1) return [end(turn, 402)];
    const learnt = { code: target, cardRevision: lastRevision(card), funds: 0 };
    return [goOn(turn, 'reads the card', 'spend', learnt)];
  },

  spend: (turn) =>
    append(turn, moving(turn, spendOfRelease(turn), -1), (outcome, after, happened) =>
      outcome === 'appended' ? fill(after, happened) : goOn(after, happened, 'spendAgain'),
    ),

  spendAgain: (turn) => {
    const { world, memory } = turn;
    if (hasMoved(world, memory.ledgerRevision, spendOfRelease(turn), 'spend'))
      return [fill(turn, 'finds its spend')];
    if (balanceOf(world) < 1) return [end(turn, 402)];
    return [goOn(turn, 'finds no spend of its own', 'spend', { ledgerRevision: lastRevision(world.ledger) })];
  },

  release: (turn) =>
    append(turn, changingCard(turn, { type: 'Released', by: turn.self }), (outcome, after, happened) =>
      outcome === 'appended' ? respond(after, happened) : goOn(after, happened, 'releaseAgain'),
    ),

  releaseAgain: (turn) => {
    const slot = nextEvent(turn);
    if (slot === undefined) return [goOn(turn, 'finds the slot empty', 'release')];
    const isOwn = slot.type === 'Released' && slot.by === turn.self;
    return [isOwn ? respond(turn, 'finds its event') : startOver(turn, 'finds the slot taken')];
  },

  respond: (turn) => [end(turn, 200)],
};

/**
 * Two releases at once, of cards that have not been released before: their spends share an append, as those
 * of one process do, and each is looked for on its own.
 */
export const releases: Steps = {
  start: (turn) => {
    const { world, role } = turn;
    if (balanceOf(world) < 2) return [end(turn, 402)];
    if (!role.target.split(' ').every((code) => isHeld(cardIn(world, code)))) return [end(turn, 409)];
    return [goOn(turn, 'reads ledger and cards', 'spend', { ledgerRevision: lastRevision(world.ledger) })];
  },

  spend: (turn) => {
    const [one, ...more] = spendsOfReleases(turn).map((cause) => moving(turn, cause, -1));
    if (one === undefined) throw new Error('there is nothing to release');
    const shared = { ...one, more: more.map(({ event }) => event as Movement) };
    return append(turn, shared, (outcome, after, happened) =>
      goOn(after, happened, outcome === 'appended' ? 'release' : 'spendAgain'),
    );
  },

  spendAgain: (turn) => {
    const { world, memory, keeps } = turn;
    const found = spendsOfReleases(turn).filter((cause) =>
      hasMoved(world, memory.ledgerRevision, cause, 'spend'),
    );
    if (found.length === 1) throw new Error('half of an append was written');
    if (found.length === 2 && keeps('blind-retry')) return [goOn(turn, 'finds its spends', 'release')];
    if (balanceOf(world) < 2) return [end(turn, 402)];
    const ledgerRevision = lastRevision(world.ledger);
    return [goOn(turn, 'finds no spends of its own', 'spend', { ledgerRevision })];
  },

  release: (turn) => {
    const free = turn.role.target.split(' ').find((code) => cardIn(turn.world, code).length === 1);
    if (free === undefined) return [end(turn, 200)];
    const write = { stream: free, expected: 0, event: { type: 'Released', by: turn.self } } as const;
    return append(turn, write, (_, after, happened) => goOn(after, happened, 'release'));
  },
};

const spendsOfReleases = ({ role, self }: Turn): readonly string[] =>
  role.target.split(' ').map((code) => spendFor(code, 1, self));

/** Credits are bought: the ledger alone decides, at any time. */
export const purchase: Steps = {
  start: (turn) => {
    const movement = { cause: purchaseBy(turn.self), amount: turn.role.buys };
    return [end(changing(turn, { ledger: [...turn.world.ledger, movement] }), 0)];
  },
};

/** Credits are taken back, as far as they are there. */
export const withdrawal: Steps = {
  start: (turn) => {
    if (balanceOf(turn.world) < turn.role.buys) return [end(turn, 402)];
    return [goOn(turn, 'reads the ledger', 'withdraw', { ledgerRevision: lastRevision(turn.world.ledger) })];
  },

  withdraw: (turn) =>
    append(turn, moving(turn, purchaseBy(turn.self), -turn.role.buys), (outcome, after, happened) =>
      outcome === 'appended' ? end(after, 200) : goOn(after, happened, 'withdrawAgain'),
    ),

  // (docs/money.md, rule 2: look for your own cause before you repeat)
  withdrawAgain: (turn) => {
    const { world, memory, role, self, keeps } = turn;
    if (keeps('blind-retry') && hasMoved(world, memory.ledgerRevision, purchaseBy(self), 'spend'))
      return [end(turn, 200)];
    if (balanceOf(world) < role.buys) return [end(turn, 402)];
    const ledgerRevision = lastRevision(world.ledger);
    return [goOn(turn, 'finds nothing withdrawn', 'withdraw', { ledgerRevision })];
  },
};

/** A purchase under a reference: the order, in a stream of its own, and then its movement. */
export const order: Steps = {
  start: (turn) => {
    const { world, role } = turn;
    const learnt = { code: role.target, ledgerRevision: lastRevision(world.ledger) };
    return [goOn(turn, 'reads the ledger', 'look', learnt)];
  },

  look: (turn) => {
    const ordered = cardOf(turn)[0];
    if (ordered === undefined) return [goOn(turn, 'finds no order', 'order')];
    return [goOn(turn, 'finds the order', 'buyAgain', { ledgerRevision: ordered.since ?? -1 })];
  },

  order: (turn) => {
    const event: CardEvent = { type: 'Ordered', buys: turn.role.buys, since: turn.memory.ledgerRevision };
    return append(turn, changingCard(turn, event), (outcome, after, happened) =>
      outcome === 'appended' ? goOn(after, happened, 'buy') : startOver(after, happened),
    );
  },

  buy: (turn) => {
    const { buys, target } = turn.role;
    return append(turn, moving(turn, purchaseOf(target), buys), (outcome, after, happened) =>
      outcome === 'appended' ? end(after, 201) : goOn(after, happened, 'buyAgain'),
    );
  },

  // (docs/money.md, rule 2: look for your own cause before you repeat)
  buyAgain: (turn) => {
    const { world, memory, role, keeps } = turn;
    if (keeps('blind-purchase') && hasMoved(world, memory.ledgerRevision, purchaseOf(role.target), 'return'))
      return [end(turn, 201)];
    return [goOn(turn, 'finds no credits', 'buy', { ledgerRevision: lastRevision(world.ledger) })];
  },
};
