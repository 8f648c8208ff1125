import { cardStream } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { ledger, ledgerStream } from '../../domain/credits.js';
import { parseEvent, type RecordedEvent } from '../../domain/events.js';
import {
  categoryOf,
  streamName,
  type Milliseconds,
  type OrganizationId,
  type StreamName,
} from '../../domain/ids.js';
import { Books, type Reconciliation } from '../../domain/reconciliation.js';
import { organizationOf, type AdministrationDeps } from '../organizations/administer.js';
import { isBy, pagesAt, streamAt, type Moment } from '../history/as-of.js';
import { givingWay } from '../timing/next-turn.js';
import type { Payments } from './payments.js';

export interface ReconcileCreditsDeps extends Pick<AdministrationDeps, 'streams' | 'store' | 'clock'> {
  readonly payments: Payments;
  /** How old open work must be before the reconciler closes it. */
  readonly reconcileAfter: Milliseconds;
}

/** The reconciler closes work so long after its time at the latest. (docs/operations.md#watch) */
const closeTimeout: Milliseconds = 15_000;

const atOnce = 16;

/** The stream of the card or the purchase that a movement is for; null if its command alone is its cause. */
const streamOf = (stored: RecordedEvent): StreamName | null => {
  const { type, data } = parseEvent(ledger, stored);
  if (type === 'CreditSpent') return cardStream(data.cause.card as CardCode);
  if (type !== 'CreditReturned')
    return data.cause === stored.metadata.causationId ? null : streamName('purchase', data.cause);
  const { cause } = data;
  return cardStream(('void' in cause ? cause.void.card : cause.owed.card) as CardCode);
};

/**
 * Adds up the credits of an organization between two moments, from its ledger, the streams of all that the
 * ledger names, and its orders that no movement names yet. Null: from the beginning, until now. Throws
 * `not_found`, DamagedStream, EventStoreUnavailable.
 */
export const reconcileCredits = async (
  deps: ReconcileCreditsDeps,
  org: OrganizationId,
  from: Moment | null,
  to: Moment | null,
): Promise<Reconciliation> => {
  const { store, clock, payments, reconcileAfter } = deps;
  await organizationOf(deps, org);
  const end = to ?? { position: (await store.head()).position, at: clock.instant() };
  const ordered = await payments.openOrders(org);
  // An order that was open at the end may have been brought since: then a later movement names it.
  const now = { position: (await store.head()).position, at: clock.instant() };
  const streams = new Set(ordered);
  const books = new Books();
  const giveWay = givingWay(clock);
  let after = -1;
  let last: RecordedEvent | null = null;
  let isOver = false;
  for await (const page of pagesAt(store, ledgerStream(org), now))
    for (const movement of page) {
      const stream = streamOf(movement);
      isOver ||= !isBy(end, movement);
      if (stream !== null && (!isOver || categoryOf(stream) === 'purchase')) streams.add(stream);
      await giveWay();
      if (isOver) continue;
      books.observe(movement);
      if (from !== null && isBy(from, movement) && after === movement.revision - 1) after = movement.revision;
      last = movement;
    }
  const others = [...streams];
  while (others.length > 0) {
    const read = others.splice(-atOnce).map((stream) => streamAt(store, stream, end));
    for (const events of await Promise.all(read)) for (const event of events) books.observe(event);
    await giveWay();
  }
  const steps = books.addUp({
    after,
    until: end.at ?? last?.metadata.occurredAt ?? clock.instant(),
    mayBeOpenFor: reconcileAfter + closeTimeout,
  });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await giveWay();
  }
};
