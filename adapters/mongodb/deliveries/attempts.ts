import type { Filter, UpdateFilter } from 'mongodb';
import {
  noClaims,
  type AttemptOutcome,
  type DeliveryClaim,
  type DeliveryClaims,
  type EndpointClaims,
  type Recorded,
} from '../../../application/ports/delivery-claims.js';
import {
  attemptsKept,
  type DeliveryAttempt,
  type DeliveryId,
} from '../../../application/ports/delivery-log.js';
import type { DeliveryEndpoint } from '../../../application/ports/endpoint-gates.js';
import { maxDrift, type Clock, type Entropy } from '../../../application/ports/system.js';
import { deliveryEndpointOf, trippedOf } from '../../../application/webhooks/stored-endpoints.js';
import { erasedPayload } from '../../../domain/delivery-payload.js';
import type { Milliseconds, Uuid } from '../../../domain/ids.js';
import { countAttempts, countLeftovers, uncountedOf, readEndpoints } from './attempt-counts.js';
import { claimed } from '../client/indexes.js';
import { earliestOf } from './delivery-endpoints.js';
import type { MongoDatabase } from '../client/database.js';
import { findAll } from '../client/documents.js';
import {
  changed,
  deliveryRows,
  endpointRows,
  storedEndpointOf,
  unclaimed,
  type DeliveryRow,
  type EndpointRow,
  type Uncounted,
} from './delivery-rows.js';
import type { MongoDeliveryWatch } from './delivery-watch.js';
import { eraseRows, erasedAmong } from './erased-cards.js';
import { Batcher } from '../client/batcher.js';

/**
 * How long a claim outlasts the longest attempt if it is neither recorded nor released. Then its process has
 * died, and another may claim the delivery.
 */
const usualRecordedWithin: Milliseconds = 50_000;
const usualAttemptTime: Milliseconds = 10_000;
/**
 * A claim that has not started within this time may not start any more. So deleting an endpoint waits no
 * longer than this. (docs/architecture.md#delivery-of-webhooks)
 */
export const startsWithin: Milliseconds = 1_000;
/** How much longer than twice its own another process's claims may last: settings differ during a rollout. */
const claimDifference: Milliseconds = 60_000;
/** How many attempts one write records at most. */
const recordBatch = 200;
/** Due deliveries that one query reads: the ones without a free slot yet need no second query. */
const lookahead = 100;
/** How many rows with a time that is too far ahead one query reads. */
const shortenedAtOnce = 1_000;

interface Recording {
  readonly claim: DeliveryClaim;
  readonly attempt: DeliveryAttempt;
  readonly outcome: AttemptOutcome;
  readonly uncounted: Uncounted;
}

type Due = Pick<DeliveryRow, '_id' | 'card'> & { readonly due: Milliseconds };

/** Due deliveries of an endpoint, oldest first, and when the next one after them is due. */
interface Candidates {
  readonly endpoint: Uuid;
  readonly due: readonly Due[];
  readonly next: Milliseconds | null;
}

interface Startable {
  readonly claim: string;
  readonly until: Milliseconds;
  readonly drift: Milliseconds;
}

export interface MongoAttemptsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** How long an attempt takes at most. */
  readonly attemptTime?: Milliseconds;
  /** How long after that an attempt may still be recorded, before another process may claim the delivery. */
  readonly recordedWithin?: Milliseconds;
  readonly keep?: Milliseconds;
}

/** Unless another time is given. */
export const usualKeep: Milliseconds = 30 * 24 * 60 * 60 * 1000;

const claimOf = (
  { _id, claim, type, event, card, body, occurredAt, traceparent, made, allowed }: DeliveryRow,
  endpoint: DeliveryEndpoint,
): DeliveryClaim => ({
  id: claim ?? '',
  delivery: _id,
  type,
  event,
  card,
  body,
  occurredAt,
  ...(traceparent !== undefined && { traceparent }),
  number: made + 1,
  allowed,
  endpoint,
});

/**
 * Claims deliveries and records attempts, many at a time: however many there are, a round of claims takes
 * three requests one after the other, and so does a batch of recorded attempts. Each row is claimed by a
 * compare-and-set; which ones were is read afterwards. An attempt's result for its endpoint is noted in the
 * delivery until it is counted, and counted once: a crash between the two neither loses nor doubles a count.
 */
