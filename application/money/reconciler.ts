import { collectionCard } from '../../domain/catalogue.js';
import { parseEvent, type Command, type RecordedEvent } from '../../domain/events.js';
import { Instant, OrganizationId, Uuid, type Milliseconds } from '../../domain/ids.js';
import { organization, saveDesign } from '../../domain/organization.js';
import { mapLimited } from '../timing/limit-concurrency.js';
import { execute } from '../writing/execute.js';
import { logPages, markOf } from '../ports/event-store.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import { assertSameLog, type ReadUpTo } from '../log/same-log.js';
import { untilAborted } from '../timing/until-aborted.js';
import { withTimeout } from '../timing/with-timeout.js';
import { purchaseBy } from '../../domain/credits.js';
import { reconcilerCommand, returnCredit, settleSpend, type SettlingDeps } from './settle-spend.js';
import { z } from 'zod';
import { card, orderedBy } from '../../domain/card.js';
import {
  OpenMoney,
  placeName,
  SavedMoney,
  type OpenDebt,
  type OpenOrder,
  type OpenSpend,
} from '../../domain/open-money.js';

/** A card whose design was not copied to its organization's designs. */
const OpenCopy = z.object({ org: OrganizationId, id: Uuid, slug: z.string(), at: Instant });
export type OpenCopy = z.infer<typeof OpenCopy>;

export type OpenPiece = OpenSpend | OpenDebt | OpenCopy | OpenOrder;

const nameOf = (piece: OpenPiece): string => {
  if ('slot' in piece)
    return `spend ${placeName(piece.slot.card, piece.slot.revision)} ${piece.slot.command}`;
  if ('purchase' in piece) return `purchase ${piece.purchase}`;
  return 'slug' in piece ? `copy ${piece.id}` : `debt ${placeName(piece.card, piece.revision)}`;
};

const SavedWork = SavedMoney.extend({ copies: z.array(OpenCopy) });
type SavedWork = z.infer<typeof SavedWork>;

/** Work that a prefix of the log leaves open: money, and copies of designs. */
export class OpenWork extends OpenMoney {
  readonly #copies = new Map<string, OpenCopy>();
  /** The names of pieces that are being closed. */
  readonly #reserved = new Set<string>();

  static restore(saved: unknown): OpenWork {
    return new OpenWork(SavedWork.parse(saved));
  }

  constructor(saved?: SavedWork) {
    super(saved);
    for (const copy of saved?.copies ?? []) this.#copies.set(copy.id, copy);
  }

  /** When the oldest piece began; null if there is none. */
  get oldest(): Milliseconds | null {
    const begun = this.pieces.map(({ at }) => Date.parse(at));
    return begun.length === 0 ? null : begun.reduce((least, at) => Math.min(least, at));
  }

