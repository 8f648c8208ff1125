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

/**
 * What is measured of attempts. `sinceEvent`: from the event to the end of a first attempt that was
 * delivered, else null.
 */
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
  /** Switches off an endpoint that has failed too often. */
  readonly disable: (tripped: TrippedEndpoint) => Promise<void>;
  /** Attempts at once, asked anew each time, and at once to one endpoint. */
  readonly concurrency?: () => number;
  readonly perEndpoint?: number;
  /** How often what no hint has told is looked for. */
  readonly sweepEvery?: Milliseconds;
}

/** Attempts at once, unless there is a reason for fewer. */
export const defaultConcurrency = 100;
const defaultPerEndpoint = 10;

/**
 * What no hint has told is found this often: by every worker, and in the rows, so that neither a lost message
 * nor a broker that is away costs more.
 */
const usualSweep: Milliseconds = 60_000;
/** That a window is over is noticed within a tenth of it, or the time of a sweep. */
const expireEvery = (policy: DeliveryPolicy): Milliseconds =>
  Math.min(usualSweep, Math.max(1_000, windowOf(policy) / 10));
const rebuildPause: Milliseconds = 50;
const failurePause: Milliseconds = 1_000;
/** A cap is halved at most so often; it is never less than one. */
const longestHalving = 16;
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

/** The secrets that sign for a target now. Throws MissingMasterKey. */
export const secretsOf = (
  keys: MasterKeys,
  { endpoint, secrets }: Pick<DeliveryEndpoint, 'endpoint' | 'secrets'>,
  now: Milliseconds,
): readonly SigningSecret[] => secretsAt(secrets, now).map((secret) => signingSecret(keys, endpoint, secret));

/**
 * Attempts what is due: claims by endpoint, never first-in-first-out, with a cap for each, so that one that
 * never answers holds up nobody else.
 */
class Worker {
  /** Endpoints that may have something due, in the order of their turns. */
  readonly #turns = new Set<Uuid>();
  /** When an endpoint has to be looked at again, and the earliest of these times. */
  readonly #wakes = new Map<Uuid, Milliseconds>();
  #nextWake: Milliseconds = Infinity;
  readonly #running = new Map<Uuid, number>();
  /** Failures in a row as this worker has seen them: who fails gets fewer attempts at once. */
  readonly #failing = new Map<Uuid, number>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #total = 0;
  #taking: Promise<void> | null = null;
  #stir = (): void => undefined;

  constructor(
    private readonly deps: DeliveryDeps,
    private readonly signal: AbortSignal,
    private readonly report: (error: unknown) => void,
  ) {
    // Every attempt that runs listens.
    setMaxListeners(0, this.#ending.signal);
  }

  hear({ endpoint, due }: Pick<Hint, 'endpoint' | 'due'>): void {
    if (due <= this.deps.clock.now()) {
      this.#turns.add(endpoint);
      this.#pump();
    } else this.#wakeAt(endpoint, due);
  }

  async run(): Promise<void> {
    const { clock, deliveries, policy, sweepEvery = usualSweep } = this.deps;
    await Promise.all([
      this.#wakeInTime().then(() => this.#end()),
      this.#every(sweepEvery, () => this.#sweep()),
      this.#every(expireEvery(policy), () => deliveries.dropExpired(clock.now())),
    ]);
  }

  /** Waits for the clock alone: nothing that takes long, or can't be had, makes a retry late. */
  async #wakeInTime(): Promise<void> {
    while (!this.signal.aborted) {
      this.#wakeDue();
      await this.#rest();
    }
  }

