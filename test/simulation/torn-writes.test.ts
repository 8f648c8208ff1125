import { expect } from 'chai';
import { cardCode, type CardCode } from '../../domain/card-code.js';
import type { Entropy } from '../../application/ports/system.js';
import { violations, type Call } from '../support/simulation/invariants.js';
import { drive } from '../support/simulation/drive.js';
import { Life, type Fate } from '../support/simulation/life.js';
import {
  changeAs,
  reconcile,
  sendAs,
  startProcess,
  type CardWish,
  type Process,
  type SendWish,
} from '../support/simulation/processes.js';
import { makeWorld, type World } from '../support/fixtures/world.js';
import { sampleOf } from '../support/runner/effort.js';

/**
 * What may happen to a write. A late one arrives with the process's next write, before the client tries
 * again, or when everything seems settled.
 */
const troubles = [
  'die-before',
  'die-after',
  'lose',
  'lose-answer',
  'late-next',
  'late-retry',
  'late-end',
] as const;
type Trouble = (typeof troubles)[number];

/** The troubles by the number of the write that they strike. */
type Troubles = ReadonlyMap<number, Trouble>;

class Plan {
  readonly #troubles: Troubles;
  readonly #late: { readonly trouble: Trouble; readonly land: () => void }[] = [];
  #writes = 0;

  constructor(befalling: Troubles) {
    this.#troubles = befalling;
  }

  /** How many writes were sent. */
  get writes(): number {
    return this.#writes;
  }

  fate(): Fate {
    this.land('late-next');
    const trouble = this.#troubles.get(this.#writes++) ?? 'arrive';
    if (trouble !== 'late-next' && trouble !== 'late-retry' && trouble !== 'late-end') return trouble;
    return { late: new Promise((land) => this.#late.push({ trouble, land })) };
  }

  land(...which: Trouble[]): void {
    for (const { trouble, land } of this.#late) if (which.includes(trouble)) land();
  }
}

interface Scenario {
  readonly credits: number;
  /** Runs before the troubles begin. Returns the card that the call is about. */
  readonly prepare?: (world: World, healthy: Process, history: Call[]) => Promise<CardCode>;
  readonly call: (process: Process, code: CardCode) => Promise<Call>;
  /** When the client stops repeating the call; null if it doesn't repeat it. */
  readonly until: ((call: Call) => boolean) | null;
  readonly entropy?: (world: World) => Entropy;
}

const drawn = [1, 2, 3, 4, 5, 6];
const takenCode = cardCode(drawn);

/** Draws the same card code `times` times, and then others. */
const drawing = (times: number) => {
  let left = times;
  return ({ entropy }: World): Entropy => ({
    uuid: () => entropy.uuid(),
    below: (limit) => entropy.below(limit),
    bytes: (count) => (count === drawn.length && left-- > 0 ? Buffer.from(drawn) : entropy.bytes(count)),
  });
};

const must = (call: Call | 'dead'): Call => {
  if (call === 'dead') throw new Error('nothing moves any more');
  return call;
};

const sentBefore =
  (wish: SendWish, ...changes: CardWish[]): NonNullable<Scenario['prepare']> =>
  async ({ clock }, healthy, history) => {
    const sent = must(await drive(clock, sendAs(healthy, wish)));
    const code = sent.answer?.card as CardCode;
    history.push(sent);
    for (const change of changes) history.push(must(await drive(clock, changeAs(healthy, change, code))));
    return code;
  };

const sent = ({ answer }: Call): boolean => answer?.status === 201;
const decided = ({ answer }: Call): boolean => answer !== null && answer.status < 500;
const send =
  (wish: SendWish): Scenario['call'] =>
  (process) =>
    sendAs(process, wish);
const change =
  (wish: CardWish): Scenario['call'] =>
  (process, code) =>
    changeAs(process, wish, code);

const scenarios: Readonly<Record<string, () => Scenario>> = {
  'a send with a key': () => ({ credits: 1, call: send({ key: 'k' }), until: sent }),
  'a send without a key': () => ({ credits: 1, call: send({ key: null }), until: null }),
  'a send that is held': () => ({
    credits: 0,
    call: send({ key: 'k', message: 'Great work 🎉' }),
    until: sent,
  }),
  'a send of a collection card': () => ({
    credits: 1,
    call: send({ key: 'k', design: 'card:thank-you' }),
    until: sent,
  }),
  'a send whose code is taken': () => ({
    credits: 2,
    prepare: async (world, _, history) => {
      const other = startProcess(world, new Life(() => 'arrive'), drawing(1)(world));
      history.push(must(await drive(world.clock, sendAs(other, { key: null }))));
      return takenCode;
    },
    call: send({ key: 'k' }),
    until: sent,
    entropy: drawing(1),
  }),
  'a cancel of a card that is paid for': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }),
    call: change('cancel'),
    until: decided,
  }),
  'a cancel of a held card': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }, 'hold'),
    call: change('cancel'),
    until: decided,
  }),
  'a hold of a card that is paid for': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }, 'queue'),
    call: change('hold'),
    until: decided,
  }),
  'a release of a held card': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }, 'hold'),
    call: change('release'),
    until: decided,
  }),
  'a hold and a cancel in one decision': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }),
    call: change('hold, then cancel'),
    until: decided,
  }),
  'a release and a step to the floor in one decision': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }, 'hold'),
    call: change('release, then queue'),
    until: decided,
  }),
  'a release and a hold in one decision': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }, 'hold'),
    call: change('release, then hold'),
    until: decided,
  }),
  'a failure on the floor': () => ({
    credits: 1,
    prepare: sentBefore({ key: null }, 'queue', 'start'),
    call: change('fail'),
    until: decided,
  }),
};

