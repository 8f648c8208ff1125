import { spendFor } from './causes.js';
import { emptyMemory, type CardEvent, type Kind, type Process, type Role, type World } from './world.js';

/** A world to begin with. */
export interface Scenario {
  readonly name: string;
  readonly world: World;
}

const process = (kind: Kind, { target = '', buys = 0, day = 0 }: Partial<Role> = {}): Process => ({
  role: { kind, target, buys, day },
  at: 'start',
  memory: emptyMemory,
  response: null,
});

const send = process('send');
const reconciler = process('reconciler');
const cancel = process('cancel');
const cancelX = process('cancel', { target: 'x' });
const holdX = process('hold', { target: 'x' });
const failX = process('fail', { target: 'x' });
const releaseBoth = process('releases', { target: 'x y' });
const withdrawal = process('withdrawal', { buys: 1 });
const sendOfTheNextDay = process('send', { day: 1 });
const releaseX = process('release', { target: 'x' });

/** One credit, and one trouble of each kind. */
const scenario = (
  name: string,
  processes: readonly Process[],
  { purchased = 1, crashes = 1, faults = 1, early = 1, ...more }: Partial<World> = {},
): Scenario => ({
  name,
  world: {
    purchased,
    crashes,
    faults,
    early,
    day: 0,
    days: 0,
    ledger: [],
    cards: {},
    claim: null,
    drawn: 0,
    late: [],
    ...more,
    processes,
  },
});

const foreignCard: CardEvent = { type: 'Scheduled', request: 'foreign' };
const isTaken = { cards: { c0: [foreignCard] } };
const heldCard: CardEvent = { type: 'Held' };
const isHeld = { cards: { x: [heldCard] } };
/** The card x was held, and released by a command of nobody here, which paid for it. */
const stranger = 9;
const isPaid = {
  cards: { x: [heldCard, { type: 'Released', by: stranger }] },
  ledger: [{ cause: spendFor('x', 1, stranger), amount: -1 }],
} satisfies Partial<World>;

/**
 * A send has claimed its key with c0 and stalls before it spends; the only credit goes to another card
 * meanwhile. Its retry takes over, finds nothing left and is refused; credits are bought; the refused client
 * tries again, as the 402 tells it to, while the first send wakes up.
 */
const slowSend: Process = { ...send, at: 'spend', memory: { ...emptyMemory, funds: 1, code: 'c0' } };
const afterSlowSend = {
  ...isPaid,
  claim: { state: 'running', owner: 0, code: 'c0', ledgerRevision: -1 },
  drawn: 1,
} satisfies Partial<World>;
const orders = process('order', { target: 'order', buys: 2 });
const buysTwo = process('purchase', { buys: 2 });

export const scenarios: readonly Scenario[] = [
  scenario('one send, two reconcilers', [send, reconciler, reconciler], { faults: 2, early: 2 }),
  scenario('a send whose code is taken', [send, reconciler], { ...isTaken, faults: 2 }),
  scenario('a send and its retry, the code is taken', [send, send, reconciler], isTaken),
  scenario('a send and its retry, one credit', [send, send, reconciler]),
  scenario('a send and its retry, two credits', [send, send, reconciler], { purchased: 2, crashes: 0 }),
  scenario('a send and its retry, two credits, two reconcilers', [send, send, reconciler, reconciler], {
    purchased: 2,
    faults: 0,
  }),
  scenario('a send and two retries', [send, send, send, reconciler], { purchased: 2, faults: 0, early: 0 }),
  scenario('a send, then cancels', [send, cancel, cancel, reconciler]),
  scenario('two cancels of a paid card, two reconcilers', [cancelX, cancelX, reconciler, reconciler], {
    ...isPaid,
    crashes: 2,
    faults: 2,
  }),
  scenario('a paid card is held and released', [holdX, releaseX, reconciler], isPaid),
  scenario('two cards are released in one append, and one is cancelled', [releaseBoth, cancelX, reconciler], {
    cards: { x: [heldCard], y: [heldCard] },
    purchased: 4,
  }),
  scenario('a paid card is held, and fails', [holdX, failX, reconciler], isPaid),
  scenario('a paid card fails while it is cancelled', [failX, cancelX, reconciler], isPaid),
  scenario('a send beside a withdrawal', [send, withdrawal, reconciler], { purchased: 3 }),
  scenario('a send and a retry that waits for a day', [send, send, reconciler], {
    purchased: 2,
    days: 1,
    early: 0,
  }),
  scenario('a send, and one of the next day under the same key', [send, sendOfTheNextDay, reconciler], {
    purchased: 2,
    days: 1,
  }),
  scenario('a purchase under a reference', [orders, reconciler], { faults: 2 }),
  scenario('two purchases under one reference, two reconcilers', [orders, orders, reconciler, reconciler], {
    crashes: 2,
    faults: 2,
  }),
  scenario('two releases', [releaseX, releaseX, reconciler], { ...isHeld, purchased: 2 }),
  scenario('release and cancel, two reconcilers', [releaseX, cancelX, reconciler, reconciler], isHeld),
  scenario('two releases and a cancel', [releaseX, releaseX, cancelX, reconciler], { ...isHeld, faults: 0 }),
  scenario(
    'a slow send, a refused retry, a purchase, another retry',
    [slowSend, send, send, buysTwo, reconciler],
    {
      ...afterSlowSend,
      faults: 0,
      early: 0,
    },
  ),
];

/** Too large for `npm test`, even with one trouble at a time. */
const large = [
  'a send and its retry, two credits, two reconcilers',
  'a send and two retries',
  'two releases and a cancel',
  'a slow send, a refused retry, a purchase, another retry',
];

const calm = { crashes: 0, faults: 0, early: 0 };
const troubles = {
  'nothing goes wrong': calm,
  'one process dies': { ...calm, crashes: 1 },
  'one write goes wrong': { ...calm, faults: 1 },
  'a reconciler comes too early once': { ...calm, early: 1 },
} as const;

/** The scenario with one trouble at most, of each kind that it knows. */
export const withOneTrouble = ({ name, world }: Scenario): readonly Scenario[] =>
  Object.entries(troubles).flatMap(([trouble, { crashes, faults, early }]) =>
    crashes > world.crashes || faults > world.faults || early > world.early
      ? []
      : [{ name: `${name}, ${trouble}`, world: { ...world, crashes, faults, early } }],
  );

/** What `npm test` explores. */
export const smallScenarios: readonly Scenario[] = scenarios
  .filter(({ name }) => !large.includes(name))
  .flatMap(withOneTrouble);
