import { setMaxListeners } from 'node:events';
import type { Milliseconds, Uuid } from '../domain/ids.js';
import { secretsAt } from '../domain/webhook-endpoints.js';
import {
  deliveryHeaders,
  signingSecret,
  type MasterKeys,
  type SigningSecret,
} from '../domain/webhook-signing.js';
import type {
  DeliveryAttempt,
  AttemptOutcome,
  DeliveryClaim,
  Deliveries,
  DeliveryQueue,
  Hint,
  Recorded,
  DeliveryEndpoint,
  TrippedEndpoint,
} from './ports/deliveries.js';
import type { Checkpoints } from './ports/checkpoints.js';
import type { Clock } from './ports/system.js';
import { isSuccess, type AttemptResult, type WebhookSender } from './ports/webhook-sender.js';
import { windowOf, type DeliveryPolicy } from './public-deliveries.js';
import { isRebuilt } from './relay.js';
import { untilAborted } from './until-aborted.js';
import { within } from './within.js';

/** `sinceEvent`: the time from the event to the end of a first attempt that delivered it, otherwise null. */
export interface DeliveryMetrics {
  attempted(
    result: 'delivered' | 'retrying' | 'exhausted',
    duration: Milliseconds,
    sinceEvent: Milliseconds | null,
  ): void;
}

export interface DeliveryDeps {
  readonly deliveries: Deliveries;
  readonly queue: DeliveryQueue;
  readonly sender: WebhookSender;
  readonly checkpoints: Checkpoints;
  readonly clock: Clock;
  readonly keys: MasterKeys;
  readonly policy: DeliveryPolicy;
  readonly metrics: DeliveryMetrics;
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
/** How often an endpoint's cap is halved at most. It never falls below one. */
const mostHalvings = 16;
/** How long attempts may take to end after the signal. */
const endingTime: Milliseconds = 4_000;

const outcomeOf = (
  { backoff }: DeliveryPolicy,
  { number, allowed }: DeliveryClaim,
  result: AttemptResult,
  now: Milliseconds,
): AttemptOutcome => {
  if (isSuccess(result)) return { status: 'delivered' };
  if (number >= allowed) return { status: 'exhausted' };
  const wait = backoff[Math.min(number, backoff.length) - 1] ?? 0;
  return { status: 'pending', due: now + wait };
};

/** The secrets that sign for an endpoint now. Throws MissingMasterKey. */
export const secretsOf = (
  keys: MasterKeys,
  { endpoint, secrets }: Pick<DeliveryEndpoint, 'endpoint' | 'secrets'>,
  now: Milliseconds,
): readonly SigningSecret[] => secretsAt(secrets, now).map((secret) => signingSecret(keys, endpoint, secret));

/**
 * Attempts what is due. It claims deliveries by endpoint, with a cap for each, and not first in, first out,
 * so that an endpoint that never responds holds up no other.
 */
class Worker {
  /** Endpoints that may have something due, in the order in which they are served. */
  readonly #turns = new Set<Uuid>();
  /** When to look at an endpoint again, and the earliest of these times. */
  readonly #dueTimes = new Map<Uuid, Milliseconds>();
  #nextDue: Milliseconds = Infinity;
  readonly #running = new Map<Uuid, number>();
  /** Consecutive failures that this worker has seen. An endpoint that fails gets fewer attempts at a time. */
  readonly #failures = new Map<Uuid, number>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #total = 0;
  #claiming: Promise<void> | null = null;
  /** Ends the sleep of `#sleepUntilDue`. */
  #wake = (): void => undefined;

