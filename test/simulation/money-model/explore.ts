import { cancel, fail, hold, order, purchase, release, releases, withdrawal } from './change.js';
import { violationAtEnd, violationIn } from './invariants.js';
import { reconciler } from './reconciler.js';
import type { RuleName } from './rules.js';
import { send } from './send.js';
import { die, landings, type Next, type Steps, type Turn } from './turn.js';
import { isOver, type Kind, type World } from './world.js';

const stepsOf: Readonly<Record<Kind, Steps>> = {
  send, cancel, hold, fail, release, releases, purchase, withdrawal, order, reconciler,
}; // prettier-ignore

/** What a process may do next, dying included. Reconcilers that die are as good as slow ones. */
const turnsOf = (turn: Turn, at: string): readonly Next[] => {
  const { kind } = turn.role;
  const step = stepsOf[kind][at];
  if (step === undefined) throw new Error(`a ${kind} has no step ${at}`);
  return kind === 'reconciler' || turn.world.crashes === 0 ? step(turn) : [...step(turn), die(turn)];
};

/** A day goes by, and with it the key. */
const nextDay = (world: World): Next => ({
  by: null,
  happened: 'a day goes by',
  world: { ...world, day: world.day + 1, days: world.days - 1, claim: null },
});

/** Everything that may happen next. */
const successors = (world: World, keeps: Turn['keeps']): readonly Next[] => [
  ...world.processes.flatMap((process, self) => {
    const { role, memory, at } = process;
    return isOver(process) || role.day > world.day ? [] : turnsOf({ world, self, role, memory, keeps }, at);
  }),
  ...landings(world),
  ...(world.days > 0 ? [nextDay(world)] : []),
];

/** Gives equal things the same number. Worlds share most of what they are made of, so most of it is known. */
class Numbers {
  readonly #ofObjects = new WeakMap<object, number>();
  readonly #ofTexts = new Map<string, number>();

  of(thing: object | null): number {
    if (thing === null) return -1;
    const known = this.#ofObjects.get(thing);
    if (known !== undefined) return known;
    const text = JSON.stringify(thing);
    const number = this.#ofTexts.get(text) ?? this.#ofTexts.size;
    this.#ofTexts.set(text, number);
    this.#ofObjects.set(thing, number);
    return number;
  }
}

/** Equal worlds have equal names. */
const nameOf = (world: World, numbers: Numbers): string => {
  const { crashes, faults, early, day, ledger, cards, claim, drawn, late, processes } = world;
  let name = `${crashes},${faults},${early},${day},${drawn},${numbers.of(ledger)},${numbers.of(late)},${numbers.of(claim)}`;
  for (const code of Object.keys(cards).sort()) name += `;${code}=${numbers.of(cards[code] ?? null)}`;
  for (const { at, memory, response } of processes)
    name += `;${at},${numbers.of(memory)},${numbers.of(response)}`;
  return name;
};

export interface Violation {
  readonly what: string;
  /** What happened, step by step, from the start of the scenario. */
  readonly trace: readonly string[];
  readonly world: World;
}

export interface Explored {
  readonly states: number;
  /** States in which nothing can happen any more. */
  readonly ends: number;
  readonly violation: Violation | null;
}

/** How each state was reached first: from which one, and as which of its successors. */
interface Path {
  readonly from: number[];
  readonly choice: number[];
}

const traceTo = (
  start: World,
  keeps: Turn['keeps'],
  { from, choice }: Path,
  state: number,
): readonly string[] => {
  const choices: number[] = [];
  for (let at = state; at > 0; at = from[at] ?? 0) choices.unshift(choice[at] ?? 0);
  let world = start;
  return choices.map((taken) => {
    const next = successors(world, keeps)[taken];
    if (next === undefined) throw new Error('a step of the trace leads nowhere');
    const by = next.by === null ? '' : `${world.processes[next.by]?.role.kind} ${next.by} `;
    world = next.world;
    return `${by}${next.happened}`;
  });
};

/**
 * Goes through every state that can be reached, nearest first, until one violates an invariant: its trace is
 * then as short as any. `without`: a rule that the processes break.
 */
export const explore = (start: World, without: RuleName | null = null): Explored => {
  const keeps = (rule: RuleName): boolean => rule !== without;
  const numbers = new Numbers();
  const known = new Set([nameOf(start, numbers)]);
  const path: Path = { from: [0], choice: [0] };
  let ends = 0;
  let frontier: readonly { readonly state: number; readonly world: World }[] = [{ state: 0, world: start }];
  while (frontier.length > 0) {
    const following: { readonly state: number; readonly world: World }[] = [];
    for (const { state, world } of frontier) {
      const next = successors(world, keeps);
      if (next.length === 0) ends++;
      const what = violationIn(world) ?? (next.length === 0 ? violationAtEnd(world) : null);
      if (what !== null) {
        const trace = traceTo(start, keeps, path, state);
        return { states: known.size, ends, violation: { what, trace, world } };
      }
      next.forEach(({ world: after }, choice) => {
        const name = nameOf(after, numbers);
        if (known.has(name)) return;
        known.add(name);
        following.push({ state: path.from.push(state) - 1, world: after });
        path.choice.push(choice);
      });
    }
    frontier = following;
  }
  return { states: known.size, ends, violation: null };
};
