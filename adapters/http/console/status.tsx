import type { ContactImport } from '../../../application/contacts/imports.js';
import type { CardStatus } from '../../../domain/card.js';
import { Badge, type Tone } from '../web/parts.js';

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

const tones: Readonly<Record<CardStatus, Tone>> = {
  blocked: 'warn',
  pending: 'idle',
  queued: 'busy',
  in_production: 'busy',
  written: 'busy',
  packed: 'busy',
  posted: 'good',
  cancelled: 'idle',
  failed: 'bad',
};

export const Status = ({ status }: { readonly status: CardStatus }) => (
  <Badge tone={tones[status]}>{statusWords[status]}</Badge>
);

export const importTones: Readonly<Record<ContactImport['status'], Tone>> = {
  running: 'busy',
  done: 'good',
  stopped: 'idle',
  failed: 'bad',
};
