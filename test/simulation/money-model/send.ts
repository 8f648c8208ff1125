import { slotOf, spendFor, voidOf } from './causes.js';
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
  lastRevision,
  type CardEvent,
  type Claim,
  type Memory,
  type Movement,
  type World,
  type Write,
} from './world.js';

const cardOf = ({ world, memory }: Turn): readonly CardEvent[] => cardIn(world, memory.code);

/** (docs/money.md, rule 7: a card is ours only if it names our request) */
const isOurs = ({ keeps }: Turn, card: readonly CardEvent[]): boolean =>
  card[0]?.type === 'Scheduled' && (card[0].request === 'ours' || !keeps('any-card'));

/** (docs/money.md, rule 1: a spend names the slot and the command that will fill it) */
const causeOf = ({ memory, self, keeps }: Turn): string =>
  spendFor(memory.code, 0, keeps('slot-only') ? self : '');

const seeLedger = (world: World) => ({
  ledgerRevision: lastRevision(world.ledger),
  funds: balanceOf(world),
});

/** (docs/money.md, rule 10: a request has an end) */
const isLate = ({ world, role, keeps }: Turn): boolean => keeps('late-request') && world.day > role.day;

const firstEvent = (code: string, event: CardEvent): Write => ({ stream: code, expected: -1, event });

// The claim on the key

const isHolding = ({ world: { claim }, self }: Turn): boolean =>
  claim?.state === 'running' && claim.owner === self;

/** Holds the claim with a code: the known one, or a new one if that is null. */
const hold = (turn: Turn, known: string | null, ledgerRevision: number): readonly [Turn, string] => {
  const { drawn } = turn.world;
  const code = known ?? `c${drawn}`;
  const claim: Claim = { state: 'running', owner: turn.self, code, ledgerRevision };
  return [changing(turn, { claim, drawn: known === null ? drawn + 1 : drawn }), code];
};

/** (docs/money.md, rule 6: a claim changes hands only if it is still what was read) */
const isUnchanged = (claim: Claim | null, earlier: Claim): boolean =>
  claim?.state === 'running' &&
  earlier.state === 'running' &&
  claim.owner === earlier.owner &&
  claim.code === earlier.code;

/** Responds that the card was not made. The claim goes, if it is still ours. */
const refuseWith = (turn: Turn, status: number): Next =>
  end(isHolding(turn) ? changing(turn, { claim: null }) : turn, status);

// Steps that several others lead to, and what they need to know

const schedule = (turn: Turn, happened: string): Next =>
  goOnWith(turn, happened, 'schedule', { code: turn.memory.code });

const drawAgain = (turn: Turn, happened: string): Next => goOnWith(turn, happened, 'drawAgain', {});

const complete = (turn: Turn, code = turn.memory.code): Next =>
  goOnWith(turn, 'finds our card', 'complete', { code });

/** A code that was just drawn is not looked for: the append finds out whether it is taken. */
const withNewCode = (turn: Turn, happened: string, learnt: Partial<Memory>): Next => {
  const { funds } = { ...turn.memory, ...learnt };
  return goOn(turn, happened, funds < 1 ? 'beOutOfFunds' : 'spend', { ...learnt, funds: 0 });
};

/** The spend of an earlier owner of the claim, whose credit has not come back. */
const lostSpend = ({ world, memory: { code, since } }: Turn): Movement | undefined =>
  since === null
    ? undefined
    : world.ledger.slice(since + 1).find(({ cause, amount }) => {
        const slot = slotOf(cause);
        const isForCode = amount < 0 && slot.code === code && slot.revision === 0;
        return isForCode && !hasMoved(world, since, voidOf(cause), 'return');
      });

