import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';

/**
 * Whether a holder of some of the slots may take another: only if it holds less than a part of what is free.
 * So there is nearly always a slot left for the next one, whichever came before. With a part of 1, a single
 * one may have half of the slots; with a quarter, a fifth.
 */
export const mayTake = (held: number, free: number, part: number): boolean => held < free * part;

/** How often an endpoint's cap is halved at most. It never falls below one. */
const maxHalvings = 16;
/** How long an attempt counts as work. After that it only waits for its receiver. */
const freshFor: Milliseconds = 100;
/** How long an endpoint rests whose name could not be resolved, unless the shortest wait is shorter. */
const restAfterUnresolved: Milliseconds = 60_000;
/**
 * The parts of the free slots that an organization may take. A slot of one in flight may be held for the
 * whole time of an attempt, a fresh one only for a moment.
 */
const partOfInFlight = 1 / 4;
const partOfFresh = 1;
const partOfHost = 1;
/**
 * How long an endpoint rests after failures in a row: not after the first two, then longer each time. One
 * that fails fast would otherwise have attempt after attempt, each with a connection of its own. A tenth of
 * the shortest wait is the longest rest: retries keep to the waits.
 */
const restAfterFailures = (strikes: number, shortestWait: Milliseconds): Milliseconds =>
  strikes < 3 ? 0 : Math.min(maxRest, shortestWait / 10, 25 * 2 ** (strikes - 3));
const maxRest: Milliseconds = 5_000;
/** How long the connection of a quick success can be used again. */
const connectedFor: Milliseconds = 4_000;
/** How long an endpoint that failed is remembered after its last attempt. */
const strikesTtl: Milliseconds = 600_000;

export interface Slots {
  /** Attempts under way. Most only wait for a receiver, so there may be many. */
  readonly inFlight: number;
  readonly perHost: number;
  readonly perEndpoint: number;
  /**
   * Fresh attempts at endpoints whose last attempt was no quick success, or is long ago: each opens a
   * connection, which takes this process about as much work as ten deliveries.
   */
  readonly opening?: number;
}

/** The owner of an endpoint, and the host of its deliveries. */
export interface Route {
  readonly endpoint: Uuid;
  readonly org: OrganizationId;
  readonly host: string;
}

/** An attempt's judgement of its endpoint. `neither`: it was not made, or can't be judged. */
export type AttemptVerdict = 'quick' | 'slow' | 'failed' | 'unresolved' | 'neither';

interface OrganizationState {
  inFlight: number;
  fresh: number;
  /** Its endpoints that may have something due, in the order in which they are served. */
  readonly turns: Set<EndpointState>;
  endpoints: number;
}

interface HostState {
  inFlight: number;
  readonly byOrg: Map<OrganizationId, number>;
  /** Endpoints whose turn it was when the host had no slot left for their organization. */
  readonly parked: Set<EndpointState>;
  endpoints: number;
}

interface EndpointState {
  readonly route: Route;
  readonly org: OrganizationState;
  readonly host: HostState;
  inFlight: number;
  /** Failures and slow responses in a row. Each halves the endpoint's cap. */
  strikes: number;
  restsUntil: Milliseconds;
  touchedAt: Milliseconds;
  /** When its last quick success ended. */
  quickAt: Milliseconds;
}

export interface Started {
  readonly endpoint: EndpointState;
  readonly at: Milliseconds;
  readonly isOpening: boolean;
}

/** The value of a key, which is added if there is none. */
const orAdded = <Key, Value>(map: Map<Key, Value>, key: Key, added: Value): Value => {
  const value = map.get(key) ?? added;
  map.set(key, value);
  return value;
};

/** Whether an attempt has to open a connection. */
const isOpening = ({ quickAt }: EndpointState, now: Milliseconds): boolean => now - quickAt > connectedFor;

/**
 * Chooses the next deliveries of a worker, and how many at a time: slots go to organizations first, then to
 * the endpoints of each. It waits for nothing and reads no clock: the worker tells it what has happened and
 * when, and asks what to claim.
 */
export class Schedule {
  readonly #organizations = new Map<OrganizationId, OrganizationState>();
  readonly #hosts = new Map<string, HostState>();
  readonly #endpoints = new Map<Uuid, EndpointState>();
  /** Organizations with turns, in the order in which they are served. */
  readonly #waiting = new Set<OrganizationState>();
  /** When to look at an endpoint again, and the earliest of these times. */
  readonly #dueTimes = new Map<EndpointState, Milliseconds>();
  #firstDue: Milliseconds = Infinity;
  /** Oldest first. */
  readonly #freshAttempts = new Set<Started>();
  #fresh = 0;
  #opening = 0;
  #inFlight = 0;

