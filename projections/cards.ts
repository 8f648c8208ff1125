import {
  card,
  floorStatus,
  steps,
  stepStatusAfter,
  type CardEvent,
  type Order,
  type StepStatus,
} from '../domain/card.js';
import { never } from '../domain/errors.js';
import { idOf, type Instant } from '../domain/ids.js';
import type { Recipient } from '../domain/recipient.js';
import { projection, type Projected } from './projection.js';

export type CardStatus =
  | 'pending'
  | 'queued'
  | 'in_production'
  | 'written'
  | 'packed'
  | 'posted'
  | 'blocked'
  | 'cancelled'
  | 'failed';
export const cardStatuses: readonly CardStatus[] = [
  'pending',
  'queued',
  'in_production',
  'written',
  'packed',
  'posted',
  'blocked',
  'cancelled',
  'failed',
];

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

const untouched: readonly CardStep[] = steps.map(() => ({ status: 'pending', completedAt: null }));

/**
 * On the floor's agenda: cards that wait for their day by that day, cards that are on the floor under a name
 * that sorts after every day.
 */
export const onTheFloor = 'floor';

const agendaOf = ({ status, due }: CardDocument): string | null => {
  if (status === 'pending') return due;
  return status === 'queued' || status === 'in_production' || status === 'written' || status === 'packed'
    ? onTheFloor
    : null;
};

const begun = (
  { envelope }: Projected<CardEvent>,
  order: Order,
  recipient: Recipient,
): Omit<CardDocument, 'status' | 'heldReason'> => ({
  org: order.org,
  code: idOf(envelope.stream),
  recipient,
  handwriting: order.handwriting,
  window: order.window,
  due: order.due,
  reference: order.reference,
  createdAt: envelope.metadata.occurredAt,
  pendingSince: envelope.metadata.occurredAt,
  mailedAt: null,
  steps: untouched,
});

const worked = (
  document: CardDocument,
  event: Extract<Projected<CardEvent>, { type: keyof typeof stepStatusAfter }>,
): CardDocument => {
  const status = stepStatusAfter[event.type];
  const at = event.envelope.metadata.occurredAt;
  const index = steps.indexOf(event.data.step);
  const worked = document.steps.map((step, place) =>
    place === index ? { status, completedAt: status === 'completed' ? at : null } : step,
  );
  const reached = floorStatus(worked.map((step) => step.status));
  return { ...document, status: reached, steps: worked, mailedAt: reached === 'posted' ? at : null };
};

const evolve = (document: CardDocument | null, event: Projected<CardEvent>): CardDocument | null => {
  if (event.type === 'CardScheduled')
    return {
      ...begun(event, event.data.order, event.data.personal.recipient),
      status: 'pending',
      heldReason: null,
    };
  if (event.type === 'CardHeld' && event.data.order !== null && event.data.personal !== null) {
    return {
      ...begun(event, event.data.order, event.data.personal.recipient),
      status: 'blocked',
      heldReason: event.data.reason,
    };
  }
  if (document === null) return null;
  switch (event.type) {
    case 'CardHeld':
      return { ...document, status: 'blocked', heldReason: event.data.reason };
    case 'CardReleased':
      return {
        ...document,
        status: 'pending',
        heldReason: null,
        pendingSince: event.envelope.metadata.occurredAt,
      };
    case 'CardQueued':
      return { ...document, status: 'queued' };
    case 'StepStarted':
    case 'StepCompleted':
    case 'StepFailed':
      return worked(document, event);
    case 'CardCancelled':
      return { ...document, status: 'cancelled', heldReason: null };
    case 'CardFailed':
      return { ...document, status: 'failed' };
    case 'CardAbandoned':
    case 'ReleaseAbandoned':
      return document;
    default:
      return never(event);
  }
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
