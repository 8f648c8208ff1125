import { setMaxListeners } from 'node:events';
import { LazyLru } from '../memory/lazy-lru.js';
import type { Milliseconds, Uuid } from '../../domain/ids.js';
import { hostOf } from '../../domain/webhook-url.js';
import { attemptDelivery, type AttemptDeps } from './attempt-delivery.js';
import { claimActive, type ClaimActiveDeps } from './claim-active.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import type { Deliveries } from '../ports/deliveries.js';
import type { DeliveryClaim } from '../ports/delivery-claims.js';
import type { Hint } from '../ports/delivery-queue.js';
import type { TrippedEndpoint } from '../ports/endpoint-gates.js';
import type { Clock } from '../ports/system.js';
import { nextTurn } from '../timing/next-turn.js';
import { isRebuilt } from './relay.js';
import { Schedule, type Route, type Slots, type AttemptVerdict } from './schedule.js';
import { untilAborted } from '../timing/until-aborted.js';
import { withTimeout } from '../timing/with-timeout.js';

export interface DeliveryDeps
  extends Omit<AttemptDeps, 'deliveries' | 'report'>, Pick<ClaimActiveDeps, 'suspensions'> {
  readonly deliveries: Pick<Deliveries, 'gates' | 'claims'>;
  readonly checkpoints: Checkpoints;
  /** Disables an endpoint that has failed too often. */
  readonly disable: (tripped: TrippedEndpoint) => Promise<void>;
  /**
   * The most attempts at a time that are in their first moments, when they are work for this process; called
   * whenever attempts could start.
   */
  readonly freshAttempts?: () => number;
  readonly slots?: Partial<Slots>;
  /** Lets others have the thread. */
  readonly giveWay?: () => Promise<void>;
  /** How often to look for deliveries without a hint. */
  readonly sweepEvery?: Milliseconds;
}

/** Fresh attempts, unless there is a reason for fewer. */
export const defaultFreshAttempts = 200;
const defaultSlots: Slots = { inFlight: 1_000, perHost: 64, perEndpoint: 10, opening: 12 };
/**
 * Attempts that start together. Each may open a connection, which takes some milliseconds: the next ones wait
 * until others had the thread.
 */
const startedTogether = 16;
/** Where deliveries of an endpoint go never changes, so it is asked for once. */
const routesKept = 100_000;

/**
 * The longest delay that a lost hint, or a broker that is down, can cause. Every worker sweeps this often.
 */
const defaultSweepInterval: Milliseconds = 60_000;
/** How much the clocks of workers may differ. */
const clockDifference: Milliseconds = 60_000;
const rebuildPause: Milliseconds = 50;
const failurePause: Milliseconds = 1_000;
/** How long attempts may take to end after the signal. */
const stopTimeout: Milliseconds = 4_000;

/** Follows the schedule: claims deliveries, makes attempts, and reports their results to it. */
class Worker {
  readonly #schedule: Schedule;
  readonly #dueClock: Pick<Clock, 'now'>;
  readonly #routes = new LazyLru<Uuid, Route>(routesKept);
  /** Endpoints whose routes are yet to be asked for, and when something of them is due. */
  #unrouted = new Map<Uuid, Milliseconds>();
  #isRouting = false;
  readonly #attempts = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #claiming: Promise<void> | null = null;
  #sleepsUntil: Milliseconds = Infinity;
  /** Ends the sleep of `#sleepUntilDue`. */
  #wake = (): void => undefined;

