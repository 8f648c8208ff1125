import { ledger, ledgerStream, type Ledger, type LedgerEvent, type Movement } from '../../domain/credits.js';
import { capture } from '../../domain/errors.js';
import { parseEvent, type Command, type RecordedEvent } from '../../domain/events.js';
import type { Milliseconds, OrganizationId, StreamName, Uuid } from '../../domain/ids.js';
import { positionOf, positionOfLast, retry, OutcomeUnknown, type WriteDeps } from '../writing/execute.js';
import { LazyLru } from '../memory/lazy-lru.js';
import { streamPages, type StreamWrite, type EventStore, lastPosition } from '../ports/event-store.js';
import type { KeyClaim } from '../ports/idempotency-store.js';
import type { Decided, Loaded, Streams } from '../writing/streams.js';

/** Movements of one organization's credits that are made together: all of them or, after a refusal, none. */
export interface Transfer {
  readonly org: OrganizationId;
  readonly command: Command;
  readonly movements: readonly Movement[];
  /**
   * A revision of the ledger from before the causes could exist. Absent if this transfer itself creates them.
   * (docs/money.md, rule 2: look for your own cause before you repeat)
   */
  readonly since?: number;
  /** Written in the same commit, by a store that commits several streams at once. */
  readonly writes?: readonly StreamWrite[];
  /** The claim that becomes completed in that commit. */
  readonly completing?: KeyClaim | null;
}

export type Transferred =
  /** `position`: of the last event of all. `balance`: after the transfer's last movement. */
  | { readonly kind: 'moved'; readonly position: bigint; readonly balance: number }
  /** One of the transfer's writes met a conflict, and no credit moved. */
  | { readonly kind: 'conflict' };

interface Waiting extends Transfer {
  /** The movements that are not in the ledger yet. */
  open: readonly Movement[];
  /**
   * No movement of this transfer was found up to this revision. Undefined until an append may have stored
   * one.
   */
  before: number | undefined;
  /** An append with these movements was sent, and its outcome is unknown. */
  mayBeWritten: boolean;
  resolve: (transferred: Transferred) => void;
  reject: (error: unknown) => void;
}

interface Prepared {
  readonly transfer: Waiting;
  readonly decided: readonly Decided<LedgerEvent>[];
}

/**
 * One append takes half of the waiting transfers, within these bounds. If it took all of them, they would go
 * through the service in step, and each part of it would idle while another works: with 64 clients, two
 * groups that take turns were a fifth faster than one.
 */
const minGroup = 32;
const maxGroup = 256;

/** Transfers of one organization that wait to be made. */
interface Lane {
  readonly queue: Waiting[];
  onArrival: () => void;
}
const noop = (): void => undefined;

/**
 * Clients of one organization whose movements share an append get their responses together, so their next
 * requests come together, too. An append waits this long for as many as there were before, and for one less
 * after it has waited in vain: a lone client never waits. With four clients for each of 16 organizations, a
 * send took 1.3 appends instead of 1.75, and no longer.
 */
const gathersFor: Milliseconds = 10;
/** Larger groups need no waiting: an append costs each of their members next to nothing. */
const maxGroupToWaitFor = 8;
/** How many organizations' group sizes are cached. */
const maxRememberedOrganizations = 10_000;

/**
 * Moves credits. One write is in flight per organization; transfers that arrive meanwhile are folded into the
 * next append, each movement with its own cause. After a conflict or an unknown outcome, the ledger is read,
 * and searched from before the cause for its movement, before anything is decided again.
 *
 * Refusals always follow a read of the ledger.
 */
export class LedgerQueue {
  readonly #lanes = new Map<OrganizationId, Lane>();
  /** How many transfers are likely to come together; absent: one. */
  readonly #together = new LazyLru<OrganizationId, number>(maxRememberedOrganizations);

  /**
   * `savesCalls`: each call of the store takes a while, so the first try is decided on the ledger as this
   * process remembers it, which the expected revision proves, and an append waits for others. A store in the
   * same process needs neither.
   */
  constructor(
    private readonly deps: WriteDeps,
    private readonly options: {
      readonly savesCalls: boolean;
      readonly readYourWrites: { afterWrite(position: bigint): Promise<void> };
    },
  ) {}

