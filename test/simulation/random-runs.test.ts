import { expect } from 'chai';
import { SeededEntropy } from '../support/memory/entropy.js';
import { runReconciler } from '../../application/reconcile.js';
import type { CardCode } from '../../domain/card-code.js';
import { violations, type Call } from '../support/simulation/invariants.js';
import {
  buyAs,
  changeAs,
  drive,
  Life,
  MemoryCheckpoints,
  reconcile,
  sendAs,
  startProcess,
  type CardWish,
  type Fate,
  type Process,
  type Purchased,
  type SendWish,
} from '../support/simulation/processes.js';
import { ledger } from '../../domain/credits.js';
import { parseEvent, type LoggedEvent } from '../../domain/events.js';
import { categoryOf, idOf } from '../../domain/ids.js';
import { purchase } from '../../domain/purchase.js';
import { reconcile as reconcileBooks } from '../../domain/reconciliation.js';
import { buy, makeWorld, type World } from '../support/fixtures/world.js';

/**
 * How rough a run is: how many of a thousand writes meet each trouble, how many of a thousand calls of a
 * store stall for minutes, and how long the others take at most.
 */
interface Weather {
  readonly deaths: number;
  readonly losses: number;
  readonly late: number;
  readonly stalls: number;
  readonly slowest: number;
}

const minute = 60_000;

/** A service of several processes, and clients that make random calls. One seed decides everything. */
class Simulation {
  readonly history: Call[] = [];
  readonly #dice: SeededEntropy;
  readonly #checkpoints = new MemoryCheckpoints();
  readonly #codes: CardCode[] = [];
  readonly #keys: SendWish[] = [];
  /** What buyers were told of the purchases under a reference that they made again and again. */
  readonly purchases: Purchased[] = [];
  readonly #processes: Process[] = [];
  #calm = false;
  #ordered = 0;

  constructor(
    private readonly world: World,
    private readonly weather: Weather,
    seed: number,
    private readonly buysByReference = false,
  ) {
    this.#dice = new SeededEntropy(seed);
  }

