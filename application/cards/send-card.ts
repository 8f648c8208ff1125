import { card, cardStream, isMade, type Card, type FirstEvent } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import { parseEvent } from '../../domain/events.js';
import type { Milliseconds } from '../../domain/ids.js';
import { organization } from '../../domain/organization.js';
import { larger, noStream } from '../ports/event-store.js';
import { execute, positionOf, retry, OutcomeUnknown, RequestOverdue } from '../writing/execute.js';
import type { Payments, PaymentResult } from '../money/payments.js';
import { decideFor, type SeenOrganization } from '../organizations/organizations.js';
import { suspended } from '../organizations/suspensions.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { notBegun, type Loaded } from '../writing/streams.js';
import {
  beginAttempt,
  drawNewCode,
  giveUpKey,
  isOurs,
  recoverLostSpend,
  type ClaimDeps,
  type SendAttempt,
} from './claims.js';
import {
  placeOrder,
  type CardDraft,
  type DesignCopy,
  type PlacedOrder,
  type PlaceOrderDeps,
  type SendRequest,
} from './place-order.js';

export interface SendCardDeps extends ClaimDeps, PlaceOrderDeps {
  readonly payments: Payments;
  readonly readYourWrites: ReadYourWrites;
}

/** How long a send may take until it spends anything. (docs/money.md, rule 10: a request has an end) */
const spendTimeout: Milliseconds = 45_000;

/** When a send is given up, by each of the clocks; by that of the keys never unless it has one. */
interface End {
  readonly keys: Milliseconds;
  readonly monotonic: Milliseconds;
}

/**
 * Whether the send is over by either clock, because the monotonic one stands still while a machine is
 * suspended, and keys of servers age. Without a key nothing that the send knows can expire.
 */
const isOver = ({ clock, idempotency }: SendCardDeps, end: End): boolean =>
  clock.monotonic() > end.monotonic ||
  idempotency.clock.now() > end.keys ||
  (end.keys < Infinity && idempotency.clock.isAgreed?.() === false);

/** The card's first event is all that a response needs, so it is the same in every replay. */
export interface SentCard {
  readonly code: CardCode;
  readonly event: FirstEvent;
  /** Whether another request with the same key made the card. */
  readonly replay: boolean;
}

/**
 * Sends one card and spends one credit; a card that needs a person is held and spends nothing. One key makes
 * one card, whatever crashes when. Throws DomainErrors, EventStoreUnavailable, IdempotencyUnavailable,
 * RequestOverdue and TooContended if nothing was created and nothing stays charged; OutcomeUnknown.
 * (docs/contract.md#sending-a-card, docs/money.md#the-flows)
 */
export const sendCard = async (deps: SendCardDeps, request: SendRequest): Promise<SentCard> => {
  const { organizations, clock } = deps;
  const end: End = {
    keys: (request.idempotency?.came ?? Infinity) + spendTimeout,
    monotonic: clock.monotonic() + spendTimeout,
  };
  // Beside the claim, which may take as long.
  const looking = organizations.current(request.org);
  looking.catch(() => undefined);
  const begun = await beginAttempt(deps, request);
  if ('made' in begun) {
    await assertActive(deps, request, await looking);
    const { event, position } = await firstEventOf(deps, begun.made);
    await deps.readYourWrites.afterWrite(position);
    return { code: begun.made, event, replay: true };
  }
  let attempt = begun;
  try {
    let seen = await looking;
    await assertActive(deps, request, seen);
    const draft = await request.draft();
    let isFirst = true;
    return await retry(deps, async () => {
      if (!isFirst) seen = await organizations.current(request.org);
      isFirst = false;
      const result = await tryToSend(deps, request, attempt, draft, seen, end);
      if ('event' in result) return result;
      attempt = result;
      return null;
    });
  } catch (error) {
    if (error instanceof OutcomeUnknown || !(await giveUpKey(deps, request, attempt))) throw error;
    return finishFound(deps, request, attempt, null);
  }
};

/**
 * Throws `suspended`. Every process that sends cards knows of a suspension. (decision 70: what a suspension
 * stops)
 */
const assertActive = (
  { organizations }: SendCardDeps,
  { org }: SendRequest,
  seen: SeenOrganization,
): Promise<void> =>
  decideFor(organizations, org, seen, async ({ state }) => {
    if (state.status === 'created' && state.isSuspended) throw suspended();
  });

/** Tries once, with the attempt's code. Returns the card, or the attempt to go on with. */
const tryToSend = async (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  draft: CardDraft,
  seen: SeenOrganization,
  end: End,
): Promise<SentCard | SendAttempt> => {
  const { streams } = deps;
  // A code that was just drawn is hardly ever taken, and if it is, the append finds out.
  const at = attempt.isFresh
    ? notBegun(card, cardStream(attempt.code))
    : await streams.load(card, attempt.code);
  if (isOurs(at.state, request)) return finishFound(deps, request, attempt, null);
  if (at.revision !== noStream) return drawNewCode(deps, attempt);

  const placed = await placeOrder(deps, request, draft, seen);
  await streams.ready();
  if (isOver(deps, end)) throw new RequestOverdue();
  try {
    const written = await write(deps, request, attempt, placed, at);
    return written === null
      ? await goOn(deps, request, attempt, placed)
      : await finish(deps, request, attempt, placed, written);
  } catch (error) {
    const freed =
      error instanceof DomainError && error.code === 'no_credits'
        ? await recoverLostSpend(deps, request, attempt)
        : null;
    if (freed === null) throw error;
    return freed;
  }
};

