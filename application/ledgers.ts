import { ledger, type Ledger, type LedgerEvent } from '../domain/credits.js';
import { capture } from '../domain/errors.js';
import type { Command } from '../domain/events.js';
import type { OrganizationId, StreamName, Uuid } from '../domain/ids.js';
import { positionOf, type WriteDeps } from './execute.js';
import { OutcomeUnknown } from './outcome.js';
import type { EventStore, StreamWrite, WriteOutcome } from './ports/event-store.js';
import type { Claim } from './ports/idempotency-store.js';
import { retry } from './retry.js';
import type { Decided, Loaded } from './streams.js';

/** One movement of credits, and what it is for. */
export interface Movement {
  readonly org: OrganizationId;
  readonly command: Command;
  /** The event's id: that of its cause (`movementId`). */
  readonly id: Uuid;
  /** The movement on a given balance: one event. Throws where the balance does not allow it. */
  readonly decide: (ledger: Ledger) => LedgerEvent;
  /**
   * A revision of the ledger from before the cause could exist. Absent where this call is what brings the
   * cause into being. (money.md, rule 2)
   */
  readonly since?: number;
  /** Written with the movement: in the same commit on an atomic store, after it on any other. */
  readonly with?: readonly StreamWrite[];
  /** The claim that becomes completed in the same commit, where the store can. */
  readonly completing?: Claim;
}

export type Moved =
  /** The credit moved. `outcomes` are those of the movement's own writes; `skipped` ones were not tried. */
  | { readonly kind: 'moved'; readonly position: bigint; readonly outcomes: readonly WriteOutcome[] }
  /** Atomic stores only: one of the movement's own writes met a conflict, and no credit moved. */
  | { readonly kind: 'conflict' };

interface Waiting extends Movement {
  /**
   * The last revision of the ledger that certainly comes before the movement; undefined until the first try.
   */
  before: number | undefined;
  /** An append with this movement was sent out, and nobody knows what became of it. */
  doubtful: boolean;
  resolve: (moved: Moved) => void;
  reject: (error: unknown) => void;
}

interface Prepared {
  readonly entry: Waiting;
  readonly event: LedgerEvent;
}

/**
 * So many movements share an append, or half of those that wait. All of them together would go through the
 * service in step, each part of it idle while another works: with 64 clients two groups that take turns were
 * a fifth faster than one.
 */
const fewestTogether = 32;
const mostTogether = 256;

/**
 * Moves credits. One write is in flight per organization; movements that arrive meanwhile are folded into the
 * next append, each with its own cause. After a conflict or a lost answer the ledger is read from before the
 * cause, and searched for it, before anything is decided again. (money.md, rule 2)
 */
export class Ledgers {
  readonly #waiting = new Map<OrganizationId, Waiting[]>();

  constructor(private readonly deps: WriteDeps) {}

  /**
   * Throws what `decide` throws, EventStoreUnavailable and TooContended where no credit moved,
   * OutcomeUnknown.
   */
  move(movement: Movement): Promise<Moved> {
    return new Promise((resolve, reject) => {
      const entry: Waiting = Object.assign(
        { before: movement.since, doubtful: false, resolve, reject },
        movement,
      );
      const queue = this.#waiting.get(movement.org);
      if (queue !== undefined) {
        queue.push(entry);
        return;
      }
      const fresh = [entry];
      this.#waiting.set(movement.org, fresh);
      void this.#drain(movement.org, fresh);
    });
  }

