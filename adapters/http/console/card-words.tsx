import type { ComponentChildren } from 'preact';
import type { Happening } from '../../../application/cards/card-record.js';
import { type CardStatus, type StepName, steps } from '../../../domain/card.js';
import type { ErrorCode } from '../../../domain/errors.js';
import type { Instant } from '../../../domain/ids.js';
import type { CardDocument } from '../../../projections/cards.js';
import { Badge, Time, type Tone } from '../web/parts.js';
import { useVisit } from '../web/visit.js';

/** Takes the place of missing personal data: it counts as erased only after an erasure. */
export const gone = (erasedAt: Instant | null | undefined): 'erased' | 'unreadable' =>
  erasedAt ? 'erased' : 'unreadable';

/** A status in the words of people: a blocked card is one that is held. */
export const statuses: Readonly<Record<CardStatus, { readonly word: string; readonly tone: Tone }>> = {
  blocked: { word: 'Held', tone: 'warn' },
  pending: { word: 'Pending', tone: 'idle' },
  queued: { word: 'Queued', tone: 'busy' },
  in_production: { word: 'In production', tone: 'busy' },
  written: { word: 'Written', tone: 'busy' },
  packed: { word: 'Packed', tone: 'busy' },
  posted: { word: 'Posted', tone: 'good' },
  cancelled: { word: 'Cancelled', tone: 'idle' },
  failed: { word: 'Failed', tone: 'bad' },
};

export const Status = ({ status }: { readonly status: CardStatus }) => (
  <Badge tone={statuses[status].tone}>{statuses[status].word}</Badge>
);

export const stepNames: Readonly<Record<StepName, string>> = {
  card_stock_prepared: 'Stock',
  card_written: 'Written',
  envelope_addressed: 'Envelope',
  packed: 'Packed',
  stamped: 'Stamped',
  posted: 'Posted',
};

const stepStates = {
  pending: 'to do',
  in_progress: 'at work',
  completed: 'done',
  failed: 'failed',
} as const;

interface StepsProps extends Pick<CardDocument, 'steps'> {
  /** Names the list where no heading does. */
  readonly label?: string;
  readonly withTimes?: boolean;
}

/** The steps of a card, and how far each has come. */
export const Steps = ({ steps: reached, label, withTimes = false }: StepsProps) => (
  <ol class="steps" aria-label={label}>
    {reached.map(({ status, completedAt }, at) => (
      <li class={status}>
        <span class="step">{stepNames[steps[at] ?? 'posted']}</span>
        <span class="quiet">
          {stepStates[status]}
          <Time before=", " at={withTimes ? completedAt : null} />
        </span>
      </li>
    ))}
  </ol>
);

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
      return `${stepNames[event.data.step]}: started`;
    case 'StepCompleted':
      return `${stepNames[event.data.step]}: done`;
    case 'StepFailed':
      return `${stepNames[event.data.step]}: failed`;
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

interface CardLinkProps {
  readonly code: string;
  /** The code, if they are left out. */
  readonly children?: ComponentChildren;
}

export const CardLink = ({ code, children = code }: CardLinkProps) => (
  <a href={useVisit().url('card', { code })}>{children}</a>
);

/** An error code, with the way to its page of the documentation. */
export const ErrorCodeLink = ({ code }: { readonly code: ErrorCode }) => (
  <a href={useVisit().url('/docs/errors/:code', { code })}>
    <code>{code}</code>
  </a>
);
