import { z } from 'zod';
import { ArtworkDigest } from './artwork.js';
import { ArrivalWindow } from './calendar.js';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf, type RecordedEvent, type Slot } from './events.js';
import { CommandId, LocalDate, OrganizationId, streamName, Uuid } from './ids.js';
import { Recipient } from './recipient.js';
import { truncate } from './text.js';
import type { CardCode } from './card-code.js';

/** One greeting card, from the order to the carrier. */
export const cardStream = (code: CardCode) => streamName('card', code);

/** The production steps, in order. (docs/contract.md#steps) */
export const steps = [
  'card_stock_prepared',
  'card_written',
  'envelope_addressed',
  'packed',
  'stamped',
  'posted',
] as const;
export const StepName = z.enum(steps);
export type StepName = z.infer<typeof StepName>;

/** The order of a card. It never changes after the card's first event. */
export const Order = z.object({
  org: OrganizationId,
  /**
   * The keyed hash of organization and idempotency key, or the command if there is no key. It tells which
   * request a code belongs to. (docs/money.md, rule 7: a card names its request)
   */
  request: z.string(),
  /** `console`: a person sent it; its only webhooks are for written and mailed. */
  source: z.object({ kind: z.enum(['api', 'hook', 'console']), id: z.string() }),
  /**
   * `copied`: this send makes the organization's copy of the collection card. `front`: null for a mere name.
   */
  design: z.object({
    id: Uuid,
    slug: z.string().nullable(),
    copied: z.boolean(),
    front: ArtworkDigest.nullable().default(null),
  }),
  handwriting: z.string(),
  window: ArrivalWindow,
  /** The day on which the card goes to the floor. */
  due: LocalDate,
  reference: z.string().nullable(),
  contact: Uuid.nullable(),
});
export type Order = z.infer<typeof Order>;

/** The longest reference that is kept, in characters. (decision 25: where a reference is cut) */
export const maxReferenceLength = 40;

/**
 * A reference as it is kept, and as the list's filter compares it. (decision 25: where a reference is cut)
 */
export const readReference = (text: string): string => truncate(text, maxReferenceLength).trimEnd();

const Letter = z.object({ recipient: Recipient, message: z.string() });
type Letter = z.infer<typeof Letter>;
/** A letter that may have been erased or can't be read any more: then every field is null. */
type MaybeLetter = { readonly [Field in keyof Letter]: Letter[Field] | null };
const noLetter: { readonly [Field in keyof Letter]: null } = { recipient: null, message: null };

const Owed = z.int().min(0).max(1);
/** Marks an event without an order whose card was sent in the console; otherwise left out. */
const FromConsole = z.literal('console').optional();

export const cardEvents = events({
  CardScheduled: { order: Order, personal: Letter.nullable() },
  /**
   * With an order: the first event of a card that needs a person. Without one: the hold of a scheduled card,
   * whose credit has to come back. The reason is null once it was erased.
   */
  CardHeld: {
    reason: z.string().nullable(),
    owes: Owed,
    order: Order.nullable(),
    personal: Letter.nullable(),
    source: FromConsole,
  },
  CardReleased: { source: FromConsole },
  CardQueued: {},
  StepStarted: { step: StepName, machine: z.string().nullable() },
  StepCompleted: { step: StepName, machine: z.string().nullable() },
  StepFailed: { step: StepName, machine: z.string().nullable() },
  CardCancelled: { owes: Owed },
  CardFailed: { reason: z.string().nullable(), owes: Owed },
  /**
   * Everything personal of the card is erased: its letter, its reference, the reasons of holds and failures.
   */
  CardErased: { reason: z.string() },
  /**
   * Fills the first slot of a send that died after its credit was spent and before its card was written:
   * there will be no card. (docs/money.md, rule 4: take the slot before you call a spend void)
   */
  CardAbandoned: { command: CommandId },
  /**
   * Fills the slot of a release that died after its credit was spent and before its event was written: the
   * card stays held. (docs/money.md, rule 4: take the slot before you call a spend void)
   */
  ReleaseAbandoned: { command: CommandId },
});
export type CardEvent = EventOf<typeof cardEvents>;
export type FirstEvent = Extract<CardEvent, { type: 'CardScheduled' | 'CardHeld' }>;

