import type { Happening } from '../../../application/order-page.js';
import type { StepName } from '../../../domain/card.js';

const stepWords: Readonly<Record<StepName, string>> = {
  card_stock_prepared: 'Stock',
  card_written: 'Written',
  envelope_addressed: 'Envelope',
  packed: 'Packed',
  stamped: 'Stamped',
  posted: 'Posted',
};

/** A step in the words of people. */
export const stepName = (step: StepName): string => stepWords[step];

/** How far a step has come, in the words of people. */
export const stepState = {
  pending: 'to do',
  in_progress: 'at work',
  completed: 'done',
  failed: 'failed',
} as const;

/** What happened to a card, in a line. */
export const lineOf = ({ event }: Happening): string => {
  switch (event.type) {
    case 'CardScheduled':
      return 'Scheduled, 1 credit spent';
    case 'CardHeld':
      return event.data.owes > 0
        ? `Held, 1 credit returned: ${event.data.reason}`
        : `Held: ${event.data.reason}`;
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
      return `Failed, 1 credit returned: ${event.data.reason}`;
    case 'CardErased':
      return 'Personal data erased';
    case 'CardAbandoned':
      return 'Closed: the send was interrupted';
    case 'ReleaseAbandoned':
      return 'Still held: the release was interrupted, and its credit comes back';
  }
};
