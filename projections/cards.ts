import {
  atFirst,
  card,
  isOnTheFloor,
  orderedBy,
  progressAfter,
  type CardEvent,
  type Order,
  type Ordered,
  type CardProgress,
  type StepStatus,
  type StepStatuses,
} from '../domain/card.js';
import { idOf, type Instant } from '../domain/ids.js';
import { projection, type Projected } from './projection.js';

export interface CardStep {
  readonly status: StepStatus;
  readonly completedAt: Instant | null;
}

/** A card as lists and lookups show it. */
export interface CardDocument
  extends
    Pick<Order, 'org' | 'handwriting' | 'window' | 'due' | 'reference'>,
    Omit<CardProgress, 'steps'>,
    Pick<Ordered, 'recipient'> {
  readonly code: string;
  readonly design: string;
  readonly createdAt: Instant;
  /** When it was scheduled or released. */
  readonly pendingSince: Instant;
  readonly mailedAt: Instant | null;
  /** When its personal data was erased; null if it was not. */
  readonly erasedAt: Instant | null;
  /** One entry per step, in production order. */
  readonly steps: readonly CardStep[];
}

/**
 * The agenda of cards on the floor, which sorts after every day. Pending cards have their due day instead.
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
  { order, recipient }: Ordered,
  { status, heldReason, steps }: CardProgress,
  at: Instant,
): CardDocument => ({
  org: order.org,
  code,
  status,
  heldReason,
  recipient,
  design: order.design.id,
  handwriting: order.handwriting,
  window: order.window,
  due: order.due,
  reference: order.reference,
  createdAt: at,
  pendingSince: at,
  mailedAt: null,
  erasedAt: null,
  steps: stepsAfter([], steps, at),
});

const moved = (
  document: CardDocument,
  before: CardProgress,
  { status, heldReason, steps }: CardProgress,
  at: Instant,
): CardDocument => ({
  ...document,
  status,
  heldReason,
  pendingSince: status === 'pending' ? at : document.pendingSince,
  mailedAt: status === 'posted' ? (document.mailedAt ?? at) : document.mailedAt,
  steps: steps === before.steps ? document.steps : stepsAfter(document.steps, steps, at),
});

type Personal = keyof CardDocument & (Exclude<keyof Ordered, 'order'> | 'reference' | 'heldReason');
const erased: Readonly<Record<Personal, null>> = { recipient: null, reference: null, heldReason: null };

/** Takes the card's progress from the rules of the card, and adds the times. */
const evolve = (document: CardDocument | null, event: Projected<CardEvent>): CardDocument | null => {
  const { stream, metadata } = event.envelope;
  const at = metadata.occurredAt;
  const ordered = orderedBy(event);
  if (ordered !== null) return begun(idOf(stream), ordered, progressAfter(atFirst, event), at);
  if (document === null) return null;
  if (event.type === 'CardErased') return { ...document, ...erased, erasedAt: at };
  const before = progressOf(document);
  const after = progressAfter(before, event);
  return after === before ? document : moved(document, before, after, at);
};

export const cards = projection({
  name: 'cards',
  version: 5,
  from: card,
  evolve,
  org: ({ org }) => org,
  indexes: { status: ({ status }) => status, reference: ({ reference }) => reference },
  across: [['status'], ['reference', 'status']],
  agenda: agendaOf,
});