  /**
   * Throws the errors of a movement's `decide`, EventStoreUnavailable and TooContended if no credit moved,
   * OutcomeUnknown.
   */
  move(transfer: Transfer): Promise<Transferred> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = Object.assign(
        { open: transfer.movements, before: transfer.since, mayBeWritten: false, resolve, reject },
        transfer,
      );
      const lane = this.#lanes.get(transfer.org);
      if (lane !== undefined) {
        lane.queue.push(waiting);
        lane.onArrival();
        return;
      }
      const fresh: Lane = { queue: [waiting], onArrival: noop };
      this.#lanes.set(transfer.org, fresh);
      void this.#drain(transfer.org, fresh);
    });
  }

  async #drain(org: OrganizationId, lane: Lane): Promise<void> {
    const { queue } = lane;
    while (queue.length > 0) {
      const expected = this.#expected(org);
      if (queue.length < expected) await this.#arrivalOf(expected, lane);
      this.#remember(org, Math.max(queue.length, expected - 1));
      const group = takeDisjoint(queue);
      try {
        await this.#settle(org, group);
      } catch (error) {
        for (const { reject, mayBeWritten, command } of group)
          reject(mayBeWritten ? new OutcomeUnknown(command.id) : error);
      }
    }
    this.#lanes.delete(org);
  }

  /** How many transfers the next append waits for. */
  #expected(org: OrganizationId): number {
    const together = this.#together.get(org) ?? 1;
    return together > maxGroupToWaitFor ? 1 : together;
  }

  /** Resolves when this many transfers are here, or after a timeout. */
  async #arrivalOf(expected: number, lane: Lane): Promise<void> {
    const complete = new AbortController();
    lane.onArrival = () => {
      if (lane.queue.length >= expected) complete.abort('all are here');
    };
    await this.deps.clock.sleep(gathersFor, complete.signal);
    lane.onArrival = noop;
  }

  #remember(org: OrganizationId, together: number): void {
    if (!this.options.savesCalls) return;
    if (together > 1) this.#together.set(org, together);
    else this.#together.delete(org);
  }

  /** Appends a group until each of its transfers is made or refused. */
  async #settle(org: OrganizationId, group: readonly Waiting[]): Promise<void> {
    let left = group;
    let remembered = this.options.savesCalls ? this.deps.streams.lastKnown(ledger, org) : null;
    await retry(this.deps, async () => {
      const known = remembered;
      remembered = null;
      if (known !== null && searchedFrom(left) >= known.revision) {
        const { prepared, refused } = prepare(known.state, left);
        if (refused.length === 0) {
          left = await this.#append(known, prepared);
          return left.length === 0 ? 'settled' : null;
        }
      }
      const at = await this.#look(org, left);
      left = left.filter(({ open }) => open.length > 0);
      const { prepared, refused } = prepare(at.state, left);
      for (const each of refused) void this.#refuse(at, each);
      left = prepared.length === 0 ? [] : await this.#append(at, prepared);
      return left.length === 0 ? 'settled' : null;
    });
  }

  /** A refusal tells the balance, too: reads show it then. */
  async #refuse(at: Loaded<Ledger>, { transfer, refusal }: RefusedTransfer): Promise<void> {
    const position = await positionOfLast(this.deps, at).catch(() => null);
    if (position !== null) await this.options.readYourWrites.afterWrite(position);
    transfer.reject(refusal);
  }

  /**
   * Reads the ledger, searches it for movements that it may already have, and resolves the transfers that
   * need no other. (docs/money.md, rule 2: look for your own cause before you repeat)
   */
  async #look(org: OrganizationId, transfers: readonly Waiting[]): Promise<Loaded<Ledger>> {
    const { streams } = this.deps;
    const from = searchedFrom(transfers);
    if (from === Infinity) return streams.load(ledger, org);
    const wanted = new Set(transfers.flatMap(({ open }) => open.map(({ id }) => id)));
    const stored = new Map<Uuid, RecordedEvent>();
    const at = await streams.loadAfter(ledger, org, from, (event) => {
      if (wanted.has(event.id)) stored.set(event.id, event);
    });
    for (const transfer of transfers) {
      if (transfer.before !== undefined) transfer.before = at.revision;
      const last = transfer.open.flatMap(({ id }) => stored.get(id) ?? []).at(-1);
      transfer.open = transfer.open.filter(({ id }) => !stored.has(id));
      if (last === undefined || transfer.open.length > 0) continue;
      const hasWrites = (transfer.writes ?? []).length > 0;
      // What another command did to the card moves the same credit: the writes of this one are not there.
      if (hasWrites && last.metadata.causationId !== transfer.command.id)
        transfer.resolve({ kind: 'conflict' });
      else
        transfer.resolve({
          kind: 'moved',
          // Writes of the same commit follow it.
          position: hasWrites ? (await this.deps.store.head()).position : await positionOf(this.deps, last),
          balance: parseEvent(ledger, last).data.balance,
        });
    }
    return at;
  }

  /**
   * Appends the prepared transfers in one write of the ledger; returns the transfers to be tried again. A
   * return has the same event id in every process: if another process was first, the store calls the append a
   * repeat and keeps that process's bytes. A ledger with returns is therefore read back, because the next
   * event is chained to the hash that is stored.
   */
  async #append(at: Loaded<Ledger>, prepared: readonly Prepared[]): Promise<readonly Waiting[]> {
    const { store, streams } = this.deps;
    const decided = prepared.flatMap((one) => one.decided);
    const movements = streams.write(ledger, at, decided);
    const writes = prepared.flatMap(({ transfer }) => transfer.writes ?? []);
    const completing = prepared.flatMap(({ transfer }) => transfer.completing ?? []);
    const [moved, ...others] = await store.append([movements, ...writes], completing);
    if (moved?.kind === 'appended') {
      if (prepared.every(({ transfer }) => transfer.since === undefined))
        streams.appended(ledger, at, decided, movements, moved.position);
      else streams.forget(at);
    }
    const again: Waiting[] = [];
    for (const { transfer, decided: own } of prepared) {
      const outcomes = others.splice(0, transfer.writes?.length ?? 0);
      if (moved?.kind === 'appended') {
        const position = lastPosition(moved.position, outcomes);
        const balance = own.at(-1)?.event.data.balance ?? at.state.balance;
        transfer.resolve({ kind: 'moved', position, balance });
      } else if (outcomes.some(({ kind }) => kind === 'conflict')) transfer.resolve({ kind: 'conflict' });
      else again.push(transfer);
      if (moved?.kind !== 'unknown') continue;
      transfer.mayBeWritten = true;
      transfer.before ??= at.revision;
    }
    return again;
  }
}