/** Pays for the card, unless it is held. */
const write = (
  { payments, streams }: SendCardDeps,
  { org, command }: SendRequest,
  { code, claim }: SendAttempt,
  { event, copy }: PlacedOrder,
  at: Loaded<Card>,
): Promise<PaymentResult | null> => {
  const beside = { claim, writes: copy === null ? [] : [copy.write] };
  const cardWrite = { org, command, write: streams.write(card, at, [{ event, command }]), beside };
  const slot = { card: code, revision: 0, command: command.id };
  return event.type === 'CardHeld'
    ? payments.record({ owed: [], since: null, ...cardWrite })
    : payments.pay({ slot, since: claim?.ledgerRevision ?? null, ...cardWrite });
};

/**
 * Nothing was written: the slot is filled, or the organization has changed. If the code is another card's,
 * this request goes on with a new one. If the reconciler has closed it, this request was given up already,
 * and only a claim says that it may go on. Throws OutcomeUnknown, `production_failed`.
 */
const goOn = async (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  { event, copy }: PlacedOrder,
): Promise<SentCard | SendAttempt> => {
  const mayGoOn = attempt.claim !== null || event.type === 'CardHeld';
  try {
    const { state, revision } = await deps.streams.load(card, attempt.code);
    if (isOurs(state, request)) return await finishFound(deps, request, attempt, copy);
    if (revision === noStream) return { ...attempt, isFresh: false };
    if (mayGoOn || isMade(state)) return await drawNewCode(deps, attempt);
  } catch (error) {
    throw error instanceof DomainError ? error : new OutcomeUnknown(request.command.id);
  }
  throw new DomainError(
    'production_failed',
    'The card could not be put into production. Nothing was made, and the credit comes back. Send it again.',
  );
};

/**
 * For a card that this request finds in the card's stream. Throws OutcomeUnknown if anything fails, because a
 * refusal would deny a card that exists.
 */
const finishFound = async (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  copy: DesignCopy | null,
): Promise<SentCard> => {
  try {
    const { event, position, command } = await firstEventOf(deps, attempt.code);
    const sent = await finish(deps, request, attempt, { event, copy }, { position, isComplete: false });
    return { ...sent, replay: command !== request.command.id };
  } catch {
    throw new OutcomeUnknown(request.command.id);
  }
};

/**
 * For a card that is written: completes the claim and saves the copy of the design if the commit didn't, and
 * waits until reads show the card. Never rejects: a retry completes the claim, and the reconciler saves the
 * copy.
 */
const finish = async (
  deps: SendCardDeps,
  { org, command }: SendRequest,
  { code, claim }: SendAttempt,
  { event, copy }: PlacedOrder,
  { position, isComplete }: PaymentResult,
): Promise<SentCard> => {
  const { idempotency, readYourWrites } = deps;
  const completed =
    claim === null || isComplete ? Promise.resolve(true) : idempotency.complete(claim).catch(() => false);
  const copied =
    copy === null || isComplete
      ? null
      : await execute(deps, organization, org, command, copy.save).catch(() => null);
  const shown = larger(copied?.position ?? position, position);
  await Promise.all([completed, readYourWrites.afterWrite(shown)]);
  return { code, event, replay: false };
};

/** The first event of a card whose personal data was erased. */
const withoutLetter = (event: FirstEvent): FirstEvent => {
  const { order } = event.data;
  const cleared = order && { ...order, reference: null };
  return event.type === 'CardHeld'
    ? { type: event.type, data: { ...event.data, reason: null, order: cleared, personal: null } }
    : { type: event.type, data: { order: { ...event.data.order, reference: null }, personal: null } };
};

/** A card's first event, the command that wrote it, and a position at or after it. */
const firstEventOf = async ({ store }: SendCardDeps, code: CardCode) => {
  const [stored] = await store.readStream(cardStream(code), 0, 1);
  const event = stored && parseEvent(card, stored);
  if (stored === undefined || (event?.type !== 'CardScheduled' && event?.type !== 'CardHeld'))
    throw new Error(`the stream of card ${code} does not begin with a card`);
  // Nothing follows an erasure. Until the keys are destroyed, the event can still be opened.
  const isErased = (await store.readLast(cardStream(code)))?.type === 'CardErased';
  const position = await positionOf({ store }, stored);
  return { event: isErased ? withoutLetter(event) : event, position, command: stored.metadata.causationId };
};