  constructor(
    private readonly deps: DeliveryDeps,
    private readonly signal: AbortSignal,
    private readonly report: (error: unknown) => void,
  ) {
    this.#schedule = new Schedule({ ...defaultSlots, ...deps.slots }, Math.min(...deps.policy.backoff));
    this.#dueClock = deps.dueClock ?? deps.clock;
    // Every running attempt listens.
    setMaxListeners(0, this.#ending.signal);
  }

  notify({ endpoint, due, attempt = 1 }: Pick<Hint, 'endpoint' | 'due'> & Partial<Hint>): void {
    const route = this.#routes.get(endpoint);
    if (route === undefined) {
      this.#unrouted.set(endpoint, Math.min(due, this.#unrouted.get(endpoint) ?? Infinity));
      void this.#askForRoutes();
      return;
    }
    if (attempt === 0) this.#schedule.wake(route);
    this.#lookAt(route, due);
    this.#goOn();
  }

  /** The schedule uses the monotonic clock: setting the clock back doesn't prolong a rest. */
  #lookAt(route: Route, due: Milliseconds): void {
    const now = this.deps.clock.monotonic();
    this.#schedule.lookAt(route, now + due - this.#dueClock.now(), now);
  }

  async run(): Promise<void> {
    const { clock, sweepEvery: pause = defaultSweepInterval } = this.deps;
    const { signal, report: onError } = this;
    const sweeps = { clock, signal, pause, pauseAfterError: failurePause, onError };
    await Promise.all([
      this.#followClock().then(() => this.#end()),
      untilAborted(sweeps, () => this.#sweep()),
    ]);
  }

  /** Waits for the clock and for nothing else, so that no slow or unavailable store delays a retry. */
  async #followClock(): Promise<void> {
    while (!this.signal.aborted) {
      this.#schedule.takeDue(this.deps.clock.monotonic());
      this.#claimTurns();
      await this.#sleepUntilDue();
    }
  }

  async #sweep(): Promise<void> {
    const { gates, claims } = this.deps.deliveries;
    this.#schedule.forget(this.deps.clock.monotonic());
    await claims.hasten(this.#dueClock, Math.max(...this.deps.policy.backoff) + clockDifference);
    for (const [endpoint, due] of await claims.dueTimes()) this.notify({ endpoint, due });
    // Last: each writes to the log, which may be away.
    for (const tripped of await gates.tripped()) await this.#disable(tripped);
  }

  /** Asks for all missing routes at once. Routes that can't be had now are left to the next sweep. */
  async #askForRoutes(): Promise<void> {
    if (this.#isRouting) return;
    this.#isRouting = true;
    // Hints come in groups.
    await Promise.resolve();
    while (this.#unrouted.size > 0) {
      const wanted = this.#unrouted;
      this.#unrouted = new Map();
      try {
        for (const [endpoint, { org, url }] of await this.deps.deliveries.gates.addresses([...wanted.keys()]))
          this.#routes.set(endpoint, { endpoint, org, host: hostOf(new URL(url)) });
        for (const [endpoint, due] of wanted) if (this.#routes.has(endpoint)) this.notify({ endpoint, due });
      } catch (error) {
        this.report(error);
      }
    }
    this.#isRouting = false;
  }

  /** Sleeps until the schedule is due, or becomes due earlier. */
  async #sleepUntilDue(): Promise<void> {
    const { clock } = this.deps;
    const woken = new AbortController();
    const wake = () => woken.abort(null);
    this.#wake = wake;
    this.#sleepsUntil = this.#schedule.nextDue;
    this.signal.addEventListener('abort', wake, { once: true });
    await clock.sleep(this.#sleepsUntil - clock.monotonic(), woken.signal);
    this.signal.removeEventListener('abort', wake);
    this.#wake = () => undefined;
  }

  /** The schedule has changed: there may be something to claim, now or earlier than before. */
  #goOn(): void {
    this.#claimTurns();
    if (this.#schedule.nextDue < this.#sleepsUntil) this.#wake();
  }

  #nextTurns(): ReadonlyMap<Uuid, number> {
    const { freshAttempts, clock } = this.deps;
    if (this.signal.aborted) return new Map();
    const fresh = freshAttempts === undefined ? defaultFreshAttempts : freshAttempts();
    return this.#schedule.nextTurns(fresh, clock.monotonic(), startedTogether);
  }

