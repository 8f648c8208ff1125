import { requireCard, card, type CardEvent, type Order, type StepName } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import { parseEvent, type Actor } from '../../domain/events.js';
import { OrganizationId, type Instant } from '../../domain/ids.js';
import type { CardDocument } from '../../projections/cards.js';
import { cardHistory } from './card-for-operator.js';
import type { EventStore } from '../ports/event-store.js';
import { foldCard } from './read-cards.js';

/** One thing that happened to a card, as people read it. */
export interface Happening {
  readonly at: Instant;
  readonly event: CardEvent;
  readonly actor: Actor;
  readonly requestId: string | null;
}

export interface OrderPage {
  readonly card: CardDocument;
  readonly org: OrganizationId;
  readonly order: Order;
  /** Null if it was erased or can't be read any more. */
  readonly message: string | null;
  readonly history: readonly Happening[];
}

/**
 * A card as its order page shows it, from its own stream. Only the floor sees that a step was repeated:
 * `withRecovered` keeps steps that failed and were started again. Throws `card_not_found`.
 */
export const readOrderPage = async (
  deps: { readonly store: EventStore },
  code: CardCode,
  { withRecovered }: { readonly withRecovered: boolean },
): Promise<OrderPage> => {
  const recorded = await cardHistory(deps, code, null);
  const parsed = recorded.map((stored) => ({ stored, event: parseEvent(card, stored) }));
  const document = foldCard(recorded);
  const { order, message } = requireCard(parsed.map(({ event }) => event).reduce(card.evolve, card.initial));
  if (document === null) throw new DomainError('card_not_found', 'There is no such card.');
  const history = parsed.map(({ stored: { metadata }, event }) => ({
    at: metadata.occurredAt,
    event,
    actor: metadata.actor,
    requestId: metadata.requestId,
  }));
  return {
    card: document,
    org: OrganizationId.parse(order.org),
    order,
    message,
    history: withRecovered
      ? history
      : history.filter(({ event }, at) => !wasRecovered(history.slice(at + 1), event)),
  };
};

/** Whether a failed step was started again later. */
const wasRecovered = (later: readonly Happening[], event: CardEvent): boolean => {
  if (event.type !== 'StepFailed') return false;
  const { step } = event.data as { readonly step: StepName };
  return later.some(({ event: next }) => next.type === 'StepStarted' && next.data.step === step);
};