/**
 * Takes transfers from the front of the queue whose writes touch different streams. A cause is in a group
 * once: a repeat waits, and finds the first. (docs/money.md, rule 1: a cause moves money once)
 */
const takeDisjoint = (queue: Waiting[]): Waiting[] => {
  const touched = new Set<StreamName | Uuid>();
  const maxTaken = Math.min(maxGroup, Math.max(minGroup, Math.ceil(queue.length / 2)));
  let count = 0;
  for (const { movements, writes = [] } of queue) {
    const touches = [...movements.map(({ id }) => id), ...writes.map(({ stream }) => stream)];
    if (count === maxTaken || touches.some((name) => touched.has(name))) break;
    for (const name of touches) touched.add(name);
    count++;
  }
  return queue.splice(0, count);
};

/**
 * The revision after which some of the transfers may be in the ledger; Infinity if none can. A conflict says
 * that nothing was stored, so a transfer is absent unless an append of unknown outcome or another process can
 * have brought it.
 */
const searchedFrom = (transfers: readonly Waiting[]): number =>
  Math.min(...transfers.map(({ before = Infinity }) => before));

interface RefusedTransfer {
  readonly transfer: Waiting;
  readonly refusal: unknown;
}

/** Decides the movements one after the other on a running balance. */
const prepare = (
  state: Ledger,
  transfers: readonly Waiting[],
): { readonly prepared: readonly Prepared[]; readonly refused: readonly RefusedTransfer[] } => {
  let balance = state;
  const prepared: Prepared[] = [];
  const refused: RefusedTransfer[] = [];
  for (const transfer of transfers) {
    const { open, command } = transfer;
    let after = balance;
    const decision = capture(() =>
      open.map(({ id, decide }) => {
        const event = decide(after);
        after = ledger.evolve(after, event);
        return { event, command, id };
      }),
    );
    if ('refusal' in decision) refused.push({ transfer, refusal: decision.refusal });
    else {
      prepared.push({ transfer, decided: decision.value });
      balance = after;
    }
  }
  return { prepared, refused };
};

/** The movements in a ledger after a revision, in their order. */
export async function* movementsAfter(
  store: Pick<EventStore, 'readStream'>,
  org: OrganizationId,
  revision: number,
): AsyncGenerator<{ readonly stored: RecordedEvent; readonly event: LedgerEvent }, void, undefined> {
  for await (const page of streamPages(store, ledgerStream(org), revision + 1))
    for (const stored of page) yield { stored, event: parseEvent(ledger, stored) };
}

/** The movement, or null and a revision of the ledger up to which it is absent. */
export const findMovement = async (
  store: Pick<EventStore, 'readStream'>,
  org: OrganizationId,
  { id }: Movement,
  after: number,
): Promise<{ readonly found: RecordedEvent | null; readonly since: number }> => {
  let since = after;
  for await (const { stored } of movementsAfter(store, org, after)) {
    if (stored.id === id) return { found: stored, since };
    since = stored.revision;
  }
  return { found: null, since };
};

/**
 * A revision of the ledger from before anything that begins now. A cached one will do: it only makes searches
 * longer. (docs/money.md, rule 2: look for your own cause before you repeat)
 */
export const ledgerRevisionBefore = async (
  { streams }: { readonly streams: Streams },
  org: OrganizationId,
): Promise<number> => (streams.lastKnown(ledger, org) ?? (await streams.load(ledger, org))).revision;
