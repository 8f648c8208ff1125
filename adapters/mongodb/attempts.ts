import type { Filter } from 'mongodb';
import {
  noClaims,
  type DeliveryAttempt,
  type AttemptOutcome,
  type DeliveryClaim,
  type EndpointClaims,
  type DeliveryId,
  type Recorded,
  type DeliveryEndpoint,
} from '../../application/ports/deliveries.js';
import type { Clock, Entropy } from '../../application/ports/system.js';
import type { Milliseconds, Uuid } from '../../domain/ids.js';
import { countAttempts, countingOf, readEndpoints } from './attempt-counts.js';
import type { MongoDatabase } from './database.js';
import {
  changed,
  deliveryRows,
  targetOf,
  targetRows,
  trippedOf,
  unclaimed,
  type DeliveryRow,
  type EndpointRow,
  type Uncounted,
} from './delivery-rows.js';
import { Batcher } from './batcher.js';

/**
 * A claim that was neither recorded nor released for so long after its attempt must have ended is another's
 * to take: its process has died.
 */
const usuallyRecordedWithin: Milliseconds = 50_000;
const usualAttemptTime: Milliseconds = 10_000;
/**
 * A claim that has not started for so long is given up: whoever closes an endpoint waits for no more.
 * (architecture: Delete)
 */
export const startsWithin: Milliseconds = 1_000;
/** Attempts that are recorded with one write. */
const recordedTogether = 200;
/** Deliveries that are looked for at once: those that there is no room for yet are not looked for again. */
const page = 100;

interface Recording {
  readonly claim: DeliveryClaim;
  readonly attempt: DeliveryAttempt;
  readonly outcome: AttemptOutcome;
  readonly uncounted: Uncounted;
}

interface Due {
  readonly _id: string;
  readonly due: Milliseconds;
}

/** Deliveries of an endpoint that are due, oldest first, and when the one after them is. */
interface Candidates {
  readonly endpoint: Uuid;
  readonly ids: readonly string[];
  readonly next: Milliseconds | null;
}

interface Startable {
  readonly claim: string;
  readonly until: Milliseconds;
}

type Targets = ReadonlyMap<string, EndpointRow>;

interface Taken {
  readonly rows: ReadonlyMap<string, DeliveryRow>;
  readonly targets: Targets;
  readonly checked: Milliseconds;
}

export interface MongoAttemptsOptions {
  readonly database: MongoDatabase;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** The longest that an attempt takes. */
  readonly attemptTime?: Milliseconds;
  /** How long after that it is waited for, before the claim is another's. */
  readonly recordedWithin?: Milliseconds;
}

const claimOf = (
  { _id, claim, type, event, card, body, occurredAt, made, allowed }: DeliveryRow,
  target: DeliveryEndpoint,
): DeliveryClaim => ({
  id: claim ?? '',
  delivery: _id as DeliveryId,
  type,
  event,
  card,
  body,
  occurredAt,
  number: made + 1,
  allowed,
  target,
});

/**
 * Claims deliveries and records attempts, many at a time: a round of claims asks the server three times in a
 * row and so does a lot of recorded attempts, however many they are. A claim is compared and set row by row,
 * and what was claimed is read after that.
 */
export class MongoAttempts {
  readonly #database: MongoDatabase;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #claimLasts: Milliseconds;
  readonly #recordings: Batcher<Recording, Recorded>;
  /** What was found due and not claimed for want of room. Others may have claimed it since. */
  readonly #backlog = new Map<Uuid, readonly Due[]>();
  /** Claims whose answer was lost, or that could not be given back, and their rows: nobody works on them. */
  readonly #doubtful = new Map<string, readonly string[]>();
  /**
   * Deliveries whose attempts this process has yet to record: it claims none of them again, also where its
   * claim is over because the server was away for long.
   */
  readonly #held = new Set<string>();
  /** Claims of this process that have not started: until when they may, by endpoint and delivery. */
  readonly #startable = new Map<Uuid, Map<DeliveryId, Startable>>();

  constructor({
    database,
    clock,
    entropy,
    attemptTime = usualAttemptTime,
    recordedWithin = usuallyRecordedWithin,
  }: MongoAttemptsOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#entropy = entropy;
    this.#claimLasts = attemptTime + recordedWithin;
    this.#recordings = new Batcher(recordedTogether, (recordings) => this.#recordAll(recordings));
  }

