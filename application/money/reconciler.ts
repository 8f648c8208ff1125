import { collectionCard } from '../../domain/catalogue.js';
import type { Instant, Milliseconds } from '../../domain/ids.js';
import type { OpenDebt, OpenOrder, OpenSpend } from '../../domain/open-money.js';
import { organization, saveDesign } from '../../domain/organization.js';
import { mapLimited } from '../timing/limit-concurrency.js';
import { execute } from '../writing/execute.js';
import { logPages, markOf, type EventMark } from '../ports/event-store.js';
import type { Checkpoints } from '../ports/checkpoints.js';
import { assertSameLog } from '../log/same-log.js';
import { untilAborted } from '../timing/until-aborted.js';
import { withTimeout } from '../timing/with-timeout.js';
import { purchaseBy } from '../../domain/credits.js';
import { OpenWork, type OpenCopy } from './open-work.js';
import { reconcilerCommand, returnCredit, settleSpend, type SettlingDeps } from './settle-spend.js';

export interface ReconcilerDeps extends SettlingDeps {
  readonly checkpoints: Checkpoints;
  /** How old open work must be before it is closed. */
  readonly reconcileAfter: Milliseconds;
}

const checkpointName = 'reconciler';

/**
 * The open work of the log: the last save of the reconciler, and the events since. Throws
 * EventStoreUnavailable.
 */
export const openWorkNow = async (deps: Pick<ReconcilerDeps, 'store' | 'checkpoints'>): Promise<OpenWork> => {
  const saved = await deps.checkpoints.load(checkpointName);
  const openWork = saved === null ? new OpenWork() : OpenWork.restore(saved.state);
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
  const due = ({ at }: { readonly at: Instant }) => clock.now() - Date.parse(at) >= reconcileAfter;
  const errors: unknown[] = [];
  let closed = 0;
  const attempt = async (close: () => Promise<boolean>): Promise<void> => {
    if (signal?.aborted === true) return;
    try {
      if (await close()) closed++;
    } catch (error) {
      errors.push(error);
    }
  };
  const returnOwed = async (debt: OpenDebt): Promise<boolean> => {
    const cause = { owed: { card: debt.card, revision: debt.revision } };
    await returnCredit(deps, reconcilerCommand(deps, debt.org), debt, cause, debt.amount);
    return true;
  };
  const close = async (spend: OpenSpend): Promise<boolean> => {
    const settled = await settleSpend(deps, reconcilerCommand(deps, spend.org), spend);
    openWork.settleSpend(spend.slot);
    return settled === 'returned';
  };
  const copyOf = async (copy: OpenCopy): Promise<boolean> => {
    const made = await makeCopy(deps, copy);
    openWork.settleCopy(copy);
    return made;
  };
  /** Unless they have come. (docs/money.md, rule 9: an order comes before its movement) */
  const bring = async ({ org, purchase: id, amount, reason, since }: OpenOrder): Promise<boolean> => {
    const movements = [purchaseBy({ id }, org, amount, reason)];
    await deps.ledgers.move({ org, command: reconcilerCommand(deps, org), movements, since });
    return true;
  };
  const taken = openWork.reserve([
    ...openWork.debts.filter(due).map((debt) => [debt, () => returnOwed(debt)] as const),
    ...openWork.spends.filter(due).map((spend) => [spend, () => close(spend)] as const),
    ...openWork.orders.filter(due).map((order) => [order, () => bring(order)] as const),
    ...openWork.copies.filter(due).map((copy) => [copy, () => copyOf(copy)] as const),
  ]);
  await mapLimited(atOnce, taken, async ([piece, work]) => {
    await attempt(work);
    openWork.release(piece);
  });
  return { closed, errors };
};

/** Of the collection card as it was when the card was sent, which has that front. */
const makeCopy = async (deps: ReconcilerDeps, { org, id, slug, at }: OpenCopy): Promise<boolean> => {
  const { state } = await deps.streams.loadAt(collectionCard, slug, { position: null, at });
  const { events } = await execute(
    deps,
    organization,
    org,
    reconcilerCommand(deps, org),
    saveDesign({ id, name: state?.title ?? slug, slug, artwork: state?.artwork ?? null }),
  );
  return events.length > 0;
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
  const saved = await checkpoints.load(checkpointName);
  const openWork = saved === null ? new OpenWork() : OpenWork.restore(saved.state);
  await assertSameLog(store, 'The reconciler', saved ?? { position: 0n });
  let handled = saved?.position ?? 0n;
  let event: EventMark | undefined = saved?.event;
  let kept = { handled, openSince: openWork.oldest };
  let savedAt = -Infinity;

  const observe = async (): Promise<void> => {
    for await (const batch of store.follow(handled, { signal })) {
      for (const logged of batch) openWork.observe(logged);
      const last = batch.at(-1);
      if (last === undefined) continue;
      handled = last.position;
      event = markOf(last);
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
    const isNew = kept.handled < handled || kept.openSince !== openSince;
    if (!isNew || clock.monotonic() - savedAt < saveInterval) return;
    const next = { handled, openSince };
    savedAt = clock.monotonic();
    await checkpoints.save(checkpointName, {
      position: handled,
      ...(event !== undefined && { event }),
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