  /** `shortestWait`: between two attempts of a delivery. */
  constructor(
    private readonly slots: Slots,
    private readonly shortestWait: Milliseconds = Infinity,
  ) {}

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * When the schedule changes by itself: an endpoint's time comes, or an attempt is no longer fresh while
   * others wait. Infinity if it doesn't.
   */
  get nextDue(): Milliseconds {
    const [oldest] = this.#waiting.size === 0 ? [] : this.#freshAttempts;
    return oldest === undefined ? this.#firstDue : Math.min(this.#firstDue, oldest.at + freshFor);
  }

  /** Something of the endpoint may be due at a time. */
  lookAt(route: Route, due: Milliseconds, now: Milliseconds): void {
    this.#lookAt(this.#stateOf(route, now), due, now);
  }

  /** Ends an endpoint's rest: it was asked for by hand. */
  wake({ endpoint }: Route): void {
    const known = this.#endpoints.get(endpoint);
    if (known !== undefined) known.restsUntil = 0;
  }

  /** Gives their turn to the endpoints whose time has come. */
  takeDue(now: Milliseconds): void {
    this.#age(now);
    if (now < this.#firstDue) return;
    this.#firstDue = Infinity;
    for (const [endpoint, due] of this.#dueTimes) {
      if (due > now) this.#firstDue = Math.min(due, this.#firstDue);
      else {
        this.#dueTimes.delete(endpoint);
        this.#giveTurn(endpoint);
      }
    }
  }

  /**
   * How many deliveries of which endpoints to claim, if `fresh` attempts may be in their first moments at a
   * time. Each organization gets one slot after the other in turn, and passes them on to its endpoints in
   * turn. An endpoint at its cap gets its next turn when one of its attempts has ended. Returns at most
   * `together`, so that endpoints that come due meanwhile are in the next round.
   */
  nextTurns(fresh: number, now: Milliseconds, together = Infinity): ReadonlyMap<Uuid, number> {
    this.#age(now);
    const granted = new Map<EndpointState, number>();
    let opening = this.#opening;
    const served = new Set<OrganizationState>();
    const maxInFlight = Math.min(this.slots.inFlight, this.#inFlight + together);
    for (let before = -1; before < this.#inFlight;) {
      before = this.#inFlight;
      for (const org of this.#waiting) {
        if (this.#fresh >= fresh || this.#inFlight >= maxInFlight) break;
        if (!mayTake(org.fresh, fresh - this.#fresh, partOfFresh)) continue;
        if (!mayTake(org.inFlight, this.slots.inFlight - this.#inFlight, partOfInFlight)) continue;
        const endpoint = this.#nextOf(org, now, opening >= (this.slots.opening ?? Infinity));
        if (endpoint === null) continue;
        if (isOpening(endpoint, now)) opening++;
        endpoint.touchedAt = now;
        granted.set(endpoint, (granted.get(endpoint) ?? 0) + 1);
        served.add(org);
        this.#count(endpoint, 1);
        this.#countFresh(org, 1);
      }
    }
    for (const [endpoint, count] of granted) {
      // Counted only for this call: claimed deliveries count once they start.
      this.#count(endpoint, -count);
      this.#countFresh(endpoint.org, -count);
      this.#endTurn(endpoint);
    }
    for (const org of served) if (this.#waiting.delete(org)) this.#waiting.add(org);
    return new Map([...granted].map(([{ route }, count]) => [route.endpoint, count]));
  }

  /** An attempt of an endpoint that was among the turns has started, however long the claim took. */
  started(route: Route, now: Milliseconds): Started {
    const endpoint = this.#stateOf(route, now);
    const started: Started = { endpoint, at: now, isOpening: isOpening(endpoint, now) };
    if (started.isOpening) this.#opening++;
    endpoint.touchedAt = now;
    this.#count(endpoint, 1);
    this.#countFresh(endpoint.org, 1);
    this.#freshAttempts.add(started);
    return started;
  }

  /**
   * An attempt ended. The endpoint gets its next turn at `next`, which counts from here: a turn that came
   * earlier would find the endpoint at its cap, and no other would follow.
   */
  ended(started: Started, verdict: AttemptVerdict, next: Milliseconds, now: Milliseconds): void {
    const { endpoint } = started;
    this.#count(endpoint, -1);
    this.#endFresh(started);
    endpoint.touchedAt = now;
    if (verdict === 'quick') {
      endpoint.strikes = 0;
      endpoint.quickAt = now;
    } else if (verdict !== 'neither') endpoint.strikes = Math.min(maxHalvings, endpoint.strikes + 1);
    if (verdict === 'unresolved')
      endpoint.restsUntil = now + Math.min(restAfterUnresolved, this.shortestWait);
    if (verdict === 'failed')
      endpoint.restsUntil = now + restAfterFailures(endpoint.strikes, this.shortestWait);
    for (const parked of endpoint.host.parked) this.#giveTurn(parked);
    endpoint.host.parked.clear();
    this.#lookAt(endpoint, next, now);
  }

  /** Forgets endpoints that have nothing due and were not attempted for a while. */
  forget(now: Milliseconds): void {
    for (const [id, endpoint] of this.#endpoints) {
      const { org, host, route } = endpoint;
      if (endpoint.touchedAt + strikesTtl > now || endpoint.inFlight > 0) continue;
      if (this.#dueTimes.has(endpoint) || org.turns.has(endpoint) || host.parked.has(endpoint)) continue;
      this.#endpoints.delete(id);
      if (--org.endpoints === 0) this.#organizations.delete(route.org);
      if (--host.endpoints === 0) this.#hosts.delete(route.host);
    }
  }

  #stateOf(route: Route, now: Milliseconds): EndpointState {
    const known = this.#endpoints.get(route.endpoint);
    if (known !== undefined) return known;
    const noTurns: OrganizationState = { inFlight: 0, fresh: 0, turns: new Set(), endpoints: 0 };
    const idle: HostState = { inFlight: 0, byOrg: new Map(), parked: new Set(), endpoints: 0 };
    const org = orAdded(this.#organizations, route.org, noTurns);
    const host = orAdded(this.#hosts, route.host, idle);
    org.endpoints++;
    host.endpoints++;
    const counts = { inFlight: 0, strikes: 0, restsUntil: 0, touchedAt: now, quickAt: -Infinity };
    const state = { route, org, host, ...counts };
    this.#endpoints.set(route.endpoint, state);
    return state;
  }

  #lookAt(endpoint: EndpointState, due: Milliseconds, now: Milliseconds): void {
    const at = Math.max(due, endpoint.restsUntil);
    if (at <= now) return this.#giveTurn(endpoint);
    const known = this.#dueTimes.get(endpoint);
    if (known === undefined || at < known) this.#dueTimes.set(endpoint, at);
    if (at < this.#firstDue) this.#firstDue = at;
  }

  #giveTurn(endpoint: EndpointState): void {
    endpoint.org.turns.add(endpoint);
    this.#waiting.add(endpoint.org);
  }

  #endTurn(endpoint: EndpointState): void {
    const { org } = endpoint;
    org.turns.delete(endpoint);
    if (org.turns.size === 0) this.#waiting.delete(org);
  }

  /**
   * The endpoint of the organization that gets its next slot. Endpoints that can't have one lose their turn;
   * endpoints that need a connection keep it if no more may be opened for now.
   */
  #nextOf(org: OrganizationState, now: Milliseconds, isOpened: boolean): EndpointState | null {
    for (const endpoint of org.turns) {
      const { host, route } = endpoint;
      if (isOpened && isOpening(endpoint, now)) continue;
      const heldAtHost = host.byOrg.get(route.org) ?? 0;
      if (endpoint.inFlight >= this.#capOf(endpoint)) this.#endTurn(endpoint);
      else if (!mayTake(heldAtHost, this.slots.perHost - host.inFlight, partOfHost)) {
        this.#endTurn(endpoint);
        host.parked.add(endpoint);
      } else {
        // To the end, so that each of the others comes before its next slot.
        org.turns.delete(endpoint);
        org.turns.add(endpoint);
        host.parked.delete(endpoint);
        return endpoint;
      }
    }
    return null;
  }

  #capOf({ strikes }: EndpointState): number {
    return Math.max(1, this.slots.perEndpoint >> strikes);
  }

  #count(endpoint: EndpointState, by: number): void {
    const { org, host, route } = endpoint;
    this.#inFlight += by;
    org.inFlight += by;
    host.inFlight += by;
    endpoint.inFlight += by;
    const atHost = (host.byOrg.get(route.org) ?? 0) + by;
    if (atHost > 0) host.byOrg.set(route.org, atHost);
    else host.byOrg.delete(route.org);
  }

  #countFresh(org: OrganizationState, by: number): void {
    this.#fresh += by;
    org.fresh += by;
  }

  #endFresh(started: Started): void {
    if (!this.#freshAttempts.delete(started)) return;
    if (started.isOpening) this.#opening--;
    this.#countFresh(started.endpoint.org, -1);
  }

  /** Retires attempts that are no longer fresh. */
  #age(now: Milliseconds): void {
    for (const oldest of this.#freshAttempts) {
      if (now - oldest.at < freshFor) return;
      this.#endFresh(oldest);
    }
  }
}
