import type { Happening } from '../../../application/cards/card-record.js';
import type { StepName } from '../../../domain/card.js';

const stepWords: Readonly<Record<StepName, string>> = {
  card_stock_prepared: 'Stock',
  card_written: 'Written',
  envelope_addressed: 'Envelope',
  packed: 'Packed',
  stamped: 'Stamped',
  posted: 'Posted',
};

export const stepName = (step: StepName): string => stepWords[step];

/** How far a step has come, in the words of people. */
export const stepState = {
  pending: 'to do',
  in_progress: 'at work',
  completed: 'done',
  failed: 'failed',
} as const;

const partWords: Readonly<Record<string, string>> = { line1: 'street', line2: 'apartment, suite, floor' };

/** Why a card is held, with the parts of an address called as forms call them; null once it was erased. */
export const reasonInWords = (reason: string | null): string | null =>
  reason?.replaceAll(/\bline[12](?= does not fit the envelope)/g, (part) => partWords[part] ?? part) ?? null;

const because = (what: string, reason: string | null): string =>
  reason === null ? what : `${what}: ${reasonInWords(reason)}`;

/** An event of a card, in a line. */
export const lineOf = ({ event }: Happening): string => {
  switch (event.type) {
    case 'CardScheduled':
      return 'Scheduled, 1 credit spent';
    case 'CardHeld':
      return because(event.data.owes > 0 ? 'Held, 1 credit returned' : 'Held', event.data.reason);
    case 'CardReleased':
      return 'Released, 1 credit spent';
    case 'CardQueued':
      return 'Queued for production';
    case 'StepStarted':
      return `${stepName(event.data.step)}: started`;
    case 'StepCompleted':
      return `${stepName(event.data.step)}: done`;
    case 'StepFailed':
      return `${stepName(event.data.step)}: failed`;
    case 'CardCancelled':
      return event.data.owes > 0 ? 'Cancelled, 1 credit returned' : 'Cancelled';
    case 'CardFailed':
      return because('Failed, 1 credit returned', event.data.reason);
    case 'CardErased':
      return 'Personal data erased';
    case 'CardAbandoned':
      return 'Closed: the send was interrupted';
    case 'ReleaseAbandoned':
      return 'Still held: the release was interrupted, and its credit comes back';
  }
};
