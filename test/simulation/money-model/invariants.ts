import { isDebt, isPurchase, purchaseOf } from './causes.js';
import { balanceOf, cardIn, isLive, type CardEvent, type Movement, type World } from './world.js';

const ours = ({ cards }: World): readonly (readonly CardEvent[])[] =>
  Object.values(cards).filter((card) => card[0]?.request !== 'foreign');

const wasNegative = ({ purchased, ledger }: World): boolean => {
  let balance = purchased;
  return ledger.some(({ amount }) => (balance += amount) < 0);
};

const movedTwice = ({ ledger }: World): boolean => {
  const movements = ledger.map(({ cause, amount }) => `${Math.sign(amount)} ${cause}`);
  return new Set(movements).size < movements.length;
};

/** What is wrong with a world at any time, or null. */
export const violationIn = (world: World): string | null => {
  if (wasNegative(world)) return 'the balance was negative';
  if (movedTwice(world)) return 'one cause moved money twice';
  const made = ours(world).flatMap(([first]) =>
    first?.request === 'ours' ? [world.processes[first.by ?? NaN]?.role.day] : [],
  );
  return new Set(made).size < made.length ? 'one key made two cards' : null;
};

const wrongResponse = (world: World): string | null => {
  for (const [command, { role, response }] of world.processes.entries()) {
    if (role.kind !== 'send' || response === null) continue;
    const { status, code } = response;
    if (status === 201 && cardIn(world, code)[0]?.request !== 'ours')
      return "a 201 with no card, or with somebody else's";
    if ((status === 402 || status === 500) && ours(world).some((card) => card[0]?.by === command))
      return `a card after a ${status}`;
  }
  return null;
};

const sum = (movements: readonly Movement[]): number =>
  movements.reduce((total, { amount }) => total + amount, 0);
const bought = ({ ledger }: World): number => sum(ledger.filter(({ cause }) => isPurchase(cause)));
/** Credits that came back for events that owed them. */
const returned = ({ ledger }: World): number => sum(ledger.filter(({ cause }) => isDebt(cause)));

const missedOrder = ({ cards, ledger }: World): string | null => {
  for (const [stream, [first]] of Object.entries(cards)) {
    if (first?.type !== 'Ordered') continue;
    const came = sum(ledger.filter(({ cause }) => cause === purchaseOf(stream)));
    if (came !== first.buys) return `an order of ${first.buys} credits, of which ${came} came`;
  }
  return null;
};

/** What is wrong with a world in which nothing can happen any more, or null. */
export const violationAtEnd = (world: World): string | null => {
  const live = ours(world).filter(isLive).length;
  const gone = world.purchased + bought(world) - balanceOf(world);
  if (gone !== live) return `live cards: ${live}, credits gone: ${gone}`;
  const refunded = world.processes.reduce((total, { response }) => total + (response?.refunded ?? 0), 0);
  return (
    missedOrder(world) ??
    wrongResponse(world) ??
    (refunded > returned(world) ? 'a refund that did not come back' : null)
  );
};
