import { card, cardStream, requireCard, type CardEvent, type Order } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import { parseEvent, type Actor, type RecordedEvent } from '../../domain/events.js';
import type { Instant } from '../../domain/ids.js';
import { cards, type CardDocument } from '../../projections/cards.js';
import { asOf, recordAt, type Moment, type Past } from '../history/as-of.js';
import { foldDocument, type ReadDeps } from '../projecting/read-your-writes.js';

type RecordDeps = Pick<ReadDeps, 'store'>;

const noSuchCard = (): DomainError => new DomainError('card_not_found', 'There is no such card.');

const recordOf = async ({ store }: RecordDeps, code: CardCode, moment: Moment | null) => {
  const record = await recordAt(store, cardStream(code), moment);
  if (record.events.length === 0) throw noSuchCard();
  return record;
};

/**
 * All events of a card or of an abandoned send, oldest first, up to a moment (null: all). Throws
 * `card_not_found`, also if there was no such card yet, DamagedStream, EventStoreUnavailable.
 */
export const cardHistory = async (
  deps: RecordDeps,
  code: CardCode,
  moment: Moment | null,
): Promise<readonly RecordedEvent[]> => (await recordOf(deps, code, moment)).events;

/** A card from its own stream, and its events. */
const readRecord = async (deps: RecordDeps, code: CardCode, moment: Moment | null) => {
  const { events, erasedAt } = await recordOf(deps, code, moment);
  const history = events.map((stored) => ({ stored, event: parseEvent(card, stored) }));
  const { order, message } = requireCard(history.map(({ event }) => event).reduce(card.evolve, card.initial));
  const [document, last] = [await foldDocument(cards, events), events.at(-1)];
  if (document === null || last === undefined) throw noSuchCard();
  return { order, message, document, erasedAt, history, asOf: asOf(last) };
};

/** One thing that happened to a card, as people read it. */
export interface Happening {
  readonly at: Instant;
  readonly event: CardEvent;
  readonly actor: Actor;
  readonly requestId: string | null;
}

/** A card with all that production needs. */
export interface CardForOperator {
  readonly card: CardDocument;
  readonly order: Order;
  /** Null if it was erased or can't be read any more. */
  readonly message: string | null;
}

/**
 * A card of any organization, from its stream: as it is, or as it was at a moment. Throws `card_not_found`,
 * DamagedStream, EventStoreUnavailable.
 */
export const cardForOperator = async (
  deps: RecordDeps,
  code: CardCode,
  moment: Moment | null,
): Promise<Past<CardForOperator>> => {
  const { order, message, document, erasedAt, asOf: at } = await readRecord(deps, code, moment);
  const card = erasedAt === null ? document : { ...document, erasedAt };
  return { was: { card, order, message }, asOf: at };
};

/**
 * A card as its order page shows it. Only the floor sees that a step was repeated: `withRecovered` keeps
 * steps that failed and were started again. Throws `card_not_found`.
 */
export const readOrderPage = async (
  deps: RecordDeps,
  code: CardCode,
  { withRecovered }: { readonly withRecovered: boolean },
): Promise<CardForOperator & { readonly history: readonly Happening[] }> => {
  const { order, message, document, history: recorded } = await readRecord(deps, code, null);
  const all = recorded.map(({ stored: { metadata }, event }) => ({
    at: metadata.occurredAt,
    event,
    actor: metadata.actor,
    requestId: metadata.requestId,
  }));
  const history = withRecovered
    ? all
    : all.filter(({ event }, at) => !wasRecovered(all.slice(at + 1), event));
  return { card: document, order, message, history };
};

/** Whether a failed step was started again later. */
const wasRecovered = (later: readonly Happening[], event: CardEvent): boolean => {
  if (event.type !== 'StepFailed') return false;
  const { step } = event.data;
  return later.some(({ event: next }) => next.type === 'StepStarted' && next.data.step === step);
};