export class MongoAttempts implements DeliveryClaims {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #claimLasts: Milliseconds;
  readonly #recordings = new Batcher<Recording, Recorded>(recordBatch, (some) => this.#recordAll(some));
  /** Deliveries that were found due when no slot was free. Others may have claimed them since. */
  readonly #backlog = new Map<Uuid, readonly Due[]>();
  /**
   * Claims without a worker, with their rows: the response to the claim was lost, or they could not be
   * released.
   */
  readonly #uncertain = new Map<string, readonly DeliveryId[]>();
  /**
   * Deliveries whose attempts this process has yet to record. It claims none of them again, even if its claim
   * has ended because the server was away for long.
   */
  readonly #held = new Set<DeliveryId>();
  /** Until when the claims of this process that have not started may start, by endpoint and delivery. */
  readonly #startable = new Map<Uuid, Map<DeliveryId, Startable>>();

  constructor(
    private readonly options: MongoAttemptsOptions,
    private readonly watch: MongoDeliveryWatch,
  ) {
    const { database, clock, attemptTime = usualAttemptTime, recordedWithin = usualRecordedWithin } = options;
    this.#database = database;
    this.#clock = clock;
    this.#claimLasts = attemptTime + recordedWithin;
  }

  readonly claim: DeliveryClaims['claim'] = async (limits, now) => {
    await this.#unclaimUncertain();
    const [began, drift] = [this.#clock.now(), this.#driftNow()];
    const claims = new Map<Uuid, EndpointClaims>([...limits.keys()].map((endpoint) => [endpoint, noClaims]));
    const [open, found] = await Promise.all([
      this.#openEndpoints([...limits.keys()]),
      Promise.all([...limits].map(([endpoint, limit]) => this.#candidates(endpoint, limit, now, began))),
    ]);
    const candidates = found.filter(({ endpoint }) => open.has(endpoint));
    const { rows, open: stillOpen, startableUntil } = await this.#claimFree(candidates, open, now, began);
    for (const { endpoint, due, next } of found) {
      const row = stillOpen.get(endpoint);
      if (row === undefined) {
        // The first of them stay unclaimed, and would come after the others.
        this.#backlog.delete(endpoint);
        continue;
      }
      const to = deliveryEndpointOf(storedEndpointOf(row));
      const claimed = due.flatMap(({ _id }) => rows.get(_id) ?? []).map((row) => claimOf(row, to));
      const startable = this.#startable.get(endpoint) ?? new Map<DeliveryId, Startable>();
      this.#startable.set(endpoint, startable);
      for (const { id, delivery } of claimed) {
        startable.set(delivery, { claim: id, until: startableUntil, drift });
        this.#held.add(delivery);
      }
      claims.set(endpoint, { claimed, next });
    }
    return claims;
  };

  async dueTimes(): Promise<ReadonlyMap<Uuid, Milliseconds>> {
    await countLeftovers(this.#database);
    const first = await earliestOf(this.#database);
    return new Map([...first].map(([endpoint, { claimable }]) => [endpoint, claimable]));
  }

  /**
   * Claims that end later than any may were made before the clock was set back: each lasts as if made now,
   * and an attempt that is under way can still be recorded.
   */
  async hasten(clock: Pick<Clock, 'now'>, within: Milliseconds): Promise<void> {
    const toDue = (now: Milliseconds) => changed('changed', { due: now }, now);
    await this.#shorten({ status: 'pending' }, 'due', { clock, within }, toDue);
    // Naming the endpoint lets the server use the index of claimed rows.
    const claimedRows = { endpoint: { $gt: '' as Uuid } };
    const longest = { clock: this.#clock, within: 2 * this.#claimLasts + claimDifference };
    const toClaim = (now: Milliseconds) => ({ $set: { claimedUntil: now + this.#claimLasts } });
    await this.#shorten(claimedRows, 'claimedUntil', longest, toClaim);
  }

  /**
   * Changes rows with a time that is too far ahead. The clock is read again once they are known: after a call
   * that took minutes, later times are right.
   */
  async #shorten(
    rows: Filter<DeliveryRow>,
    time: 'due' | 'claimedUntil',
    { clock, within }: { readonly clock: Pick<Clock, 'now'>; readonly within: Milliseconds },
    change: (now: Milliseconds) => UpdateFilter<DeliveryRow>,
  ): Promise<void> {
    const deliveries = await deliveryRows(this.#database);
    const options = { projection: { [time]: 1 }, limit: shortenedAtOnce };
    let found: readonly DeliveryRow[];
    do {
      found = await findAll(deliveries, { ...rows, [time]: { $gt: clock.now() + within } }, options);
      // After this machine was suspended, its time is wrong until processes have agreed on the time again.
      if (this.#clock.isAgreed?.() === false) return;
      const now = clock.now();
      const wrong = found.filter((row) => (row[time] ?? 0) > now + within);
      const updates = wrong.map((row) => ({
        updateOne: { filter: { _id: { $eq: row._id }, [time]: { $eq: row[time] } }, update: change(now) },
      }));
      if (updates.length > 0) await deliveries.bulkWrite(updates, { ordered: false });
    } while (found.length === shortenedAtOnce);
  }

  mayStart({ id, delivery, endpoint }: DeliveryClaim): boolean {
    const startable = this.#startable.get(endpoint.endpoint)?.get(delivery);
    if (startable?.claim !== id || this.#clock.monotonic() >= startable.until) return false;
    // While a machine is suspended, its monotonic clock stands still.
    return Math.abs(this.#driftNow() - startable.drift) < maxDrift;
  }

  #driftNow(): Milliseconds {
    return this.#clock.drift?.() ?? 0;
  }

  /** No claim of this process on the endpoint may start any more. */
  revoke(endpoint: Uuid): void {
    this.#backlog.delete(endpoint);
    this.#startable.delete(endpoint);
  }

  /** Returns when no attempt may start any more under a claim that any process has on the deliveries now. */
  async revokeClaims(which: Filter<DeliveryRow>): Promise<void> {
    const deliveries = await deliveryRows(this.#database);
    const rows = await findAll(deliveries, { ...which, ...claimed }, { projection: { endpoint: 1 } });
    for (const { _id, endpoint } of rows) this.#startable.get(endpoint)?.delete(_id);
    // Attempts of other processes start soon or never.
    if (rows.length > 0) await this.#clock.sleep(startsWithin);
  }

  async release({ id, delivery, endpoint }: DeliveryClaim): Promise<void> {
    this.#startable.get(endpoint.endpoint)?.delete(delivery);
    this.#held.delete(delivery);
    await this.#unclaim(id, [delivery]);
  }

  readonly record: DeliveryClaims['record'] = async (claim, attempt, outcome, disableAfter) => {
    const { id, delivery, endpoint } = claim;
    this.#startable.get(endpoint.endpoint)?.delete(delivery);
    const failure = outcome.status === 'delivered' ? null : (attempt.error ?? `HTTP ${attempt.httpStatus}`);
    const uncounted = {
      attempt: `${delivery} ${id}`,
      claim: id,
      at: attempt.at,
      failure,
      enabledAt: endpoint.enabledAt,
      disableAfter,
    };
    const recorded = await this.#recordings.add({ claim, attempt, outcome, uncounted });
    this.#held.delete(delivery);
    if (recorded.recorded) await this.watch.announce([delivery]);
    return recorded;
  };

  /** The due deliveries of one endpoint. Each is asked for by itself: one with many rows hides no other. */
  async #candidates(
    endpoint: Uuid,
    limit: number,
    now: Milliseconds,
    began: Milliseconds,
  ): Promise<Candidates> {
    const known = this.#backlog.get(endpoint) ?? [];
    this.#backlog.delete(endpoint);
    // Deliveries made since the backlog was read come after it: when it is used up, look again at once.
    const rows =
      known.length > 0 ? known : await this.#unclaimed(endpoint, Math.max(lookahead, limit + 1), began);
    const claimable = rows.filter(({ _id }) => !this.#held.has(_id));
    const due = claimable.filter((row) => row.due <= now);
    if (due.length > limit) this.#backlog.set(endpoint, due.slice(limit));
    const first = due.slice(0, limit);
    const next = claimable[first.length]?.due ?? (known.length > 0 ? now : null);
    return { endpoint, due: first, next };
  }

  /** The first pending, unclaimed rows of an endpoint. */
  async #unclaimed(endpoint: Uuid, limit: number, began: Milliseconds): Promise<readonly Due[]> {
    const deliveries = await deliveryRows(this.#database);
    const of = { endpoint: { $eq: endpoint } };
    const free = { ...of, status: 'pending' as const, claimedUntil: { $lte: began } };
    const options = { sort: { due: 1, seq: 1 }, limit, projection: { card: 1, due: 1 } } as const;
    const rows = await findAll(deliveries, free, options);
    return rows.map(({ _id, card, due }) => ({ _id, card, due: due ?? 0 }));
  }

  /**
   * Claims the candidates that are still unclaimed. Returns the rows and the open endpoints as they were read
   * after the claim, and until when attempts may start, by the monotonic clock.
   */
  async #claimFree(
    candidates: readonly Candidates[],
    open: ReadonlyMap<Uuid, EndpointRow>,
    now: Milliseconds,
    began: Milliseconds,
  ) {
    const due = candidates.flatMap((of) => of.due);
    if (due.length === 0) return { rows: new Map<DeliveryId, DeliveryRow>(), open, startableUntil: 0 };
    const ids = due.map(({ _id }) => _id);
    const claim = this.options.entropy.uuid();
    try {
      const deliveries = await deliveryRows(this.#database);
      const free = { status: 'pending' as const, due: { $lte: now }, claimedUntil: { $lte: began } };
      const mark = { claim, claimedUntil: began + this.#claimLasts };
      await deliveries.updateMany({ _id: { $in: ids }, ...free }, { $set: mark });
      const startableUntil = this.#clock.monotonic() + startsWithin;
      const [rows, erased, stillOpen] = await Promise.all([
        findAll(deliveries, { _id: { $in: ids }, claim: { $eq: claim } }),
        erasedAmong(
          this.#database,
          due.map(({ card }) => card),
        ),
        // Nothing may start for an endpoint that was disabled or deleted meanwhile. A deletion from now on
        // sees the claims and waits for them.
        this.#openEndpoints(candidates.map(({ endpoint }) => endpoint)),
      ]);
      await countAttempts(this.#database, rows.flatMap(uncountedOf));
      const notOpen = rows.filter(({ endpoint }) => !stillOpen.has(endpoint)).map(({ _id }) => _id);
      await this.#unclaim(claim, notOpen);
      // Stored at the moment of the erasure, by a process that has yet to see it or has died.
      const isLeft = (row: DeliveryRow): boolean => !row.erased && erased.has(row.card);
      const left = rows.filter(isLeft).map(({ card }) => card);
      await eraseRows(this.#database, left);
      const claimable = rows.map((row) => (isLeft(row) ? { ...row, body: erasedPayload(row.body) } : row));
      return { rows: new Map(claimable.map((row) => [row._id, row])), open: stillOpen, startableUntil };
    } catch (error) {
      this.#uncertain.set(claim, ids);
      throw error;
    }
  }

  /** Frees claims without a worker as soon as the server answers, instead of when the claim ends. */
  async #unclaimUncertain(): Promise<void> {
    for (const [claim, ids] of this.#uncertain) {
      this.#uncertain.delete(claim);
      await this.#unclaim(claim, ids);
    }
  }

  async #unclaim(claim: string, ids: readonly DeliveryId[]): Promise<void> {
    if (ids.length === 0) return;
    try {
      const deliveries = await deliveryRows(this.#database);
      await deliveries.updateMany({ _id: { $in: [...ids] }, claim: { $eq: claim } }, { $set: unclaimed });
    } catch (error) {
      this.#uncertain.set(claim, [...(this.#uncertain.get(claim) ?? []), ...ids]);
      throw error;
    }
  }

  async #openEndpoints(endpoints: readonly Uuid[]): Promise<ReadonlyMap<Uuid, EndpointRow>> {
    if (endpoints.length === 0) return new Map();
    const isOpen = { _id: { $in: [...endpoints] }, state: 'open' as const };
    const rows = await findAll(endpointRows(this.#database), isOpen);
    return new Map(rows.map((row) => [row._id, row]));
  }

  async #recordAll(recordings: readonly Recording[]): Promise<readonly Recorded[]> {
    const byAttempt = new Map(recordings.map((recording) => [recording.uncounted.attempt, recording]));
    const once = [...byAttempt.values()];
    const concerned = once.map(({ claim }) => claim.endpoint.endpoint);
    // Before the notes are written: see countAttempts.
    const endpoints = await readEndpoints(this.#database, concerned);
    const { keep = usualKeep } = this.options;
    const end = (some: readonly Recording[]) =>
      this.#write(some, ({ status, ...more }, at) => {
        const due = 'due' in more ? more.due : null;
        const removeAt = due === null ? new Date(at + keep) : null;
        return status === 'delivered'
          ? { filter: {}, set: { status, due, removeAt, dropReason: null } }
          : { filter: { status: 'pending' }, set: { status, due, removeAt } };
      });
    const ended = await end(once);
    // A delivery that was dropped meanwhile stays dropped; the attempt becomes part of its history.
    const left = once.filter(
      (recording) => recording.outcome.status !== 'delivered' && !ended.includes(recording),
    );
    const kept = await this.#write(left, () => ({ filter: { status: { $ne: 'pending' } }, set: {} }));
    // And one that was made due between these two writes goes on.
    const revived = await end(left.filter((recording) => !kept.includes(recording)));
    const written = new Set([...ended, ...kept, ...revived]);
    const uncounted = [...written].map(({ claim, uncounted }) => ({
      endpoint: claim.endpoint.endpoint,
      uncounted,
    }));
    const counted = await countAttempts(this.#database, uncounted, endpoints);
    return recordings.map((recording) => {
      const row = counted.get(recording.claim.endpoint.endpoint);
      const recorded = written.has(recording);
      const isTripped = recorded && row?.state === 'tripped';
      return { recorded, tripped: isTripped ? trippedOf(storedEndpointOf(row)) : null };
    });
  }

  /**
   * Writes attempts into their deliveries and returns the ones whose claim still held. An attempt that an
   * earlier try has written, whose response was lost, is recognized by the claim in its note. The receiver's
   * response is left out if the card is erased.
   */
  async #write(
    recordings: readonly Recording[],
    change: (
      outcome: AttemptOutcome,
      at: Milliseconds,
    ) => { readonly filter: Filter<DeliveryRow>; readonly set: Partial<DeliveryRow> },
  ): Promise<readonly Recording[]> {
    if (recordings.length === 0) return [];
    const deliveries = await deliveryRows(this.#database);
    const now = this.#clock.now();
    const writes = recordings.map(({ claim: { id, delivery, number }, attempt, outcome, uncounted }) => {
      const { filter, set } = change(outcome, attempt.at);
      const { at, httpStatus, error, duration, body } = attempt;
      const held = {
        ...filter,
        ...(body !== null && { erased: false }),
        _id: { $eq: delivery },
        claim: { $eq: id },
        made: number - 1,
      };
      const attempts = { $each: [{ at, httpStatus, error, duration, body }], $slice: -attemptsKept };
      const update = {
        ...changed('attempted', { ...set, ...unclaimed, made: number, uncounted }, now),
        $push: { attempts },
      };
      return { updateOne: { filter: held, update } };
    });
    const { matchedCount } = await deliveries.bulkWrite(writes, { ordered: false });
    if (matchedCount === recordings.length) return recordings;
    const which = { _id: { $in: recordings.map(({ claim }) => claim.delivery) } };
    const rows = await findAll(deliveries, which, { projection: { erased: 1, uncounted: 1 } });
    const byId = new Map(rows.map((row) => [row._id, row]));
    const isWritten = ({ claim }: Recording) => byId.get(claim.delivery)?.uncounted?.claim === claim.id;
    const withoutBody = recordings.flatMap((recording) => {
      const { claim, attempt } = recording;
      const isRefused = byId.get(claim.delivery)?.erased === true && attempt.body !== null;
      return isRefused && !isWritten(recording)
        ? [{ ...recording, attempt: { ...attempt, body: null } }]
        : [];
    });
    const then = new Set((await this.#write(withoutBody, change)).map(({ claim }) => claim));
    return recordings.filter((recording) => isWritten(recording) || then.has(recording.claim));
  }
}
