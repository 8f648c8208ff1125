import type { Ordered } from './card.js';
import type { Instant } from './ids.js';
import type { PublicEventType } from './public-events.js';

export interface PublicEventData {
  readonly card: string;
  /** The name; null if it was erased or can't be read any more. */
  readonly recipient: string | null;
  readonly reference: string | null;
  readonly heldReason: string | null;
}

/** The body of a delivery. Every type has the same four fields in `data`. (docs/contract.md#payload) */
export const payload = (
  id: string,
  type: PublicEventType,
  created: Instant,
  { card, recipient, reference, heldReason }: PublicEventData,
): string => JSON.stringify({ id, type, created, data: { card, recipient, reference, heldReason } });

/** The body of a made-up event. (decision 62: test events) */
export const testPayload = (id: string, type: PublicEventType, created: Instant): string =>
  payload(id, type, created, {
    card: 'HC-TEST000',
    recipient: 'Ada Lovelace',
    reference: 'a test',
    heldReason: type === 'card.held' ? 'The state is missing.' : null,
  });

/** The body of a delivery without its personal fields. */
export const erasedPayload = (body: string): string => {
  const { id, type, created, data } = JSON.parse(body) as {
    readonly id: string;
    readonly type: PublicEventType;
    readonly created: Instant;
    readonly data: PublicEventData;
  };
  return payload(id, type, created, { card: data.card, recipient: null, reference: null, heldReason: null });
};

/** A payload's data about a card. It is taken from the order, so it never changes. */
export const dataOf = (
  code: string,
  { recipient, order }: Ordered,
  heldReason: string | null,
): PublicEventData => ({
  card: code,
  recipient: recipient?.name ?? null,
  reference: order.reference,
  heldReason,
});