  constructor(
    private readonly deps: DeliveryDeps,
    private readonly signal: AbortSignal,
    private readonly report: (error: unknown) => void,
  ) {
    // Every running attempt listens.
    setMaxListeners(0, this.#ending.signal);
  }

  notify({ endpoint, due }: Pick<Hint, 'endpoint' | 'due'>): void {
    if (due <= this.deps.clock.now()) {
      this.#turns.add(endpoint);
      this.#schedule();
    } else this.#lookAt(endpoint, due);
  }

  async run(): Promise<void> {
    const { clock, deliveries, policy, sweepEvery = usualSweep } = this.deps;
    await Promise.all([
      this.#followClock().then(() => this.#end()),
      this.#repeat(sweepEvery, () => this.#sweep()),
      this.#repeat(dropExpiredEvery(policy), () => deliveries.dropExpired(clock.now())),
    ]);
  }

  /** Waits for the clock and for nothing else, so that no slow or unavailable store delays a retry. */
  async #followClock(): Promise<void> {
    while (!this.signal.aborted) {
      this.#takeDue();
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
    const { deliveries } = this.deps;
    for (const tripped of await deliveries.tripped()) await this.#disable(tripped);
    for (const [endpoint, due] of await deliveries.dueTimes()) this.notify({ endpoint, due });
  }

  #lookAt(endpoint: Uuid, due: Milliseconds): void {
    const known = this.#dueTimes.get(endpoint);
    if (known === undefined || due < known) this.#dueTimes.set(endpoint, due);
    if (due >= this.#nextDue) return;
    this.#nextDue = due;
    this.#wake();
  }

  #takeDue(): void {
    const now = this.deps.clock.now();
    if (now < this.#nextDue) return;
    this.#nextDue = Infinity;
    for (const [endpoint, due] of this.#dueTimes) {
      if (due > now) this.#nextDue = Math.min(due, this.#nextDue);
      else {
        this.#dueTimes.delete(endpoint);
        this.#turns.add(endpoint);
      }
    }
    this.#schedule();
  }

  /** Sleeps until the next due time, or until there is an earlier one. */
  async #sleepUntilDue(): Promise<void> {
    const { clock } = this.deps;
    const woken = new AbortController();
    const wake = () => woken.abort(null);
    this.#wake = wake;
    this.signal.addEventListener('abort', wake, { once: true });
    await clock.sleep(this.#nextDue - clock.now(), woken.signal);
    this.signal.removeEventListener('abort', wake);
    this.#wake = () => undefined;
  }

  /** How many more attempts may start now. */
  get #free(): number {
    const { concurrency } = this.deps;
    return this.signal.aborted
      ? 0
      : Math.max(0, (concurrency === undefined ? defaultConcurrency : concurrency()) - this.#total);
  }

  /**
   * Claims and starts attempts until no endpoint waits for its turn, or no attempt may start. A call while it
   * runs does nothing: the running one sees what has changed.
   */
  #schedule(): void {
    if (this.#claiming !== null || this.#turns.size === 0 || this.#free === 0) return;
    this.#claiming = this.#claimInRounds().finally(() => {
      this.#claiming = null;
      this.#schedule();
    });
  }

  /**
   * Each round shares the free attempts among the endpoints whose turn it is, and claims for all in one call.
   */
  async #claimInRounds(): Promise<void> {
    // Attempts that end at the same time are all counted as free after this.
    await Promise.resolve();
    while (this.#turns.size > 0 && this.#free > 0) await this.#claim(this.#nextTurns());
  }

  /**
   * How many attempts each endpoint may start whose turn is next. One that is at its cap gets its next turn
   * when one of its attempts has ended.
   */
  #nextTurns(): ReadonlyMap<Uuid, number> {
    const limits = new Map<Uuid, number>();
    let free = this.#free;
    const share = Math.ceil(free / this.#turns.size);
    for (const endpoint of this.#turns) {
      if (free === 0) break;
      this.#turns.delete(endpoint);
      const limit = Math.min(this.#capOf(endpoint) - (this.#running.get(endpoint) ?? 0), share, free);
      if (limit <= 0) continue;
      limits.set(endpoint, limit);
      free -= limit;
    }
    return limits;
  }

  async #claim(limits: ReadonlyMap<Uuid, number>): Promise<void> {
    if (limits.size === 0) return;
    const { deliveries, clock } = this.deps;
    const now = clock.now();
    try {
      for (const [endpoint, { claimed, next }] of await deliveries.claim(limits, now)) {
        for (const claim of claimed) this.#start(claim);
        if (next === null) continue;
        if (next > now) this.#lookAt(endpoint, next);
        else this.#turns.add(endpoint);
      }
    } catch (error) {
      this.report(error);
      for (const endpoint of limits.keys()) this.#lookAt(endpoint, now + failurePause);
    }
  }