  get pieces(): readonly OpenPiece[] {
    return [...this.debts, ...this.spends, ...this.orders, ...this.#copies.values()];
  }

  /** Reserves pieces for this pass; leaves out pieces that are reserved already. */
  reserve(pieces: readonly OpenPiece[]): readonly OpenPiece[] {
    const free = pieces.filter((piece) => !this.#reserved.has(nameOf(piece)));
    for (const piece of free) this.#reserved.add(nameOf(piece));
    return free;
  }

  release(piece: OpenPiece): void {
    this.#reserved.delete(nameOf(piece));
  }

  save(): SavedWork {
    return { ...this.saved(), copies: [...this.#copies.values()] };
  }

  override observe(stored: RecordedEvent): void {
    super.observe(stored);
    if (stored.type === 'DesignSaved') {
      const event = parseEvent(organization, stored);
      if (event.type === 'DesignSaved') this.#copies.delete(event.data.design.id);
    }
    if (stored.type !== 'CardScheduled' && stored.type !== 'CardHeld') return;
    const order = orderedBy(parseEvent(card, stored))?.order;
    if (order?.design.copied !== true || order.design.slug === null) return;
    const { id, slug } = order.design;
    this.#copies.set(id, { org: order.org, id, slug, at: stored.metadata.occurredAt });
  }

  /** Called for a copy that exists, because no event follows if another send made it. */
  settleCopy({ id }: OpenCopy): void {
    this.#copies.delete(id);
  }
}

export interface ReconcilerDeps extends SettlingDeps {
  readonly checkpoints: Checkpoints;
  /** How old open work must be before it is closed. */
  readonly reconcileAfter: Milliseconds;
}

const checkpointName = 'reconciler';

/** The last save of the reconciler, and the open work in it. */
const lastSave = async ({ checkpoints }: Pick<ReconcilerDeps, 'checkpoints'>) => {
  const saved = await checkpoints.load(checkpointName);
  return { saved, openWork: saved === null ? new OpenWork() : OpenWork.restore(saved.state) };
};

/**
 * The open work of the log: the last save of the reconciler, and the events since. Throws
 * EventStoreUnavailable.
 */
export const openWorkNow = async (deps: Pick<ReconcilerDeps, 'store' | 'checkpoints'>): Promise<OpenWork> => {
  const { saved, openWork } = await lastSave(deps);
  for await (const events of logPages(deps.store, saved?.position ?? 0n))
    for (const logged of events) openWork.observe(logged);
  return openWork;
};

/** So much is closed at a time: one piece that takes long holds up no other. */
const atOnce = 16;

/**
 * Closes work that has been open for long enough and that no earlier call has reserved. A failure doesn't
 * keep the rest waiting; after the signal aborts, nothing more is started. Returns how much it closed, and
 * the failures.
 */
export const closeOpenWork = async (
  deps: ReconcilerDeps,
  openWork: OpenWork,
  signal: AbortSignal | null = null,
): Promise<{ readonly closed: number; readonly errors: readonly unknown[] }> => {
  const { clock, reconcileAfter } = deps;
  const errors: unknown[] = [];
  let closed = 0;
  const due = openWork.pieces.filter(({ at }) => clock.now() - Date.parse(at) >= reconcileAfter);
  await mapLimited(atOnce, openWork.reserve(due), async (piece) => {
    try {
      if (signal?.aborted !== true && (await closePiece(deps, openWork, piece))) closed++;
    } catch (error) {
      errors.push(error);
    }
    openWork.release(piece);
  });
  return { closed, errors };
};

/** False if there was nothing to do any more. */
const closePiece = async (deps: ReconcilerDeps, openWork: OpenWork, piece: OpenPiece): Promise<boolean> => {
  const { org } = piece;
  const command = reconcilerCommand(deps, org);
  if ('slot' in piece) {
    const settled = await settleSpend(deps, command, piece);
    openWork.settleSpend(piece.slot);
    return settled === 'returned';
  }
  if ('slug' in piece) {
    const isMade = await makeCopy(deps, command, piece);
    openWork.settleCopy(piece);
    return isMade;
  }
  if ('purchase' in piece) {
    // Unless they have come. (docs/money.md, rule 9: an order comes before its movement)
    const movements = [purchaseBy({ id: piece.purchase }, org, piece.amount, piece.reason)];
    await deps.ledgers.move({ org, command, movements, since: piece.since });
  } else {
    const { card, revision, amount } = piece;
    await returnCredit(deps, command, piece, { owed: { card, revision } }, amount);
  }
  return true;
};

/** Of the collection card as it was when the card was sent, which has that front. */
const makeCopy = async (
  deps: ReconcilerDeps,
  command: Command,
  { org, id, slug, at }: OpenCopy,
): Promise<boolean> => {
  const { state } = await deps.streams.loadAt(collectionCard, slug, { position: null, at });
  const save = saveDesign({ id, name: state?.title ?? slug, slug, artwork: state?.artwork ?? null });
  return (await execute(deps, organization, org, command, save)).events.length > 0;
};

const pause: Milliseconds = 1_000;
/** Then the next pass begins beside one that goes on. */
const passTimeout: Milliseconds = 2_000;
/** After a jump of the clock requests look older than they are: they get so long to end. */
const afterJump: Milliseconds = 5_000;
/** A clock that is further ahead of the monotonic one than a pass ago has jumped. */
const leastJump: Milliseconds = 1_000;
/** Events since the last save are read again after a start, and look as old as that from outside. */
const saveInterval: Milliseconds = 5_000;

/**
 * Follows the log and closes open work until the signal aborts. Any number of reconcilers may run at once.
 * (docs/money.md, rule 5: return at the ledger revision of what you have seen)
 */
export const runReconciler = async (
  deps: ReconcilerDeps,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> => {
  const { store, checkpoints, clock } = deps;
  const { saved, openWork } = await lastSave(deps);
  let handled: ReadUpTo = { position: saved?.position ?? 0n, ...(saved?.event && { event: saved.event }) };
  await assertSameLog(store, 'The reconciler', handled);
  let kept = { handled, openSince: openWork.oldest };
  let savedAt = -Infinity;

  const observe = async (): Promise<void> => {
    for await (const batch of store.follow(handled.position, { signal })) {
      for (const logged of batch) openWork.observe(logged);
      const last = batch.at(-1);
      if (last !== undefined) handled = { position: last.position, event: markOf(last) };
    }
  };
  let lead = clock.now() - clock.monotonic();
  let jumpedAt = -Infinity;
  const hasJustJumped = (): boolean => {
    const before = lead;
    lead = clock.now() - clock.monotonic();
    if (lead - before >= leastJump) jumpedAt = clock.monotonic();
    return clock.monotonic() - jumpedAt < afterJump;
  };
  const passes = new Set<Promise<void>>();
  const pass = async (): Promise<void> => {
    for (const error of (await closeOpenWork(deps, openWork, signal)).errors) report(error);
  };
  const act = async (): Promise<void> => {
    if (hasJustJumped()) return;
    // Work that falls due meanwhile doesn't wait for a slow piece.
    const passing: Promise<void> = pass().finally(() => passes.delete(passing));
    passes.add(passing);
    await withTimeout(clock, passTimeout, passing, () => undefined);
    const openSince = openWork.oldest;
    const isNew = kept.handled !== handled || kept.openSince !== openSince;
    if (!isNew || clock.monotonic() - savedAt < saveInterval) return;
    const next = { handled, openSince };
    savedAt = clock.monotonic();
    await checkpoints.save(checkpointName, {
      ...handled,
      ...(openSince !== null && { openSince }),
      state: openWork.save(),
    });
    kept = next;
  };
  try {
    await Promise.all([observe(), untilAborted({ clock, signal, pause, onError: report }, act)]);
  } finally {
    await Promise.all(passes);
  }
};