/** All statuses of a card: first those on the way to the carrier, in order, then the others. */
export const cardStatuses = [
  'pending', 'queued', 'in_production', 'written', 'packed', 'posted', 'blocked', 'cancelled', 'failed',
] as const; // prettier-ignore
export type CardStatus = (typeof cardStatuses)[number];

/** The reports that can be made of a step. */
export const reportedStatuses = ['in_progress', 'completed', 'failed'] as const;
export type ReportedStatus = (typeof reportedStatuses)[number];
export const stepStatuses = ['pending', ...reportedStatuses] as const;
export type StepStatus = (typeof stepStatuses)[number];
export type StepStatuses = readonly StepStatus[];

/** How far a card is: everything about it that events change. Read models fold the same. */
export interface CardProgress {
  readonly status: CardStatus;
  /** Why it is blocked; null unless it is. */
  readonly heldReason: string | null;
  readonly steps: StepStatuses;
}

/** The content of a card's first event. It never changes. */
export interface Ordered extends MaybeLetter {
  readonly order: Order;
}

/** A card that exists. It is paid for in every status but blocked, cancelled and failed. */
export interface MadeCard extends Ordered, CardProgress {
  readonly erased: boolean;
}

/** `none`: the stream is empty. `abandoned`: there will never be a card in it. */
export type Card = { readonly status: 'none' | 'abandoned' } | MadeCard;

export const isMade = (state: Card): state is MadeCard =>
  state.status !== 'none' && state.status !== 'abandoned';

const onTheFloor: readonly CardStatus[] = ['queued', 'in_production', 'written', 'packed'];

/** From the day on which the floor gets a card until the carrier has it. */
export const isOnTheFloor = (status: CardStatus): boolean => onTheFloor.includes(status);

const completed = (statuses: StepStatuses, ...names: readonly StepName[]): boolean =>
  names.every((name) => statuses[steps.indexOf(name)] === 'completed');

/**
 * How far the completed steps have brought a card on the floor. (decision 32: the path of a card through
 * production)
 */
export const floorStatus = (statuses: StepStatuses): 'in_production' | 'written' | 'packed' | 'posted' => {
  if (completed(statuses, 'posted')) return 'posted';
  if (completed(statuses, 'packed', 'stamped')) return 'packed';
  if (completed(statuses, 'card_written', 'envelope_addressed')) return 'written';
  return 'in_production';
};

/** The status of a step after an event about it. */
export const stepStatusAfter = {
  StepStarted: 'in_progress',
  StepCompleted: 'completed',
  StepFailed: 'failed',
} as const;

const withStep = (statuses: StepStatuses, step: StepName, status: StepStatus): StepStatuses =>
  statuses.map((was, index) => (steps[index] === step ? status : was));

/** Where a card is before its first event. */
export const atFirst: CardProgress = {
  status: 'pending',
  heldReason: null,
  steps: steps.map(() => 'pending'),
};

/** How far a card is after an event; `before` itself if the event changes nothing of it. */
export const progressAfter = (before: CardProgress, event: CardEvent): CardProgress => {
  switch (event.type) {
    case 'CardScheduled':
    case 'CardReleased':
      return { status: 'pending', heldReason: null, steps: before.steps };
    case 'CardHeld':
      return { status: 'blocked', heldReason: event.data.reason, steps: before.steps };
    case 'CardQueued':
      return { status: 'queued', heldReason: null, steps: before.steps };
    case 'StepStarted':
    case 'StepCompleted':
    case 'StepFailed': {
      const statuses = withStep(before.steps, event.data.step, stepStatusAfter[event.type]);
      return { status: floorStatus(statuses), heldReason: null, steps: statuses };
    }
    case 'CardCancelled':
      return { status: 'cancelled', heldReason: null, steps: before.steps };
    case 'CardFailed':
      return { status: 'failed', heldReason: null, steps: before.steps };
    case 'CardErased':
    case 'CardAbandoned':
    case 'ReleaseAbandoned':
      return before;
  }
};