const claimTimeout = 60_000;
const maxTries = 6;

/**
 * Runs a scenario with these troubles to its end. The client repeats its call in a new process each time.
 * Returns the number of writes and what is wrong.
 */
const run = async (
  scenario: Scenario,
  befalling: Troubles,
): Promise<{ readonly writes: number; readonly wrong: readonly string[] }> => {
  const world = await makeWorld({ atomic: false, credits: scenario.credits });
  const { clock, store } = world;
  const healthy = () => startProcess(world, new Life(() => 'arrive'));
  const history: Call[] = [];
  const code = (await scenario.prepare?.(world, healthy(), history)) ?? takenCode;
  const plan = new Plan(befalling);
  const entropy = scenario.entropy?.(world) ?? world.entropy;
  let last: Call | null = null;
  for (let tries = 0; tries < maxTries; tries++) {
    const process = startProcess(world, new Life(() => plan.fate()), entropy);
    last = must(await drive(clock, scenario.call(process, code)));
    history.push(last);
    if (scenario.until === null || scenario.until(last)) break;
    plan.land('late-next', 'late-retry');
    await clock.advance(claimTimeout + 1);
  }
  await reconcile(world, healthy(), healthy());
  plan.land('late-next', 'late-retry', 'late-end');
  await clock.advance(1);
  await reconcile(world, healthy(), healthy());
  const unfinished =
    scenario.until !== null && last !== null && !scenario.until(last)
      ? [`the last answer is ${last.answer?.status} ${last.answer?.error}`]
      : [];
  return {
    writes: plan.writes,
    wrong: [...violations(await store.readLog(0n, 10_000), history, { settled: true }), ...unfinished],
  };
};

const describeTroubles = (befalling: Troubles): string =>
  [...befalling].map(([write, trouble]) => `${trouble} at write ${write}`).join(', ');

/**
 * Runs a scenario with every trouble at every write, alone and with every other at every later write. Returns
 * the failures and the number of runs.
 */
const befallAll = async (
  make: () => Scenario,
): Promise<{ readonly runs: number; readonly failures: readonly string[] }> => {
  const failures: string[] = [];
  let runs = 0;
  const attempt = async (befalling: Troubles): Promise<number> => {
    runs++;
    const { writes, wrong } = await run(make(), befalling);
    if (wrong.length > 0)
      failures.push(`${describeTroubles(befalling) || 'no trouble'}: ${wrong.join('; ')}`);
    return writes;
  };
  const calm = await attempt(new Map());
  for (let first = 0; first < calm; first++) {
    for (const trouble of troubles) {
      const writes = await attempt(new Map([[first, trouble]]));
      for (let second = first + 1; second < writes; second++) {
        for (const another of troubles)
          await attempt(
            new Map([
              [first, trouble],
              [second, another],
            ]),
          );
      }
    }
  }
  return { runs, failures };
};

describe('every invariant holds, whichever one or two faults strike the writes of', () => {
  for (const [name, make] of sampleOf(Object.entries(scenarios), 4)) {
    it(`${name}`, async () => {
      const { runs, failures } = await befallAll(make);
      expect(failures.slice(0, 5)).to.deep.equal([]);
      expect(runs).to.be.above(40);
    }).timeout(600_000);
  }
});