  #every(pause: Milliseconds, work: () => Promise<unknown>): Promise<void> {
    const { deps, signal, report } = this;
    return untilAborted(
      { clock: deps.clock, signal, pause, pauseAfterError: failurePause, onError: report },
      work,
    );
  }

  async #sweep(): Promise<void> {
    const { deliveries } = this.deps;
    for (const tripped of await deliveries.tripped()) await this.#disable(tripped);
    for (const [endpoint, due] of await deliveries.dueTimes()) this.hear({ endpoint, due });
  }

  #wakeAt(endpoint: Uuid, due: Milliseconds): void {
    const known = this.#wakes.get(endpoint);
    if (known === undefined || due < known) this.#wakes.set(endpoint, due);
    if (due >= this.#nextWake) return;
    this.#nextWake = due;
    this.#stir();
  }

  #wakeDue(): void {
    const now = this.deps.clock.now();
    if (now < this.#nextWake) return;
    this.#nextWake = Infinity;
    for (const [endpoint, due] of this.#wakes) {
      if (due > now) this.#nextWake = Math.min(due, this.#nextWake);
      else {
        this.#wakes.delete(endpoint);
        this.#turns.add(endpoint);
      }
    }
    this.#pump();
  }

  /** Sleeps until something is due, or has become due earlier than was known. */
  async #rest(): Promise<void> {
    const { clock } = this.deps;
    const stirred = new AbortController();
    const stir = () => stirred.abort(null);
    this.#stir = stir;
    this.signal.addEventListener('abort', stir, { once: true });
    await clock.sleep(this.#nextWake - clock.now(), stirred.signal);
    this.signal.removeEventListener('abort', stir);
    this.#stir = () => undefined;
  }

  /** How many more attempts may start now. */
  get #free(): number {
    const { concurrency } = this.deps;
    return this.signal.aborted
      ? 0
      : Math.max(0, (concurrency === undefined ? defaultConcurrency : concurrency()) - this.#total);
  }

  /**
   * Takes turns until there are none left or nothing is free. One at a time: who calls while it runs has set
   * what it will see.
   */
  #pump(): void {
    if (this.#taking !== null || this.#turns.size === 0 || this.#free === 0) return;
    this.#taking = this.#takeTurns().finally(() => {
      this.#taking = null;
      this.#pump();
    });
  }

  /** Gives every endpoint that has something due a share of what is free, in rounds: one claim for all. */
  async #takeTurns(): Promise<void> {
    // Attempts that end in one step have all made room after it.
    await Promise.resolve();
    while (this.#turns.size > 0 && this.#free > 0) await this.#take(this.#rooms());
  }

  /**
   * Takes the next turns: how many attempts each of these endpoints may start. One that is at its cap gets
   * its next turn when one of its attempts has ended.
   */
  #rooms(): ReadonlyMap<Uuid, number> {
    const slots = new Map<Uuid, number>();
    let free = this.#free;
    const share = Math.ceil(free / this.#turns.size);
    for (const endpoint of this.#turns) {
      if (free === 0) break;
      this.#turns.delete(endpoint);
      const room = Math.min(this.#capOf(endpoint) - (this.#running.get(endpoint) ?? 0), share, free);
      if (room <= 0) continue;
      slots.set(endpoint, room);
      free -= room;
    }
    return slots;
  }

  async #take(rooms: ReadonlyMap<Uuid, number>): Promise<void> {
    if (rooms.size === 0) return;
    const { deliveries, clock } = this.deps;
    const now = clock.now();
    try {
      for (const [endpoint, { claimed, next }] of await deliveries.claim(rooms, now)) {
        for (const claim of claimed) this.#start(claim);
        if (next === null) continue;
        if (next > now) this.#wakeAt(endpoint, next);
        else this.#turns.add(endpoint);
      }
    } catch (error) {
      this.report(error);
      for (const endpoint of rooms.keys()) this.#wakeAt(endpoint, now + failurePause);
    }
  }

  #capOf(endpoint: Uuid): number {
    return Math.max(1, (this.deps.perEndpoint ?? defaultPerEndpoint) >> (this.#failing.get(endpoint) ?? 0));
  }

  #start(claim: DeliveryClaim): void {
    const { endpoint } = claim.target;
    this.#total++;
    this.#running.set(endpoint, (this.#running.get(endpoint) ?? 0) + 1);
    const attempt: Promise<void> = this.#attempt(claim).then(
      () => this.#ended(endpoint, attempt, () => this.#turns.add(endpoint)),
      (error: unknown) => {
        this.report(error);
        this.#ended(endpoint, attempt, () => this.#wakeAt(endpoint, this.deps.clock.now() + failurePause));
      },
    );
    this.#attempts.add(attempt);
  }

  /**
   * Frees the attempt's place and asks for the endpoint's next turn in one step: a turn that came before its
   * place is free would be passed over, and none would follow.
   */
  #ended(endpoint: Uuid, attempt: Promise<void>, next: () => void): void {
    this.#attempts.delete(attempt);
    this.#total--;
    const left = (this.#running.get(endpoint) ?? 1) - 1;
    if (left > 0) this.#running.set(endpoint, left);
    else this.#running.delete(endpoint);
    next();
    this.#pump();
  }

  /**
   * Lets attempts that run come to their end, for a while; those that do not are as if the process had died:
   * they are made again.
   */
  async #end(): Promise<void> {
    // What is being claimed now is given back.
    const ended = Promise.resolve(this.#taking).then(() => Promise.all(this.#attempts));
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
    if (outcome.status === 'delivered') this.#failing.delete(target.endpoint);
    else
      this.#failing.set(
        target.endpoint,
        Math.min(longestHalving, (this.#failing.get(target.endpoint) ?? 0) + 1),
      );
    const { recorded, tripped } = await this.#recorded(claim, attempt, outcome);
    if (!recorded) return;
    const first = outcome.status === 'delivered' && number === 1;
    metrics.attempted(
      outcome.status === 'pending' ? 'retrying' : outcome.status,
      result.duration,
      first ? now - occurredAt : null,
    );
    if (outcome.status === 'pending') this.hear({ endpoint: target.endpoint, due: outcome.due });
    if (tripped !== null) await this.#disable(tripped);
  }

  /** The receiver has answered: an attempt that can't be recorded now is recorded later, not made again. */
  async #recorded(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
  ): Promise<Recorded> {
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
 * Delivers until the signal aborts; attempts that have started then are ended and recorded. Any number of
 * workers may run. (spec: Retries; architecture.md, Attempts)
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
  await Promise.all([worker.run(), queue.listen((hint) => worker.hear(hint), signal)]);
};