  async #drain(org: OrganizationId, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const group = takeDisjoint(queue);
      try {
        await this.#settle(org, group);
      } catch (error) {
        for (const entry of group)
          entry.reject(entry.doubtful ? new OutcomeUnknown(entry.command.id) : error);
      }
    }
    this.#waiting.delete(org);
  }

  /** Appends a group until each of its movements is moved or refused. */
  async #settle(org: OrganizationId, group: readonly Waiting[]): Promise<void> {
    let open = group;
    await retry(this.deps, async () => {
      const at = await this.deps.streams.load(ledger, org);
      open = await this.#withoutMoved(at, open);
      for (const entry of open) entry.before ??= at.revision;
      const prepared = prepare(at.state, open);
      open = prepared.length === 0 ? [] : await this.#append(at, prepared);
      return open.length === 0 ? 'settled' : null;
    });
  }

  /** Resolves the movements that stand in the ledger already, and answers the others. (money.md, rule 2) */
  async #withoutMoved(at: Loaded<Ledger>, open: readonly Waiting[]): Promise<readonly Waiting[]> {
    const from = Math.min(...open.map(({ before = at.revision }) => before));
    if (from >= at.revision) return open;
    const since = new Map(
      (await this.deps.store.readStream(at.stream, from + 1)).map((stored) => [stored.id, stored]),
    );
    const left: Waiting[] = [];
    for (const entry of open) {
      const stored = since.get(entry.id);
      if (stored === undefined) left.push(entry);
      else
        entry.resolve({
          kind: 'moved',
          position: await positionOf(this.deps, stored),
          outcomes: (entry.with ?? []).map(() => ({ kind: 'skipped' })),
        });
    }
    return left;
  }

  /**
   * One append of the prepared movements; answers those that have to be tried again. A return has the same
   * event id whoever brings it: where another process was first, the store calls the append a repeat and
   * keeps that process's bytes. So what was appended is read back then, for the next event is chained to its
   * hash.
   */
  async #append(at: Loaded<Ledger>, prepared: readonly Prepared[]): Promise<readonly Waiting[]> {
    const { store, streams } = this.deps;
    const decided: Decided<LedgerEvent>[] = prepared.map(({ entry, event }) => ({
      event,
      command: entry.command,
      id: entry.id,
    }));
    const movement = streams.write(ledger, at, decided);
    const together = store.atomic ? prepared.flatMap(({ entry }) => entry.with ?? []) : [];
    const completing = store.atomic ? prepared.flatMap(({ entry }) => entry.completing ?? []) : [];
    const [moved, ...others] = await store.append([movement, ...together], completing);
    const outcomesOf = store.atomic ? splitLike(prepared, others) : [];
    if (moved?.kind === 'appended') {
      if (prepared.every(({ entry }) => entry.since === undefined))
        streams.appended(ledger, at, decided, movement);
      prepared.forEach(({ entry }, index) => {
        const outcomes = outcomesOf[index];
        if (outcomes === undefined) void this.#appendPaidFor(entry, moved.position);
        else entry.resolve({ kind: 'moved', position: lastPosition(moved.position, outcomes), outcomes });
      });
      return [];
    }
    const again: Waiting[] = [];
    if (moved?.kind === 'unknown') for (const { entry } of prepared) entry.doubtful = true;
    prepared.forEach(({ entry }, index) => {
      if ((outcomesOf[index] ?? []).some(({ kind }) => kind === 'conflict'))
        entry.resolve({ kind: 'conflict' });
      else again.push(entry);
    });
    return again;
  }

  /**
   * Where a store writes one stream at a time: what a movement paid for, on its own, so that a write that
   * fails or takes long holds up neither the others of its group nor the ledger. Never rejects.
   */
  async #appendPaidFor({ with: writes = [], resolve }: Waiting, position: bigint): Promise<void> {
    const outcomes = await appendOrUnknown(this.deps.store, writes);
    resolve({ kind: 'moved', position: lastPosition(position, outcomes), outcomes });
  }
}

/** The movements are stored: whatever happens to what they paid for, that must not be lost. */
const appendOrUnknown = async (
  store: EventStore,
  writes: readonly StreamWrite[],
): Promise<readonly WriteOutcome[]> => {
  if (writes.length === 0) return [];
  try {
    return await store.append(writes);
  } catch {
    return writes.map(() => ({ kind: 'unknown' }));
  }
};

/**
 * Takes movements from the front of the queue whose writes touch different streams. A cause stands in a group
 * once: the second finds the first. (money.md, rule 1)
 */
const takeDisjoint = (queue: Waiting[]): Waiting[] => {
  const touched = new Set<StreamName | Uuid>();
  const most = Math.min(mostTogether, Math.max(fewestTogether, Math.ceil(queue.length / 2)));
  let count = 0;
  for (const entry of queue) {
    const touches = [entry.id, ...(entry.with ?? []).map(({ stream }) => stream)];
    if (count === most || touches.some((name) => touched.has(name))) break;
    for (const name of touches) touched.add(name);
    count++;
  }
  return queue.splice(0, count);
};

/** Decides the movements one after the other on a running balance; refuses those that it does not allow. */
const prepare = (state: Ledger, open: readonly Waiting[]): Prepared[] => {
  let running = state;
  const prepared: Prepared[] = [];
  for (const entry of open) {
    const decision = capture(() => entry.decide(running));
    if ('refusal' in decision) {
      entry.reject(decision.refusal);
      continue;
    }
    prepared.push({ entry, event: decision.value });
    running = ledger.evolve(running, decision.value);
  }
  return prepared;
};

const splitLike = (
  prepared: readonly Prepared[],
  outcomes: readonly WriteOutcome[],
): (readonly WriteOutcome[])[] => {
  let from = 0;
  return prepared.map(({ entry }) => outcomes.slice(from, (from += entry.with?.length ?? 0)));
};

const lastPosition = (moved: bigint, outcomes: readonly WriteOutcome[]): bigint =>
  outcomes.reduce(
    (last, outcome) => (outcome.kind === 'appended' && outcome.position > last ? outcome.position : last),
    moved,
  );
