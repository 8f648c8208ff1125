import { setMaxListeners } from 'node:events';
import type { Milliseconds, Uuid } from '../domain/ids.js';
import { attemptDelivery, type AttemptDeps } from './attempt-delivery.js';
import type { Checkpoints } from './ports/checkpoints.js';
import type { Deliveries } from './ports/deliveries.js';
import type { DeliveryClaim } from './ports/delivery-claims.js';
import type { Hint } from './ports/delivery-queue.js';
import type { TrippedEndpoint } from './ports/endpoint-gates.js';
import { windowOf, type DeliveryPolicy } from './public-deliveries.js';
import { isRebuilt } from './relay.js';
import { Schedule, type Verdict } from './schedule.js';
import { untilAborted } from './until-aborted.js';
import { within } from './within.js';

export interface DeliveryDeps extends Omit<AttemptDeps, 'deliveries' | 'report'> {
  readonly deliveries: Pick<Deliveries, 'log' | 'gates' | 'claims'>;
  readonly checkpoints: Checkpoints;
  /** Disables an endpoint that has failed too often. */
  readonly disable: (tripped: TrippedEndpoint) => Promise<void>;
  /** The most attempts at a time; called whenever attempts could start. */
  readonly concurrency?: () => number;
  /** The most attempts at a time to one endpoint. */
  readonly perEndpoint?: number;
  /** How often to look for what no hint has announced. */
  readonly sweepEvery?: Milliseconds;
}

/** The most attempts at a time, unless there is a reason for fewer. */
export const defaultConcurrency = 100;
const defaultPerEndpoint = 10;

/**
 * The longest delay that a lost hint, or a broker that is down, can cause. Every worker sweeps this often.
 */
const usualSweep: Milliseconds = 60_000;
/**
 * How late the end of a window may be noticed: a tenth of the window, at most the time between two sweeps.
 */
const dropExpiredEvery = (policy: DeliveryPolicy): Milliseconds =>
  Math.min(usualSweep, Math.max(1_000, windowOf(policy) / 10));
const rebuildPause: Milliseconds = 50;
const failurePause: Milliseconds = 1_000;
/** How long attempts may take to end after the signal. */
const endingTime: Milliseconds = 4_000;

/** Does what the schedule says: claims, makes attempts, and tells it what came of them. */
class Worker {
  readonly #schedule: Schedule;
  readonly #attempts = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #claiming: Promise<void> | null = null;
  /** Ends the sleep of `#sleepUntilDue`. */
  #wake = (): void => undefined;

  constructor(
    private readonly deps: DeliveryDeps,
    private readonly signal: AbortSignal,
    private readonly report: (error: unknown) => void,
  ) {
    this.#schedule = new Schedule({ perEndpoint: deps.perEndpoint ?? defaultPerEndpoint });
    // Every running attempt listens.
    setMaxListeners(0, this.#ending.signal);
  }

  notify({ endpoint, due }: Pick<Hint, 'endpoint' | 'due'>): void {
    this.#lookAt(endpoint, due);
    this.#claimTurns();
  }

  async run(): Promise<void> {
    const { clock, deliveries, policy, sweepEvery = usualSweep } = this.deps;
    await Promise.all([
      this.#followClock().then(() => this.#end()),
      this.#repeat(sweepEvery, () => this.#sweep()),
      this.#repeat(dropExpiredEvery(policy), () => deliveries.log.dropExpired(clock.now())),
    ]);
  }

  /** Waits for the clock and for nothing else, so that no slow or unavailable store delays a retry. */
  async #followClock(): Promise<void> {
    while (!this.signal.aborted) {
      this.#schedule.takeDue(this.deps.clock.now());
      this.#claimTurns();
      await this.#sleepUntilDue();
    }
  }

