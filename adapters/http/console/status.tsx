import type { CardStatus } from '../../../domain/card.js';

/** A status in the words of people: a blocked card is one that is held. */
export const statusWords: Readonly<Record<CardStatus, string>> = {
  blocked: 'Held',
  pending: 'Pending',
  queued: 'Queued',
  in_production: 'In production',
  written: 'Written',
  packed: 'Packed',
  posted: 'Posted',
  cancelled: 'Cancelled',
  failed: 'Failed',
};

export const Status = ({ status }: { readonly status: CardStatus }) => (
  <span class={`status ${status}`}>{statusWords[status]}</span>
);