/** POST /api/v1/cards with the one Idempotency-Key: a first attempt, or a retry of it. */
export const send: Steps = {
  start: (turn) => [goOn(turn, 'reads the ledger', 'claim', seeLedger(turn.world))],

  claim: (turn) => {
    const { claim } = turn.world;
    if (isLate(turn)) return [end(turn, 500)];
    if (claim === null) {
      const [after, code] = hold(turn, null, turn.memory.ledgerRevision);
      return [withNewCode(after, `claims the key with ${code}`, { code })];
    }
    if (claim.state === 'done') return [end(turn, 201, { code: claim.code })];
    // A claim may be older than a minute at any moment.
    const takingOver = goOn(turn, 'finds a claim that is too old', 'lookForEarlier', { earlier: claim });
    return [end(turn, 409), takingOver];
  },

  lookForEarlier: (turn) => {
    const code = turn.memory.earlier?.code ?? '';
    const card = cardIn(turn.world, code);
    if (isOurs(turn, card)) return [complete(turn, code)];
    return [goOn(turn, `finds no card of ours under ${code}`, 'takeOver', { isCodeFree: card.length === 0 })];
  },

  takeOver: (turn) => {
    const { earlier, isCodeFree } = turn.memory;
    if (earlier?.state !== 'running') throw new Error('there is no claim to take over');
    if (turn.keeps('no-fence') && !isUnchanged(turn.world.claim, earlier))
      return [startOver(turn, 'finds that the claim has changed hands')];
    const { ledgerRevision } = earlier;
    const [after, code] = hold(turn, isCodeFree ? earlier.code : null, ledgerRevision);
    const since = isCodeFree ? ledgerRevision : null;
    const learnt = { code, since, earlier: null, isCodeFree: false };
    return [goOn(after, `takes the claim over with ${code}`, 'look', learnt)];
  },

  look: (turn) => {
    const card = cardOf(turn);
    if (isOurs(turn, card)) return [complete(turn)];
    if (card.length > 0) return [drawAgain(turn, 'finds the code taken')];
    const next = turn.memory.funds < 1 ? 'beOutOfFunds' : 'spend';
    return [goOn(turn, 'finds the code free', next, { funds: 0 })];
  },

  spend: (turn) =>
    isLate(turn)
      ? [end(turn, 500)]
      : append(turn, moving(turn, causeOf(turn), -1), (outcome, after, happened) =>
          outcome === 'appended'
            ? schedule(after, happened)
            : outcome === 'conflict' && !turn.memory.mayHaveSpent
              ? goOn(after, happened, 'readFunds')
              : goOn(after, happened, 'spendAgain', { mayHaveSpent: true }),
        ),

  // A conflict says that nothing was written, so there is nothing to look for.
  readFunds: (turn) => {
    const { ledgerRevision, funds } = seeLedger(turn.world);
    const next = funds < 1 ? 'beOutOfFunds' : 'spend';
    return [goOn(turn, 'reads the ledger', next, { ledgerRevision })];
  },

  // (docs/money.md, rule 2: look for your own cause before you repeat)
  spendAgain: (turn) => {
    const { world, memory, keeps } = turn;
    if (keeps('blind-retry') && hasMoved(world, memory.ledgerRevision, causeOf(turn), 'spend'))
      return [schedule(turn, 'finds its spend')];
    const next = balanceOf(world) < 1 ? 'beOutOfFunds' : 'spend';
    return [goOn(turn, 'finds no spend of its own', next, { ledgerRevision: lastRevision(world.ledger) })];
  },

  schedule: (turn) => {
    const event: CardEvent = { type: 'Scheduled', by: turn.self, request: 'ours' };
    return append(turn, firstEvent(turn.memory.code, event), (outcome, after, happened) =>
      goOn(after, happened, outcome === 'appended' ? 'complete' : 'scheduleAgain'),
    );
  },

  scheduleAgain: (turn) => {
    const card = cardOf(turn);
    if (card.length === 0) return [goOn(turn, 'finds no card', 'schedule')];
    return [isOurs(turn, card) ? complete(turn) : drawAgain(turn, 'finds the code taken')];
  },

  drawAgain: (turn) => {
    const { claim } = turn.world;
    if (claim?.state !== 'running' || !isHolding(turn))
      return [goOnWith(turn, 'has lost its claim', 'giveUp', {})];
    const [after, code] = hold(turn, null, claim.ledgerRevision);
    return [goOnWith(after, `draws ${code}`, 'readAgain', { code })];
  },

  readAgain: (turn) => [withNewCode(turn, 'reads the ledger', seeLedger(turn.world))],

  // The balance may be empty because an earlier owner of the claim has spent the credit and died. Its slot is
  // taken then, and its credit comes back (docs/money.md, rules 4 and 5).
  beOutOfFunds: (turn) => {
    const { code, since } = turn.memory;
    const lost = lostSpend(turn);
    return lost === undefined
      ? [goOnWith(turn, 'finds no credit, and none that was lost', 'refuse', { code, since })]
      : [goOnWith(turn, "finds an earlier owner's spend", 'takeSlot', { code, since, lost: lost.cause })];
  },

  takeSlot: (turn) => {
    const card = cardOf(turn);
    if (isOurs(turn, card)) return [complete(turn)];
    if (card.length > 0) return [goOn(turn, 'finds the slot taken', 'returnLost')];
    return append(turn, firstEvent(turn.memory.code, { type: 'Abandoned' }), (_, after, happened) =>
      goOn(after, happened, 'takeSlot'),
    );
  },

  returnLost: (turn) => {
    const { world, memory } = turn;
    if (hasMoved(world, memory.since ?? -1, voidOf(memory.lost), 'return'))
      return [drawAgain(turn, 'finds the credit returned')];
    const ledgerRevision = lastRevision(world.ledger);
    return [goOn(turn, 'finds the credit not returned', 'appendReturn', { ledgerRevision })];
  },

  appendReturn: (turn) =>
    append(turn, moving(turn, voidOf(turn.memory.lost), 1), (_, after, happened) =>
      goOn(after, happened, 'returnLost'),
    ),

  complete: (turn) => {
    const { world, memory } = turn;
    const { code } = memory;
    const isCurrent = world.claim?.state === 'running' && world.claim.code === code;
    return [end(isCurrent ? changing(turn, { claim: { state: 'done', code } }) : turn, 201, { code })];
  },

  // (docs/money.md, rule 8: close the code before you free the key) Nobody will look at the code again, and
  // its first owner may still be about to fill it.
  refuse: (turn) => {
    const { memory, keeps } = turn;
    if (memory.since === null || !keeps('no-close')) return [refuseWith(turn, 402)];
    const card = cardOf(turn);
    if (isOurs(turn, card)) return [complete(turn)];
    if (card.length > 0) return [refuseWith(turn, 402)];
    return append(turn, firstEvent(memory.code, { type: 'Abandoned' }), (_, after, happened) =>
      goOn(after, happened, 'refuse'),
    );
  },

  giveUp: (turn) => [refuseWith(turn, 500)],
};