  #repeat(pause: Milliseconds, work: () => Promise<unknown>): Promise<void> {
    const { deps, signal, report } = this;
    return untilAborted(
      { clock: deps.clock, signal, pause, pauseAfterError: failurePause, onError: report },
      work,
    );
  }

  async #sweep(): Promise<void> {
    const { gates, claims } = this.deps.deliveries;
    for (const tripped of await gates.tripped()) await this.#disable(tripped);
    for (const [endpoint, due] of await claims.dueTimes()) this.notify({ endpoint, due });
  }

  #lookAt(endpoint: Uuid, due: Milliseconds): void {
    const before = this.#schedule.nextDue;
    this.#schedule.lookAt(endpoint, due, this.deps.clock.now());
    if (this.#schedule.nextDue < before) this.#wake();
  }

  /** Sleeps until the next due time, or until there is an earlier one. */
  async #sleepUntilDue(): Promise<void> {
    const { clock } = this.deps;
    const woken = new AbortController();
    const wake = () => woken.abort(null);
    this.#wake = wake;
    this.signal.addEventListener('abort', wake, { once: true });
    await clock.sleep(this.#schedule.nextDue - clock.now(), woken.signal);
    this.signal.removeEventListener('abort', wake);
    this.#wake = () => undefined;
  }

  /** How many more attempts may start now. */
  get #free(): number {
    const { concurrency } = this.deps;
    return this.signal.aborted
      ? 0
      : Math.max(
          0,
          (concurrency === undefined ? defaultConcurrency : concurrency()) - this.#schedule.running,
        );
  }

  /**
   * Claims and starts attempts until no endpoint waits for its turn, or no attempt may start. A call while it
   * runs does nothing: the running one sees what has changed.
   */
  #claimTurns(): void {
    if (this.#claiming !== null || !this.#schedule.hasTurns || this.#free === 0) return;
    this.#claiming = this.#claimInRounds().finally(() => {
      this.#claiming = null;
      this.#claimTurns();
    });
  }

  /** Each round claims for all endpoints whose turn it is in one call. */
  async #claimInRounds(): Promise<void> {
    // Attempts that end at the same time are all counted as free after this.
    await Promise.resolve();
    while (this.#schedule.hasTurns && this.#free > 0) await this.#claim(this.#schedule.nextTurns(this.#free));
  }

  async #claim(limits: ReadonlyMap<Uuid, number>): Promise<void> {
    if (limits.size === 0) return;
    const { deliveries, clock } = this.deps;
    const now = clock.now();
    try {
      for (const [endpoint, { claimed, next }] of await deliveries.claims.claim(limits, now)) {
        for (const claim of claimed) this.#start(claim);
        if (next !== null) this.#lookAt(endpoint, next > now ? next : now);
      }
    } catch (error) {
      this.report(error);
      for (const endpoint of limits.keys()) this.#lookAt(endpoint, now + failurePause);
    }
  }

  #start(claim: DeliveryClaim): void {
    const { endpoint } = claim.endpoint;
    this.#schedule.started(endpoint);
    const attempt: Promise<void> = this.#attempt(claim).then(
      (verdict) => this.#ended(endpoint, attempt, verdict, 0),
      (error: unknown) => {
        this.report(error);
        this.#ended(endpoint, attempt, 'neither', failurePause);
      },
    );
    this.#attempts.add(attempt);
  }

  #ended(endpoint: Uuid, attempt: Promise<void>, verdict: Verdict, pause: Milliseconds): void {
    this.#attempts.delete(attempt);
    const now = this.deps.clock.now();
    const before = this.#schedule.nextDue;
    this.#schedule.ended(endpoint, verdict, now + pause, now);
    if (this.#schedule.nextDue < before) this.#wake();
    this.#claimTurns();
  }

  /**
   * Waits a while for the running attempts. Those that take longer are cut off and made again later, as if
   * the process had died.
   */
  async #end(): Promise<void> {
    // What is being claimed now won't start, and is released.
    const ended = Promise.resolve(this.#claiming).then(() => Promise.all(this.#attempts));
    await within(this.deps.clock, endingTime, ended, () => null);
    this.#ending.abort();
    await Promise.all(this.#attempts);
  }

  async #attempt(claim: DeliveryClaim): Promise<Verdict> {
    const attempted = await attemptDelivery({ ...this.deps, report: this.report }, claim, {
      stopping: this.signal,
      ending: this.#ending.signal,
    });
    if (attempted === 'withheld') return 'neither';
    const { succeeded, retryAt, tripped } = attempted;
    if (retryAt !== null) this.notify({ endpoint: claim.endpoint.endpoint, due: retryAt });
    if (tripped !== null) await this.#disable(tripped);
    return succeeded ? 'succeeded' : 'failed';
  }

  async #disable(tripped: TrippedEndpoint): Promise<void> {
    try {
      await this.deps.disable(tripped);
    } catch (error) {
      this.report(error);
    }
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