  /**
   * Runs `clients` clients at a time, each with `calls` calls in a row. Then the weather calms down, keys are
   * sent again, and reconcilers finish what is open.
   */
  async run(clients: number, calls: number): Promise<void> {
    for (let place = 0; place < 3; place++) this.#replace(place);
    const everyone = Promise.all(Array.from({ length: clients }, () => this.#client(calls)));
    if ((await drive(this.world.clock, everyone)) === 'dead') throw new Error('nothing moves any more');
    this.#calm = true;
    for (const { life } of this.#processes) life.kill();
    await this.world.clock.advance(3 * minute);
    const process = this.#start();
    for (const wish of this.#keys) {
      const call = await drive(this.world.clock, sendAs(process, wish));
      if (call !== 'dead') this.history.push(call);
    }
    await reconcile(this.world, this.#start(), this.#start());
  }

  /** Keys whose last response is neither a card nor a refusal that the client can act on. */
  get stuck(): readonly string[] {
    const last = new Map(
      this.history.flatMap((call) =>
        call.does.kind === 'send' && call.does.key !== null ? [[call.does.key, call] as const] : [],
      ),
    );
    return [...last.values()].flatMap(({ does, answer }) =>
      [201, 402, 422].includes(answer?.status ?? 0)
        ? []
        : [`${does.kind === 'send' ? does.key : ''}: ${answer?.status} ${answer?.error}`],
    );
  }

  #chance(outOfThousand: number): boolean {
    return this.#dice.below(1_000) < outOfThousand;
  }

  #pick<T>(items: readonly T[]): T | null {
    return items[this.#dice.below(items.length)] ?? null;
  }

  #fate(): Fate {
    const { deaths, losses, late } = this.weather;
    if (this.#calm) return 'arrive';
    if (this.#chance(deaths)) return this.#chance(500) ? 'die-before' : 'die-after';
    if (this.#chance(losses)) return this.#chance(500) ? 'lose' : 'lose-answer';
    return this.#chance(late) ? { late: this.world.clock.sleep(this.#dice.below(3 * minute)) } : 'arrive';
  }

  #start(): Process {
    const life = new Life(
      () => this.#fate(),
      () =>
        this.#calm
          ? Promise.resolve()
          : this.world.clock.sleep(
              this.#dice.below(this.#chance(this.weather.stalls) ? 3 * minute : this.weather.slowest),
            ),
    );
    return startProcess(this.world, life, this.world.entropy, this.#checkpoints);
  }

  /** Starts a process with its reconciler; when it dies, another takes its place. */
  #replace(place: number): void {
    if (this.#calm) return;
    const process = this.#start();
    this.#processes[place] = process;
    void runReconciler(process, process.life.signal, () => {});
    void process.life.death.then(() => this.#replace(place));
  }

  async #client(calls: number): Promise<void> {
    for (let made = 0; made < calls; made++) {
      await this.world.clock.sleep(this.#dice.below(this.#chance(20) ? 2 * minute : 400));
      if (this.buysByReference && this.#chance(150)) await this.#buy();
      else if (this.#chance(60)) await buy(this.world, 1 + this.#dice.below(3));
      const process = this.#pick(this.#processes);
      if (process === null) continue;
      const call = await this.#anything(process);
      this.history.push(call);
      if (call.answer?.card && call.answer.status === 201) this.#codes.push(call.answer.card as CardCode);
    }
  }

  /** A purchase under one of the last few references, new or not. */
  async #buy(): Promise<void> {
    const process = this.#pick(this.#processes);
    if (process === null) return;
    const number = Math.max(0, this.#ordered - this.#dice.below(3));
    this.#ordered = Math.max(this.#ordered, number + this.#dice.below(2));
    this.purchases.push(await buyAs(process, `invoice ${number}`, 1 + (number % 3)));
  }

  #anything(process: Process): Promise<Call> {
    const code = this.#pick(this.#codes.slice(-6));
    if (code !== null && this.#chance(450)) {
      const wish: CardWish =
        this.#pick([
          'cancel',
          'cancel',
          'hold',
          'release',
          'release',
          'queue',
          'start',
          'complete',
          'fail',
        ] as const) ?? 'cancel';
      return changeAs(process, wish, code);
    }
    const again = this.#pick(this.#keys.slice(-5));
    if (again !== null && this.#chance(500))
      return sendAs(process, this.#chance(50) ? { ...again, message: 'Another message.' } : again);
    const wish: SendWish = {
      key: this.#chance(750) ? `key-${this.#keys.length}` : null,
      ...(this.#chance(150) && { message: 'Great work 🎉' }),
      ...(this.#chance(200) && { design: 'card:thank-you' }),
    };
    if (wish.key !== null) this.#keys.push(wish);
    return sendAs(process, wish);
  }
}

const weathers: Readonly<Record<string, Weather>> = {
  'calm weather': { deaths: 0, losses: 0, late: 0, stalls: 0, slowest: 8 },
  'lost answers': { deaths: 0, losses: 80, late: 60, stalls: 0, slowest: 20 },
  'dying processes': { deaths: 25, losses: 0, late: 0, stalls: 0, slowest: 20 },
  'stalling processes': { deaths: 0, losses: 0, late: 0, stalls: 12, slowest: 20 },
  'everything at once': { deaths: 8, losses: 30, late: 30, stalls: 6, slowest: 500 },
};

/** Some of these seeds fail if the code breaks a rule of docs/money.md. */
const seeds: Readonly<Record<string, readonly number[]>> = {
  'calm weather': [1],
  'lost answers': [1],
  'dying processes': [1],
  'stalling processes': [11, 19],
  'everything at once': [1, 20],
};

const clients = 8;
const calls = 40;

for (const [name, weather] of Object.entries(weathers)) {
  for (const seed of seeds[name] ?? []) {
    describe(`${clients} clients in ${name}, seed ${seed}`, () => {
      it('lose no credit and get one card per key, on a store that writes one stream at a time', async () => {
        const world = await makeWorld({ atomic: false, credits: 4 });
        const simulation = new Simulation(world, weather, seed);
        await simulation.run(clients, calls);
        const wrong = violations(await world.store.readLog(0n, 1_000_000), simulation.history, {
          settled: true,
        });
        expect({ wrong, stuck: simulation.stuck }).to.deep.equal({ wrong: [], stuck: [] });
        expect(simulation.history.length).to.be.above(clients * calls);
      });

      it('leave nothing for the reconciler to do, on a store that commits several streams at once', async () => {
        const world = await makeWorld({ atomic: true, embedded: true, credits: 4 });
        const simulation = new Simulation(world, weather, seed);
        await simulation.run(clients, calls);
        const log = await world.store.readLog(0n, 1_000_000);
        const wrong = violations(log, simulation.history, { settled: true });
        const reconciled = log
          .filter(({ metadata }) => metadata.actor.kind === 'system' && metadata.actor.id === 'reconciler')
          .map(({ type }) => type);
        expect({ wrong, reconciled, stuck: simulation.stuck }).to.deep.equal({
          wrong: [],
          reconciled: [],
          stuck: [],
        });
      });
    });
  }
}

/** What the ledger says about a purchase under a reference: the balance that it left. */
const balancesLeft = (log: readonly LoggedEvent[]): ReadonlyMap<string, number> =>
  new Map(
    log.flatMap((logged) => {
      if (categoryOf(logged.stream) !== 'purchase') return [];
      const { reference } = parseEvent(purchase, logged).data;
      const movement = log
        .filter(({ stream }) => categoryOf(stream) === 'credits')
        .map((moved) => parseEvent(ledger, moved))
        .find(({ data: { cause } }) => cause === idOf(logged.stream));
      return movement === undefined ? [] : [[reference, movement.data.balance]];
    }),
  );

/** What the movements of a log change, one by one, and the balance that the last one says. */
const naively = (log: readonly LoggedEvent[]) => {
  const movements = log
    .filter(({ stream }) => categoryOf(stream) === 'credits')
    .map((logged) => parseEvent(ledger, logged));
  const sum = (type: string): number =>
    movements.filter((event) => event.type === type).reduce((all, { data }) => all + data.amount, 0);
  return {
    opening: 0,
    purchased: sum('CreditsPurchased'),
    withdrawn: sum('CreditsWithdrawn'),
    spent: sum('CreditSpent'),
    returned: sum('CreditReturned'),
    closing: movements.at(-1)?.data.balance ?? 0,
  };
};

/** The log as it would be without a return: its credits were bought at the beginning instead, and no balance lies. */
const without = (log: readonly LoggedEvent[], left: LoggedEvent): readonly LoggedEvent[] => {
  const more = parseEvent(ledger, left).data.amount;
  return log
    .filter((logged) => logged !== left)
    .map((logged) => {
      if (logged.stream !== left.stream || logged.position > left.position) return logged;
      const { amount, balance } = parseEvent(ledger, logged).data;
      const bought = logged.revision === 0 ? amount + more : amount;
      return { ...logged, data: { ...logged.data, amount: bought, balance: balance + more } };
    });
};

/** The reconciliation is exact at every position, and finds what is missing. */
const checkBooks = async (world: World, log: readonly LoggedEvent[]): Promise<void> => {
  const until = world.clock.instant();
  const all = { after: -1, until, mayBeOpenFor: Infinity };
  for (let length = 0; length <= log.length; length++) {
    const prefix = log.slice(0, length);
    const { opening, purchased, withdrawn, spent, returned, closing, findings } = reconcileBooks(prefix, all);
    expect({ opening, purchased, withdrawn, spent, returned, closing }).to.deep.equal(naively(prefix));
    expect(opening + purchased - withdrawn - spent + returned).to.equal(closing);
    expect(findings).to.deep.equal([]);
  }
  const settled = { ...all, mayBeOpenFor: 75_000 };
  const { open, findings, cards: counts, returned, spent } = reconcileBooks(log, settled);
  expect({ open, findings }).to.deep.equal({ open: [], findings: [] });
  expect([
    counts.paid + counts.void,
    counts.cancelled + counts.failed + counts.held + counts.void,
  ]).to.deep.equal([spent, returned]);
  for (const moved of log.filter(({ stream }) => categoryOf(stream) === 'credits')) {
    const period = reconcileBooks(log, { ...settled, after: moved.revision });
    const { opening, purchased, withdrawn, closing } = period;
    expect(opening).to.equal(parseEvent(ledger, moved).data.balance);
    expect(opening + purchased - withdrawn - period.spent + period.returned).to.equal(closing);
  }
  const returns = log.filter(({ type }) => type === 'CreditReturned');
  expect(returns.length).to.be.above(0);
  const later = { ...settled, until: new Date(Date.parse(until) + 600_000).toISOString() as typeof until };
  for (const left of returns)
    expect(reconcileBooks(without(log, left), later).findings.map(({ code }) => code)).to.deep.equal([
      'overdue',
    ]);
};

describe('purchases under references, made again and again', () => {
  for (const [name, seed] of [
    ['dying processes', 3],
    ['lost answers', 4],
    ['everything at once', 2],
  ] as const)
    for (const atomic of [false, true])
      it(`buy once in ${name}, on a store that writes ${atomic ? 'several streams' : 'one stream'} at a time`, async () => {
        const world = await makeWorld({ atomic, embedded: atomic, credits: 4 });
        const simulation = new Simulation(world, weathers[name] ?? expect.fail(name), seed, true);
        await simulation.run(4, 30);
        const log = await world.store.readLog(0n, 1_000_000);
        const wrong = violations(log, simulation.history, { settled: true });
        const left = balancesLeft(log);
        const told = simulation.purchases.filter(({ balance }) => balance !== null);
        const lies = told.filter(({ reference, balance }) => left.get(reference) !== balance);
        const reconciled = log.filter(({ metadata: { actor } }) => actor.id === 'reconciler');
        expect({ wrong, lies }).to.deep.equal({ wrong: [], lies: [] });
        expect(told.length).to.be.above(left.size);
        if (atomic) expect(reconciled).to.deep.equal([]);
        await checkBooks(world, log);
      });
});
