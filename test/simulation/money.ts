import { runReconciler } from '../../application/money/reconciler.js';
import type { CardCode } from '../../domain/card-code.js';
import { SeededEntropy } from '../support/memory/entropy.js';
import { EventStoreUnavailable } from '../../application/ports/event-store.js';
import { buy, makeWorld, type World } from '../support/fixtures/world.js';
import { drive } from '../support/simulation/drive.js';
import { violations, type Call } from '../support/simulation/invariants.js';
import { Life, type Fate } from '../support/simulation/life.js';
import {
  buyAs,
  changeAs,
  MemoryCheckpoints,
  reconcile,
  sendAs,
  startProcess,
  type CardWish,
  type Process,
  type Purchased,
  type SendWish,
} from '../support/simulation/processes.js';
import { digestOf, UnknownWeather, type Outcome, type Run, type Size } from './runs.js';

/**
 * How rough a run is: how many of a thousand writes meet each trouble, how many of a thousand calls of a
 * store stall for minutes, and how long the others take at most.
 */
export interface Weather {
  readonly deaths: number;
  readonly losses: number;
  readonly late: number;
  readonly stalls: number;
  readonly slowest: number;
  /** How many writes are the last ones before the event store goes away for up to two minutes. */
  readonly cuts: number;
}

const minute = 60_000;

/** The store may go away while an operator buys. */
const ignoreAway = (error: unknown): void => {
  if (!(error instanceof EventStoreUnavailable)) throw error;
};

/** A service of several processes, and clients that make random calls. One seed decides everything. */
export class Simulation {
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
    this.world.store.away = false;
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
    const { deaths, losses, late, cuts } = this.weather;
    if (this.#calm) return 'arrive';
    if (cuts > 0 && this.#chance(cuts)) {
      void this.#cutOff();
      return this.#chance(500) ? 'lose' : 'lose-answer';
    }
    if (this.#chance(deaths)) return this.#chance(500) ? 'die-before' : 'die-after';
    if (this.#chance(losses)) return this.#chance(500) ? 'lose' : 'lose-answer';
    return this.#chance(late) ? { late: this.world.clock.sleep(this.#dice.below(3 * minute)) } : 'arrive';
  }

  /** The event store goes away, once what is under way has arrived. */
  async #cutOff(): Promise<void> {
    const { clock, store } = this.world;
    await clock.sleep(1);
    store.away = !this.#calm;
    await clock.sleep(this.#dice.below(2 * minute));
    store.away = false;
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
      else if (this.#chance(60) && !this.world.store.away)
        await buy(this.world, 1 + this.#dice.below(3)).catch(ignoreAway);
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

export const weathers: Readonly<Record<string, Weather>> = {
  'calm weather': { deaths: 0, losses: 0, late: 0, stalls: 0, slowest: 8, cuts: 0 },
  'lost answers': { deaths: 0, losses: 80, late: 60, stalls: 0, slowest: 20, cuts: 0 },
  'dying processes': { deaths: 25, losses: 0, late: 0, stalls: 0, slowest: 20, cuts: 0 },
  'stalling processes': { deaths: 0, losses: 0, late: 0, stalls: 12, slowest: 20, cuts: 0 },
  'everything at once': { deaths: 8, losses: 30, late: 30, stalls: 6, slowest: 500, cuts: 0 },
  'cut connections': { deaths: 0, losses: 0, late: 0, stalls: 0, slowest: 20, cuts: 4 },
};

const clients = 8;
const calls = 40;
export const usualSize = (): Size => ({ clients, calls });

const weatherNames = Object.keys(weathers);

/**
 * The money of several processes: the use cases alone, over one store. The seed decides what is left open.
 */
export const simulateMoney = async ({ seed, weather, size }: Run): Promise<Outcome> => {
  const dice = new SeededEntropy(seed);
  const drawn = weatherNames[dice.below(weatherNames.length)] ?? 'calm weather';
  const name = weather ?? drawn;
  const troubles = weathers[name];
  if (troubles === undefined) throw new UnknownWeather(name, weatherNames);
  const embedded = dice.below(2) === 0;
  const world = await makeWorld({ atomic: embedded, credits: 4 });
  const simulation = new Simulation(world, troubles, seed, dice.below(2) === 0);
  await simulation.run(size.clients, size.calls);
  const log = await world.store.readLog(0n, 1_000_000);
  const wrong = [
    ...violations(log, simulation.history, { settled: true }),
    ...simulation.stuck.map((key) => `7: the key ${key}`),
  ];
  const { history } = simulation;
  return { weather: [name], embedded, wrong, log, history, digest: digestOf(log, history, '') };
};