  #capOf(endpoint: Uuid): number {
    return Math.max(1, (this.deps.perEndpoint ?? defaultPerEndpoint) >> (this.#failures.get(endpoint) ?? 0));
  }

  #start(claim: DeliveryClaim): void {
    const { endpoint } = claim.target;
    this.#total++;
    this.#running.set(endpoint, (this.#running.get(endpoint) ?? 0) + 1);
    const attempt: Promise<void> = this.#attempt(claim).then(
      () => this.#ended(endpoint, attempt, () => this.#turns.add(endpoint)),
      (error: unknown) => {
        this.report(error);
        this.#ended(endpoint, attempt, () => this.#lookAt(endpoint, this.deps.clock.now() + failurePause));
      },
    );
    this.#attempts.add(attempt);
  }

  /**
   * Counts the attempt as ended and asks for the endpoint's next turn in one step. A turn that came earlier
   * would find the endpoint at its cap, and no other would follow.
   */
  #ended(endpoint: Uuid, attempt: Promise<void>, next: () => void): void {
    this.#attempts.delete(attempt);
    this.#total--;
    const left = (this.#running.get(endpoint) ?? 1) - 1;
    if (left > 0) this.#running.set(endpoint, left);
    else this.#running.delete(endpoint);
    next();
    this.#schedule();
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

  async #attempt(claim: DeliveryClaim): Promise<void> {
    const { deliveries, sender, clock, policy, metrics, keys } = this.deps;
    const { delivery, type, body, target, number, occurredAt } = claim;
    const at = clock.now();
    let result: AttemptResult | 'withheld';
    try {
      const headers = deliveryHeaders({ delivery, type, body, secrets: secretsOf(keys, target, at), at });
      result = await sender.send(
        {
          url: target.url,
          headers,
          body,
          mayStart: () => !this.signal.aborted && deliveries.mayStart(claim),
        },
        this.#ending.signal,
      );
    } catch (error) {
      await deliveries.release(claim);
      throw error;
    }
    if (result === 'withheld') return deliveries.release(claim);
    const now = clock.now();
    const outcome = outcomeOf(policy, claim, result, now);
    const attempt: DeliveryAttempt = { at, ...result };
    if (outcome.status === 'delivered') this.#failures.delete(target.endpoint);
    else
      this.#failures.set(
        target.endpoint,
        Math.min(mostHalvings, (this.#failures.get(target.endpoint) ?? 0) + 1),
      );
    const { recorded, tripped } = await this.#record(claim, attempt, outcome);
    if (!recorded) return;
    const first = outcome.status === 'delivered' && number === 1;
    metrics.attempted(
      outcome.status === 'pending' ? 'retrying' : outcome.status,
      result.duration,
      first ? now - occurredAt : null,
    );
    if (outcome.status === 'pending') this.notify({ endpoint: target.endpoint, due: outcome.due });
    if (tripped !== null) await this.#disable(tripped);
  }

  /** Tries until it is recorded, because the receiver has had the request: it must not be made again. */
  async #record(claim: DeliveryClaim, attempt: DeliveryAttempt, outcome: AttemptOutcome): Promise<Recorded> {
    const { deliveries, clock, policy, queue } = this.deps;
    for (;;) {
      try {
        const recorded = await deliveries.record(claim, attempt, outcome, policy.disableAfter);
        if (recorded.recorded && outcome.status === 'pending') {
          const { delivery, target, number } = claim;
          await queue.announce([
            { delivery, endpoint: target.endpoint, attempt: number + 1, due: outcome.due },
          ]);
        }
        return recorded;
      } catch (error) {
        this.report(error);
        if (this.#ending.signal.aborted) return { recorded: false, tripped: null };
        await clock.sleep(failurePause, this.#ending.signal);
      }
    }
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