  async claim(
    limits: ReadonlyMap<Uuid, number>,
    now: Milliseconds,
  ): Promise<ReadonlyMap<Uuid, EndpointClaims>> {
    await this.#giveBackDoubtful();
    const began = this.#clock.now();
    const claims = new Map<Uuid, EndpointClaims>([...limits.keys()].map((endpoint) => [endpoint, noClaims]));
    const [open, found] = await Promise.all([
      this.#openTargets([...limits.keys()]),
      Promise.all([...limits].map(([endpoint, limit]) => this.#candidates(endpoint, limit, now, began))),
    ]);
    const candidates = found.filter(({ endpoint }) => open.has(endpoint));
    const { rows, targets, checked } = await this.#take(candidates, open, now, began);
    for (const { endpoint, ids, next } of candidates) {
      const target = targets.get(endpoint);
      if (target === undefined) continue;
      const claimed = ids.flatMap((id) => rows.get(id) ?? []).map((row) => claimOf(row, targetOf(target)));
      const startable = this.#startable.get(endpoint) ?? new Map<DeliveryId, Startable>();
      this.#startable.set(endpoint, startable);
      for (const { id, delivery } of claimed) {
        startable.set(delivery, { claim: id, until: checked + startsWithin });
        this.#held.add(delivery);
      }
      claims.set(endpoint, { claimed, next });
    }
    return claims;
  }

  mayStart({ id, delivery, target }: DeliveryClaim): boolean {
    const startable = this.#startable.get(target.endpoint)?.get(delivery);
    return startable?.claim === id && this.#clock.now() < startable.until;
  }

  /** Lets no claim of this process on the endpoint start any more. */
  revoke(endpoint: Uuid): void {
    this.#backlog.delete(endpoint);
    this.#startable.delete(endpoint);
  }

  async release({ id, delivery, target }: DeliveryClaim): Promise<void> {
    this.#startable.get(target.endpoint)?.delete(delivery);
    this.#held.delete(delivery);
    await this.#giveBackOrDoubt(id, [delivery]);
  }

  async record(
    claim: DeliveryClaim,
    attempt: DeliveryAttempt,
    outcome: AttemptOutcome,
    disableAfter: number,
  ): Promise<Recorded> {
    const { id, delivery, number, target } = claim;
    this.#startable.get(target.endpoint)?.delete(delivery);
    const failure = outcome.status === 'delivered' ? null : (attempt.error ?? `HTTP ${attempt.httpStatus}`);
    const uncounted = {
      attempt: `${delivery} ${number}`,
      claim: id,
      at: attempt.at,
      failure,
      enabledAt: target.enabledAt,
      disableAfter,
    };
    const recorded = await this.#recordings.ask({ claim, attempt, outcome, uncounted });
    this.#held.delete(delivery);
    return recorded;
  }

  /** What is due of one endpoint: by itself, so that one with many rows hides no other. */
  async #candidates(
    endpoint: Uuid,
    room: number,
    now: Milliseconds,
    began: Milliseconds,
  ): Promise<Candidates> {
    const known = this.#backlog.get(endpoint) ?? [];
    this.#backlog.delete(endpoint);
    // What has been made since the backlog was found comes after it: where it ends, the next look is due at
    // once.
    const rows = known.length > 0 ? known : await this.#waiting(endpoint, Math.max(page, room + 1), began);
    const free = rows.filter(({ _id }) => !this.#held.has(_id));
    const due = free.filter((row) => row.due <= now);
    if (due.length > room) this.#backlog.set(endpoint, due.slice(room));
    const ids = due.slice(0, room).map(({ _id }) => _id);
    return { endpoint, ids, next: free[ids.length]?.due ?? (known.length > 0 ? now : null) };
  }

  /** The first of an endpoint's pending rows that nobody has claimed. */
  async #waiting(endpoint: Uuid, limit: number, began: Milliseconds): Promise<readonly Due[]> {
    const deliveries = await deliveryRows(this.#database);
    const rows = await deliveries
      .find({ endpoint: { $eq: endpoint as string }, status: 'pending', claimedUntil: { $lte: began } })
      .sort({ due: 1, seq: 1 })
      .limit(limit)
      .project<Pick<DeliveryRow, '_id' | 'due'>>({ due: 1 })
      .toArray();
    return rows.map(({ _id, due }) => ({ _id, due: due ?? 0 }));
  }

  async #take(
    candidates: readonly Candidates[],
    open: Targets,
    now: Milliseconds,
    began: Milliseconds,
  ): Promise<Taken> {
    const ids = candidates.flatMap((of) => of.ids);
    if (ids.length === 0) return { rows: new Map(), targets: open, checked: began };
    const claim = this.#entropy.uuid();
    try {
      return await this.#takeAs(claim, ids, candidates, now, began);
    } catch (error) {
      this.#doubt(claim, ids);
      throw error;
    }
  }

  /**
   * Claims those of the candidates that nobody else has: the rows and the targets as they are after that, and
   * when it was after that.
   */
  async #takeAs(
    claim: string,
    ids: readonly string[],
    candidates: readonly Candidates[],
    now: Milliseconds,
    began: Milliseconds,
  ): Promise<Taken> {
    const deliveries = await deliveryRows(this.#database);
    const free = {
      _id: { $in: [...ids] },
      status: 'pending' as const,
      due: { $lte: now },
      claimedUntil: { $lte: began },
    };
    await deliveries.updateMany(free, { $set: { claim, claimedUntil: began + this.#claimLasts } });
    const checked = this.#clock.now();
    const [taken, targets] = await Promise.all([
      deliveries.find({ _id: { $in: [...ids] }, claim: { $eq: claim } }).toArray(),
      // An endpoint may have been switched off or closed since: nothing may start then. Whoever closes it
      // from now on sees the claims and waits.
      this.#openTargets(candidates.map(({ endpoint }) => endpoint)),
    ]);
    await countAttempts(this.#database, taken.flatMap(countingOf));
    const shut = taken.filter(({ endpoint }) => !targets.has(endpoint)).map(({ _id }) => _id);
    await this.#giveBack(claim, shut);
    return { rows: new Map(taken.map((row) => [row._id, row])), targets, checked };
  }

  #doubt(claim: string, ids: readonly string[]): void {
    this.#doubtful.set(claim, [...(this.#doubtful.get(claim) ?? []), ...ids]);
  }

  /** What nobody works on is free again as soon as the server can be asked, not when the claim is over. */
  async #giveBackDoubtful(): Promise<void> {
    for (const [claim, ids] of this.#doubtful) {
      this.#doubtful.delete(claim);
      await this.#giveBackOrDoubt(claim, ids);
    }
  }

  async #giveBackOrDoubt(claim: string, ids: readonly string[]): Promise<void> {
    try {
      await this.#giveBack(claim, ids);
    } catch (error) {
      this.#doubt(claim, ids);
      throw error;
    }
  }

  async #giveBack(claim: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const deliveries = await deliveryRows(this.#database);
    await deliveries.updateMany({ _id: { $in: [...ids] }, claim: { $eq: claim } }, { $set: unclaimed });
  }

  async #openTargets(endpoints: readonly string[]): Promise<Targets> {
    if (endpoints.length === 0) return new Map();
    const open = { _id: { $in: [...endpoints] }, state: 'open' as const };
    const rows = await targetRows(this.#database)
      .find(open, { projection: { counted: 0 } })
      .toArray();
    return new Map(rows.map((row) => [row._id, row]));
  }

  async #recordAll(recordings: readonly Recording[]): Promise<readonly Recorded[]> {
    const once = [
      ...new Map(
        recordings.map((recording) => [`${recording.claim.id} ${recording.claim.delivery}`, recording]),
      ).values(),
    ];
    const asked = once.map(({ claim }) => claim.target.endpoint);
    const [ended, endpoints] = await Promise.all([
      this.#write(once, ({ status, ...more }) => {
        const due = 'due' in more ? more.due : null;
        return status === 'delivered'
          ? { filter: {}, set: { status, due, dropReason: null } }
          : { filter: { status: 'pending' }, set: { status, due } };
      }),
      readEndpoints(this.#database, asked),
    ]);
    // What was dropped meanwhile stays dropped; the attempt is part of its history.
    const left = once.filter(
      (recording) => recording.outcome.status !== 'delivered' && !ended.includes(recording),
    );
    const kept = await this.#write(left, () => ({ filter: { status: { $ne: 'pending' } }, set: {} }));
    const written = new Set([...ended, ...kept]);
    const countings = [...written].map(({ claim, uncounted }) => ({
      delivery: claim.delivery,
      endpoint: claim.target.endpoint,
      uncounted,
    }));
    const targets = await countAttempts(this.#database, countings, endpoints);
    return recordings.map((recording) => {
      const row = targets.get(recording.claim.target.endpoint);
      const recorded = written.has(recording);
      return { recorded, tripped: recorded && row?.state === 'tripped' ? trippedOf(row) : null };
    });
  }