/** The order, if the event begins a card; null for every other event. */
export const orderedBy = (event: CardEvent): Ordered | null => {
  if (event.type !== 'CardScheduled' && event.type !== 'CardHeld') return null;
  const { order, personal } = event.data;
  if (order === null) return null;
  const { recipient, message } = personal ?? noLetter;
  return { order, recipient, message };
};

const evolve = (state: Card, event: CardEvent): Card => {
  if (event.type === 'CardAbandoned') return { status: 'abandoned' };
  const ordered = orderedBy(event);
  if (ordered !== null) return { ...ordered, ...progressAfter(atFirst, event), erased: false };
  if (!isMade(state)) return state;
  return event.type === 'CardErased'
    ? { ...state, order: { ...state.order, reference: null }, ...noLetter, erased: true }
    : { ...state, ...progressAfter(state, event) };
};

export const card: Aggregate<Card, CardEvent> = {
  category: 'card',
  schemas: cardEvents,
  initial: { status: 'none' },
  evolve,
};

/** Schedules a card that a credit pays for, as the first event of an empty stream. */
export const schedule = (order: Order, letter: Letter): FirstEvent => ({
  type: 'CardScheduled',
  data: { order, personal: letter },
});

/**
 * Accepts a card that a person has to look at first; nothing is charged. (decision 31: when a held card is
 * paid for)
 */
export const acceptHeld = (order: Order, letter: Letter, reason: string): FirstEvent => ({
  type: 'CardHeld',
  data: { reason, owes: 0, order, personal: letter },
});

/**
 * The card. Throws `card_not_found`, also if the card belongs to another organization.
 * (docs/contract.md#authentication)
 */
export const requireCard = (state: Card, org: OrganizationId | null = null): MadeCard => {
  if (!isMade(state) || (org !== null && state.order.org !== org))
    throw new DomainError('card_not_found', 'There is no such card in this organization.');
  return state;
};

const notAllowed = (message: string) => new DomainError('invalid_transition', message);

/** The card, if it has one of the statuses of a rule. Throws `card_not_found`, `invalid_transition`. */
const requireStatus = (state: Card, rule: string, ...allowed: readonly CardStatus[]): MadeCard => {
  const found = requireCard(state);
  if (allowed.includes(found.status)) return found;
  const status = found.status.replace('_', ' ');
  throw notAllowed(
    `This action isn't allowed: the card is ${status}, and only ${rule}. Look the card up to see where it is.`,
  );
};

const whereabouts: Readonly<Record<'in_production' | 'written' | 'packed' | 'posted' | 'failed', string>> = {
  in_production: 'it is in production: a machine has started on it',
  written: 'it is written and waiting to be packed',
  packed: 'it is packed and stamped, in a tray for the carrier',
  posted: 'it was handed to the carrier',
  failed: 'it failed in production, and its credit was returned then',
};

/**
 * Cancels a card before a machine has started on it; a repeat records nothing. Throws `too_late_to_cancel`,
 * `card_not_found`. (docs/contract.md#transitions; decision 30: what a cancel returns)
 */
export const cancel = (state: Card): CardEvent[] => {
  const { status } = requireCard(state);
  switch (status) {
    case 'pending':
    case 'queued':
      return [{ type: 'CardCancelled', data: { owes: 1 } }];
    case 'blocked':
      return [{ type: 'CardCancelled', data: { owes: 0 } }];
    case 'cancelled':
      return [];
    default:
      throw new DomainError(
        'too_late_to_cancel',
        `This card can no longer be cancelled: ${whereabouts[status]}. ${status === 'failed' ? 'Nothing more is to be done; send it again if it should go out after all.' : 'Let it go out, or send another one after it.'}`,
      );
  }
};

