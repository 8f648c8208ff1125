import {
  atFirst,
  card,
  isOnTheFloor,
  orderedBy,
  progressAfter,
  type CardEvent,
  type CardStatus,
  type Order,
  type CardProgress,
  type StepStatus,
  type StepStatuses,
} from '../domain/card.js';
import { idOf, type Instant } from '../domain/ids.js';
import type { Recipient } from '../domain/recipient.js';
import { projection, type Projected } from './projection.js';

export interface CardStep {
  readonly status: StepStatus;
  readonly completedAt: Instant | null;
}

/** What lists and lookups show of a card. */
export interface CardDocument {
  readonly org: string;
  readonly code: string;
  readonly status: CardStatus;
  readonly heldReason: string | null;
  readonly recipient: Recipient;
  readonly handwriting: string;
  readonly window: Order['window'];
  readonly due: string;
  readonly reference: string | null;
  readonly createdAt: Instant;
  /** When it was scheduled or released. */
  readonly pendingSince: Instant;
  readonly mailedAt: Instant | null;
  /** One entry per step, in production order. */
  readonly steps: readonly CardStep[];
}

/**
 * On the floor's agenda: cards that wait for their day by that day, cards that are on the floor under a name
 * that sorts after every day.
 */
export const onTheFloor = 'floor';

const agendaOf = ({ status, due }: CardDocument): string | null => {
  if (status === 'pending') return due;
  return isOnTheFloor(status) ? onTheFloor : null;
};

const progressOf = ({ status, heldReason, steps }: CardDocument): CardProgress => ({
  status,
  heldReason,
  steps: steps.map((step) => step.status),
});

const stepsAfter = (before: readonly CardStep[], statuses: StepStatuses, at: Instant): readonly CardStep[] =>
  statuses.map((status, index) => ({
    status,
    completedAt: status === 'completed' ? (before[index]?.completedAt ?? at) : null,
  }));

const begun = (
  code: string,
  { order, recipient }: { readonly order: Order; readonly recipient: Recipient },
  { status, heldReason, steps }: CardProgress,
  at: Instant,
): CardDocument => ({
  org: order.org,
  code,
  status,
  heldReason,
  recipient,
  handwriting: order.handwriting,
  window: order.window,
  due: order.due,
  reference: order.reference,
  createdAt: at,
  pendingSince: at,
  mailedAt: null,
  steps: stepsAfter([], steps, at),
});

/** Every field by its name: a spread with further fields takes longer, and this runs for every event. */
const moved = (
  document: CardDocument,
  before: CardProgress,
  { status, heldReason, steps }: CardProgress,
  at: Instant,
): CardDocument => ({
  org: document.org,
  code: document.code,
  status,
  heldReason,
  recipient: document.recipient,
  handwriting: document.handwriting,
  window: document.window,
  due: document.due,
  reference: document.reference,
  createdAt: document.createdAt,
  pendingSince: status === 'pending' ? at : document.pendingSince,
  mailedAt: status === 'posted' ? (document.mailedAt ?? at) : document.mailedAt,
  steps: steps === before.steps ? document.steps : stepsAfter(document.steps, steps, at),
});

/** Folds what the card's own rules make of its events, and adds when that was. */
const evolve = (document: CardDocument | null, event: Projected<CardEvent>): CardDocument | null => {
  const { stream, metadata } = event.envelope;
  const at = metadata.occurredAt;
  const ordered = orderedBy(event);
  if (ordered !== null) return begun(idOf(stream), ordered, progressAfter(atFirst, event), at);
  if (document === null) return null;
  const before = progressOf(document);
  const after = progressAfter(before, event);
  return after === before ? document : moved(document, before, after, at);
};

/** GET /api/v1/cards and GET /api/v1/cards/{code}. */
export const cards = projection({
  name: 'cards',
  version: 2,
  from: card,
  key: ({ stream }) => idOf(stream),
  evolve,
  org: ({ org }) => org,
  indexes: { status: ({ status }) => status, reference: ({ reference }) => reference },
  agenda: agendaOf,
});