  /**
   * Claims and starts attempts until the schedule has no turns to give. A call while it runs does nothing:
   * the running one sees what has changed.
   */
  #claimTurns(): void {
    this.#claiming ??= this.#claimInRounds();
  }

  /** Each round claims for all endpoints whose turn it is in one call. */
  async #claimInRounds(): Promise<void> {
    // Attempts that end at the same time are all counted as free after this.
    await Promise.resolve();
    for (let turns = this.#nextTurns(); turns.size > 0; turns = this.#nextTurns()) {
      await this.#claim(turns);
      await (this.deps.giveWay ?? nextTurn)();
    }
    this.#claiming = null;
    if (this.#schedule.nextDue < this.#sleepsUntil) this.#wake();
  }

  async #claim(limits: ReadonlyMap<Uuid, number>): Promise<void> {
    const now = this.#dueClock.now();
    const lookAt = (endpoint: Uuid, due: Milliseconds): void => {
      const route = this.#routes.get(endpoint);
      if (route !== undefined) this.#lookAt(route, due);
    };
    try {
      for (const [endpoint, { claimed, next }] of await claimActive(this.deps, limits, now)) {
        for (const claim of claimed) this.#start(claim);
        if (next !== null) lookAt(endpoint, next);
      }
    } catch (error) {
      this.report(error);
      for (const endpoint of limits.keys()) lookAt(endpoint, now + failurePause);
    }
  }

  #start(claim: DeliveryClaim): void {
    const attempt: Promise<void> = this.#attempt(claim).finally(() => this.#attempts.delete(attempt));
    this.#attempts.add(attempt);
  }

  async #attempt(claim: DeliveryClaim): Promise<void> {
    const { clock } = this.deps;
    const { endpoint, org, url } = claim.endpoint;
    const route = { endpoint, org, host: hostOf(new URL(url)) };
    const started = this.#schedule.started(route, clock.monotonic());
    const ended = (verdict: AttemptVerdict, pause: Milliseconds): void => {
      const now = clock.monotonic();
      this.#schedule.ended(started, verdict, now + pause, now);
      this.#goOn();
    };
    try {
      const attempted = await attemptDelivery({ ...this.deps, report: this.report }, claim, {
        stopping: this.signal,
        ending: this.#ending.signal,
      });
      if (attempted === 'withheld') return ended('neither', 0);
      const { verdict, retryAt, tripped } = attempted;
      if (retryAt !== null) this.notify({ endpoint, due: retryAt });
      ended(verdict, 0);
      if (tripped !== null) await this.#disable(tripped);
    } catch (error) {
      this.report(error);
      ended('neither', failurePause);
    }
  }

  /**
   * Waits a while for the running attempts. Slower ones are cut off and made again later, as if the process
   * had died.
   */
  async #end(): Promise<void> {
    // Deliveries that are being claimed now won't start, and are released.
    const ended = Promise.resolve(this.#claiming).then(() => Promise.all(this.#attempts));
    await withTimeout(this.deps.clock, stopTimeout, ended, () => null);
    this.#ending.abort();
    await Promise.all(this.#attempts);
  }

  async #disable(tripped: TrippedEndpoint): Promise<void> {
    await this.deps.disable(tripped).catch(this.report);
  }
}

/**
 * Delivers until the signal aborts; attempts that have started by then may end and are recorded. Any number
 * of workers may run. (docs/architecture.md#delivery-of-webhooks)
 */
export const runDeliveries = async (
  deps: DeliveryDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { clock, queue } = deps;
  const rebuilt = (): Promise<boolean> =>
    isRebuilt(deps).catch((error: unknown) => {
      report(error);
      return false;
    });
  while (!signal.aborted && !(await rebuilt())) await clock.sleep(rebuildPause, signal);
  const worker = new Worker(deps, signal, report);
  await Promise.all([worker.run(), queue.listen((hint) => worker.notify(hint), signal)]);
};