/** An event shows by itself whether it is public. (decision 63: which cards send which events) */
const fromConsole = ({ source }: Order): { readonly source?: 'console' } =>
  source.kind === 'console' ? { source: 'console' } : {};

/**
 * Holds a card that no machine has started on; its credit comes back. (decision 31: when a held card is paid
 * for)
 */
export const hold =
  (reason: string) =>
  (state: Card): CardEvent[] => {
    const { order } = requireStatus(state, 'pending and queued cards can be held', 'pending', 'queued');
    const data = { reason, owes: 1, order: null, personal: null, ...fromConsole(order) };
    return [{ type: 'CardHeld', data }];
  };

/** Releases a held card; a credit is spent for it. (decision 31: when a held card is paid for) */
export const release = (state: Card): CardEvent[] => {
  const { order } = requireStatus(state, 'blocked cards can be released', 'blocked');
  return [{ type: 'CardReleased', data: fromConsole(order) }];
};

/** Queues a card for production. (decision 32: the path of a card through production) */
export const queue = (state: Card): CardEvent[] => {
  requireStatus(state, 'pending cards can be queued', 'pending');
  return [{ type: 'CardQueued', data: {} }];
};

/**
 * Reports a step of a card on the floor. A step can start once all earlier steps are completed, and again
 * after it failed. (decision 33: statuses of a step)
 */
export const reportStep =
  (step: StepName, status: ReportedStatus, machine: string | null) =>
  (state: Card): CardEvent[] => {
    const rule = 'the steps of cards from queued to packed can be reported';
    const { steps: statuses } = requireStatus(state, rule, ...onTheFloor);
    const index = steps.indexOf(step);
    const now = statuses[index];
    if (status === 'in_progress') {
      if (now !== 'pending' && now !== 'failed')
        throw notAllowed(
          `The step ${step} is ${now?.replace('_', ' ')}: it can't start. Look the card up to see where it is.`,
        );
      const missing = steps.find((_, before) => before < index && statuses[before] !== 'completed');
      if (missing !== undefined)
        throw notAllowed(
          `The step ${step} can't start until ${missing} is completed. Report that step first.`,
        );
      return [{ type: 'StepStarted', data: { step, machine } }];
    }
    if (now !== 'in_progress')
      throw notAllowed(
        `The step ${step} is not in progress, so it can't be ${status}. Report it as in_progress first.`,
      );
    return [{ type: status === 'completed' ? 'StepCompleted' : 'StepFailed', data: { step, machine } }];
  };

/**
 * Gives up a card that a machine has started on; its credit comes back. (decision 32: the path of a card
 * through production)
 */
export const fail =
  (reason: string) =>
  (state: Card): CardEvent[] => {
    requireStatus(state, 'cards from in production to packed can fail', 'in_production', 'written', 'packed');
    return [{ type: 'CardFailed', data: { reason, owes: 1 } }];
  };

/**
 * Erases everything personal of a card that is finished; a repeat records nothing.
 * (docs/operations.md#erase-personal-data)
 */
export const erase =
  (reason: string) =>
  (state: Card): CardEvent[] => {
    if (requireCard(state).erased) return [];
    requireStatus(state, 'posted, cancelled and failed cards can be erased', 'posted', 'cancelled', 'failed');
    return [{ type: 'CardErased', data: { reason } }];
  };

/**
 * Whether the event in a slot was written by the command that paid for the slot: then the spend is not void.
 * (docs/money.md, rule 4)
 */
export const isFilledByPayer = (
  { command }: Slot,
  event: Pick<RecordedEvent, 'type' | 'metadata'> | undefined,
): boolean =>
  event?.metadata.causationId === command &&
  (event.type === 'CardScheduled' || event.type === 'CardReleased');

/** The credits that an event owes. (docs/money.md, rule 3: a debt is written into the card's event) */
export const owedBy = (event: CardEvent): number => ('owes' in event.data ? event.data.owes : 0);
