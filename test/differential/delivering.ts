import { setImmediate } from 'node:timers/promises';
import { startsWithin } from '../../adapters/mongodb/deliveries/attempts.js';
import type { Deliveries } from '../../application/ports/deliveries.js';
import type { AttemptOutcome, DeliveryClaim, Recorded } from '../../application/ports/delivery-claims.js';
import type { DeliveryChange } from '../../application/ports/delivery-log.js';
import type { DeliveryEndpoint } from '../../application/ports/endpoint-gates.js';
import type { Clock } from '../../application/ports/system.js';
import type { Instant, Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import type { Made } from './compare.js';

/** Stands still; whoever sleeps moves it. Later than any other: MongoDB removes what is old. */
export class HandClock implements Clock {
  readonly #start = Date.parse('2100-01-01T00:00:00.000Z');
  #at = this.#start;

  now(): Milliseconds {
    return this.#at;
  }

  steady(): Milliseconds {
    return this.#at;
  }

  monotonic(): Milliseconds {
    return this.#at - this.#start;
  }

  instant(): Instant {
    return new Date(this.#at).toISOString() as Instant;
  }

  async sleep(time: Milliseconds): Promise<void> {
    this.#at += time;
  }

  set(now: Milliseconds): void {
    this.#at = now;
  }
}

/** How long a claim lasts in a store that several processes use. */
export const claimLasts: Milliseconds = 20_000;

/** A claim that is neither recorded nor released, of a process that is alive. */
export interface Held {
  readonly claim: DeliveryClaim;
  readonly by: Deliveries;
  readonly at: Milliseconds;
}

/** More than there are deliveries: a store that claims what is claimed has no end. */
const maxRounds = 50;

const orgs = ['org-1', 'org-2'] as OrganizationId[];
export const endpoints = [0, 1, 2, 3, 4].map((number) => `endpoint-${number}` as Uuid);
export const orgOf = (of: Uuid): OrganizationId =>
  (of === 'endpoint-4' ? 'org-2' : 'org-1') as OrganizationId;

export const deliveriesOf = (held: readonly Held[]): unknown => held.map(({ claim }) => claim.delivery);

type Change = Pick<DeliveryEndpoint, 'active' | 'version' | 'enabledAt'>;

/** A delivery store and the processes that use it. */
export class Delivering {
  readonly processes: Deliveries[] = [];
  held: readonly Held[] = [];
  /** Deleted so long ago that a store may have forgotten them: nobody speaks of them any more. */
  readonly forgotten = new Set<Uuid>();
  /** What watchers were shown and is yet to be compared. */
  readonly #shown: DeliveryChange[] = [];
  readonly #latest = new Map<Uuid, Change>();
  readonly #deletedAt = new Map<Uuid, Milliseconds>();
  readonly #erasedAt = new Map<string, Milliseconds>();
  /** Erased so long ago that a store may have forgotten them: no receiver says anything about them now. */
  readonly #forgottenCards = new Set<string>();
  #watching = new AbortController();

  private constructor(
    readonly clock: HandClock,
    /** Whether two processes use the store, or one. */
    readonly isShared: boolean,
    private readonly newProcess: () => Deliveries,
  ) {}

  /** With endpoints that are open, disabled, and unknown. */
  static async make(
    { clock, isShared }: { readonly clock: HandClock; readonly isShared: boolean },
    newProcess: () => Deliveries,
    close: () => Promise<void> = async () => undefined,
  ): Promise<Made<Delivering>> {
    const subject = new Delivering(clock, isShared, newProcess);
    for (const _ of isShared ? [1, 2] : [1]) subject.#begin();
    for (const of of endpoints.filter((each) => each !== 'endpoint-2'))
      await subject.upsert(0, of, { step: 0, active: of !== 'endpoint-3', isEnabled: false, look: 0 });
    return {
      subject,
      close: async () => {
        subject.#watching.abort();
        await close();
      },
    };
  }

  process(index: number): Deliveries {
    const found = this.processes[index % this.processes.length];
    if (found === undefined) throw new Error('no process is alive');
    return found;
  }

  /** A process dies, and another begins. */
  async replace(index: number): Promise<void> {
    await setImmediate();
    const died = this.process(index);
    this.processes.splice(this.processes.indexOf(died), 1);
    this.held = this.held.filter(({ by }) => by !== died);
    this.#begin();
  }

  #begin(): void {
    const process = this.newProcess();
    this.processes.push(process);
    // Processes that share a store are shown the changes of others later, and of several the last.
    if (this.isShared) return;
    this.#watching.abort();
    this.#watching = new AbortController();
    for (const org of orgs) void this.#watch(process, org);
  }

  async #watch(process: Deliveries, org: OrganizationId): Promise<void> {
    for await (const change of process.log.watch(org, this.#watching.signal)) this.#shown.push(change);
  }

  async takeShown(): Promise<readonly DeliveryChange[]> {
    await setImmediate();
    return this.#shown.splice(0);
  }

  async upsert(
    index: number,
    endpoint: Uuid,
    given: {
      readonly step: number;
      readonly active: boolean;
      readonly isEnabled: boolean;
      readonly look: number;
    },
  ): Promise<unknown> {
    if (this.forgotten.has(endpoint)) return null;
    const { step, active, isEnabled, look } = given;
    const latest = this.#latest.get(endpoint) ?? { active, version: 0, enabledAt: 0 };
    const version = Math.max(latest.version + step, 0);
    const change = { active, version, enabledAt: isEnabled ? version : latest.enabledAt };
    if (version >= latest.version) this.#latest.set(endpoint, change);
    const wanted = {
      endpoint,
      org: orgOf(endpoint),
      url: `https://example.com/${look}` as WebhookUrl,
      secrets: Array.from({ length: look }, (_, key) => ({
        key: `key ${key}`,
        generation: key,
        since: '2026-03-01T00:00:00.000Z' as Instant,
      })),
      ...change,
    };
    const by = this.process(index);
    await by.gates.upsertEndpoint(wanted, this.clock.now());
    const own = this.mayStart().filter((held) => held.by === by);
    if (!active) this.#untilStarted(this.clock.now());
    return deliveriesOf(own);
  }

  /** Returns which claims of the endpoint may start then. */
  async delete(index: number, org: OrganizationId, endpoint: Uuid, reason: string): Promise<unknown> {
    const now = this.clock.now();
    await this.process(index).gates.deleteEndpoint(org, endpoint, reason, now);
    const isDeleted = org === orgOf(endpoint) || !this.#latest.has(endpoint);
    if (isDeleted && !this.#deletedAt.has(endpoint)) this.#deletedAt.set(endpoint, now);
    const own = this.held.filter(({ claim }) => claim.endpoint.endpoint === endpoint);
    const starting = own.filter(({ claim, by }) => by.claims.mayStart(claim));
    this.#untilStarted(now);
    return isDeleted && deliveriesOf(starting);
  }

  /** Removes what has ended by now, when all claims of processes that died are over, or had ended then. */
  async removeEnded(index: number, isLater: boolean): Promise<number> {
    if (isLater) await this.clock.sleep(claimLasts);
    const before = Math.min(this.clock.now() - claimLasts, ...this.held.map(({ at }) => at - 1));
    for (const [endpoint, at] of this.#deletedAt) if (at <= before) this.forgotten.add(endpoint);
    for (const [card, at] of this.#erasedAt) if (at <= before) this.#forgottenCards.add(card);
    return this.process(index).log.removeEnded(before);
  }

  /** Takes one of the claims that are held; null if there is none. */
  take(index: number): Held | null {
    const found = this.held[index % Math.max(this.held.length, 1)];
    this.held = this.held.filter((each) => each !== found);
    return found ?? null;
  }

  /** The claims that may start. In a shared store they may for a second at most: later nobody asks. */
  mayStart(): readonly Held[] {
    return this.held.filter(
      ({ claim, by, at }) =>
        (!this.isShared || this.clock.now() < at + startsWithin) && by.claims.mayStart(claim),
    );
  }

  /**
   * Claims once; in a shared store until nothing is left, because what a process has found due there and not
   * claimed yet keeps its place when it is changed.
   */
  async claim(index: number, limits: ReadonlyMap<Uuid, number>): Promise<unknown> {
    const by = this.process(index);
    const now = this.clock.now();
    const rounds: unknown[] = [];
    for (;;) {
      const claims = await by.claims.claim(limits, now);
      const some = [...limits.keys()].flatMap((endpoint) => claims.get(endpoint)?.claimed ?? []);
      this.held = [...this.held, ...some.map((claim) => ({ claim, by, at: now }))];
      // The id of a claim means something only in its store.
      rounds.push(some.map((claim) => ({ ...claim, id: null })));
      if (this.isShared && some.length > 0 && rounds.length < maxRounds) continue;
      return [rounds, new Map([...claims].map(([endpoint, { next }]) => [endpoint, next]))];
    }
  }

  async record(
    { claim, by, at: claimedAt }: Held,
    outcome: AttemptOutcome,
    { httpStatus, lag }: { readonly httpStatus: number | null; readonly lag: Milliseconds },
    disableAfter: number,
  ): Promise<Recorded> {
    const response = outcome.status === 'delivered' ? 200 : httpStatus;
    const error = response === null ? 'connection refused' : null;
    const body = response === null || this.#forgottenCards.has(claim.card) ? null : 'ein Körper';
    const now = this.clock.now();
    const at = Math.max(claimedAt, now - lag);
    const attempt = { at, httpStatus: response, error, duration: 5, body };
    const recorded = await by.claims.record(claim, attempt, outcome, disableAfter);
    if (recorded.tripped !== null) this.#untilStarted(now);
    return recorded;
  }

  async erase(process: number, card: string): Promise<void> {
    const now = this.clock.now();
    await this.process(process).log.erase(card, now);
    this.#erasedAt.set(card, this.#erasedAt.get(card) ?? now);
    this.#untilStarted(now);
  }

  /**
   * Claims of an endpoint that was closed, or on deliveries of an erased card, may start in other processes
   * for as long as this.
   */
  #untilStarted(now: Milliseconds): void {
    if (this.isShared) this.clock.set(now + startsWithin);
  }
}