  /**
   * Writes attempts into their deliveries; answers those whose claim held. One that was written before, and
   * whose answer was lost, is found by its note.
   */
  async #write(
    recordings: readonly Recording[],
    change: (outcome: AttemptOutcome) => {
      readonly filter: Filter<DeliveryRow>;
      readonly set: Partial<DeliveryRow>;
    },
  ): Promise<readonly Recording[]> {
    if (recordings.length === 0) return [];
    const deliveries = await deliveryRows(this.#database);
    const now = this.#clock.now();
    const writes = recordings.map(({ claim: { id, delivery, number }, attempt, outcome, uncounted }) => {
      const { filter, set } = change(outcome);
      const { at, httpStatus, error, duration, body } = attempt;
      const held = { ...filter, _id: { $eq: delivery as string }, claim: { $eq: id }, made: number - 1 };
      const update = changed('attempted', { ...set, ...unclaimed, made: number, uncounted }, now);
      return {
        updateOne: {
          filter: held,
          update: { ...update, $push: { attempts: { at, httpStatus, error, duration, body } } },
        },
      };
    });
    const { matchedCount } = await deliveries.bulkWrite(writes, { ordered: false });
    if (matchedCount === recordings.length) return recordings;
    const ids = recordings.map(({ claim }) => claim.delivery as string);
    const rows = await deliveries
      .find({ _id: { $in: ids } })
      .project<Pick<DeliveryRow, '_id' | 'uncounted'>>({ uncounted: 1 })
      .toArray();
    const claims = new Map(rows.map(({ _id, uncounted }) => [_id, uncounted?.claim]));
    return recordings.filter(({ claim }) => claims.get(claim.delivery) === claim.id);
  }
}
