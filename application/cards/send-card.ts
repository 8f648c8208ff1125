import { card, cardStream, isMade, type Card, type FirstEvent } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { cardPrice } from '../../domain/credits.js';
import { DomainError } from '../../domain/errors.js';
import { parseEvent, type RecordedEvent, type Slot } from '../../domain/events.js';
import { organization } from '../../domain/organization.js';
import {
  beginAttempt,
  recoverLostSpend,
  giveUpKey,
  isOurs,
  drawNewCode,
  ledgerRevisionBefore,
  type SendAttempt,
  type ClaimDeps,
} from './claims.js';
import { appendWrite, execute, positionOf } from '../execute.js';
import { returnOf, spendFor } from '../money/ledger-queue.js';
import { decideFor, type SeenOrganization } from '../organizations/organizations.js';
import { OutcomeUnknown, RequestOverdue } from '../outcome.js';
import {
  placeOrder,
  type CardDraft,
  type DesignCopy,
  type PlacedOrder,
  type PlaceOrderDeps,
  type SendRequest,
} from './place-order.js';
import type { Milliseconds } from '../../domain/ids.js';
import { noStream, type StreamWrite } from '../ports/event-store.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { lastPosition } from '../positions.js';
import { retry } from '../retry.js';
import type { Loaded } from '../streams.js';
import { suspended } from '../organizations/suspensions.js';
import type { UnfinishedWork } from '../money/unfinished.js';

export interface SendCardDeps extends ClaimDeps, PlaceOrderDeps {
  readonly readYourWrites: ReadYourWrites;
  /** Gets what a send leaves with an unknown outcome. */
  readonly unfinished?: UnfinishedWork;
}

/**
 * How long a send may take until it spends anything, so that what it knows of its key is no older: by both
 * clocks, because one of them may stand while a machine is suspended. (docs/contract.md#idempotency)
 */
const longestSend: Milliseconds = 45_000;

/** When a send is given up, by each of the clocks. */
interface End {
  readonly now: Milliseconds;
  readonly monotonic: Milliseconds;
}

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
    now: Date.parse(request.command.at) + longestSend,
    monotonic: clock.monotonic() + longestSend,
  };
  // Beside the claim, which may take as long.
  const looking = organizations.current(request.org);
  looking.catch(() => undefined);
  const begun = await beginAttempt(deps, request);
  if ('made' in begun) {
    await assertActive(deps, request, await looking);
    return cardMadeBefore(deps, begun.made);
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
 * Throws `suspended`: a suspension is known to whoever sends a card, in every process.
 * (decision 70: what a suspension stops)
 */
const assertActive = (
  { organizations }: SendCardDeps,
  { org }: SendRequest,
  seen: SeenOrganization,
): Promise<void> =>
  decideFor(organizations, org, seen, async ({ state }) => {
    if (state.status === 'created' && state.isSuspended) throw suspended();
  });

/**
 * A credit that was spent for a slot, and a revision of the ledger from before that; null if the spend and
 * the card are one commit.
 */
interface Paid {
  readonly since: number | null;
}

/**
 * `taken`: the code's stream has something else, and the credit that was spent for the slot must come back.
 * `unsettled`: the card may be written or not; `paid` is null if no credit was spent for it.
 */
type CardWritten =
  | { readonly kind: 'appended'; readonly position: bigint }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'taken'; readonly paid: Paid }
  | { readonly kind: 'unsettled'; readonly paid: Paid | null };

/** Tries once, with the attempt's code. Returns the card, or the attempt to go on with. */
const tryToSend = async (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  draft: CardDraft,
  seen: SeenOrganization,
  end: End,
): Promise<SentCard | SendAttempt> => {
  const { store, streams, clock } = deps;
  const at = attempt.isFresh ? notYetMade(attempt.code) : await streams.load(card, attempt.code);
  if (isOurs(at.state, request)) return finishFound(deps, request, attempt, null);
  if (at.revision !== noStream) return drawNewCode(deps, attempt);

  const placed = await placeOrder(deps, request, draft, seen);
  const { event, copy } = placed;
  await streams.ready();
  const cardWrite = streams.write(card, at, [{ event, command: request.command }]);
  const writes = store.atomic && copy !== null ? [cardWrite, copy.write] : [cardWrite];
  if (clock.now() > end.now || clock.monotonic() > end.monotonic) throw new RequestOverdue();

  try {
    const written =
      event.type === 'CardHeld'
        ? await writeUnpaid(deps, attempt, writes)
        : await writePaid(deps, request, attempt, writes);
    if (written.kind === 'conflict' && attempt.isFresh) {
      const again = await deps.organizations.current(request.org);
      return await tryToSend(deps, request, { ...attempt, isFresh: false }, draft, again, end);
    }
    if (written.kind === 'conflict') return attempt;
    if (written.kind === 'taken') return await findTaken(deps, request, attempt, placed, written.paid);
    if (written.kind === 'unsettled')
      return await settle(deps, request, attempt, placed, cardWrite, written.paid);
    return await finish(deps, request, attempt, placed, written.position, store.atomic);
  } catch (error) {
    const freed =
      error instanceof DomainError && error.code === 'no_credits'
        ? await recoverLostSpend(deps, request, attempt)
        : null;
    if (freed === null) throw error;
    return freed;
  }
};

/**
 * The stream of a code that was just drawn. It isn't read first: the code is hardly ever taken, and if it is,
 * the append finds out.
 */
const notYetMade = (code: CardCode): Loaded<Card> => ({
  stream: cardStream(code),
  state: card.initial,
  revision: noStream,
  hash: null,
  at: null,
});

const writeUnpaid = async (
  { store }: SendCardDeps,
  { claim }: SendAttempt,
  writes: readonly StreamWrite[],
): Promise<CardWritten> => {
  const outcomes = await store.append(writes, claim === null ? [] : [claim]);
  const [outcome] = outcomes;
  if (outcome?.kind === 'appended')
    return { kind: 'appended', position: lastPosition(outcome.position, outcomes) };
  return outcome?.kind === 'unknown' ? { kind: 'unsettled', paid: null } : { kind: 'conflict' };
};

const writePaid = async (
  deps: SendCardDeps,
  { org, command }: SendRequest,
  { code, claim }: SendAttempt,
  writes: readonly StreamWrite[],
): Promise<CardWritten> => {
  const slot: Slot = { card: code, revision: 0, command: command.id };
  const since = deps.store.atomic ? null : (claim?.ledgerRevision ?? (await ledgerRevisionBefore(deps, org)));
  const moved = await deps.ledgers
    .move({
      org,
      command,
      movements: [spendFor(slot, org)],
      writes,
      ...(claim !== null && { completing: claim }),
    })
    .catch((error: unknown) => {
      if (error instanceof OutcomeUnknown) leaveSpend(deps, org, slot, { since });
      throw error;
    });
  if (moved.kind === 'conflict') return moved;
  const written = moved.outcomes[0]?.kind;
  if (written === 'appended') return { kind: 'appended', position: moved.position };
  return { kind: written === 'conflict' ? 'taken' : 'unsettled', paid: { since } };
};

/**
 * Repeats the write until its outcome is known. If somebody else filled the slot, the credit that was spent
 * for it comes back, and a new code is drawn. Throws OutcomeUnknown, `production_failed`.
 */
const settle = async (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  placed: PlacedOrder,
  write: StreamWrite,
  paid: Paid | null,
): Promise<SentCard | SendAttempt> =>
  orUnknown(deps, request, attempt, paid, async () => {
    const position = await appendWrite(deps, write, request.command);
    return position === null
      ? findTaken(deps, request, attempt, placed, paid)
      : finish(deps, request, attempt, placed, position, false);
  });

/** The slot is filled: by this request's own card, or by something else, and then a new code is drawn. */
const findTaken = (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  placed: PlacedOrder,
  paid: Paid | null,
): Promise<SentCard | SendAttempt> =>
  orUnknown(deps, request, attempt, paid, async () => {
    const { state } = await deps.streams.load(card, attempt.code);
    return isOurs(state, request)
      ? finishFound(deps, request, attempt, placed.copy)
      : drawAgain(deps, request, attempt, paid, isMade(state));
  });

const orUnknown = async <T>(
  deps: SendCardDeps,
  { org, command }: SendRequest,
  { code }: SendAttempt,
  paid: Paid | null,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    leaveSpend(deps, org, { card: code, revision: 0, command: command.id }, paid);
    throw error instanceof DomainError ? error : new OutcomeUnknown(command.id);
  }
};

/** What became of a credit that may be spent for a slot is found out when the store answers again. */
const leaveSpend = (
  { unfinished }: SendCardDeps,
  org: SendRequest['org'],
  slot: Slot,
  paid: Paid | null,
): void => {
  if (paid !== null && paid.since !== null) unfinished?.spend({ org, slot, since: paid.since });
};

/**
 * If the code is another card's, this request goes on with a new one. If the reconciler has closed it, this
 * request was given up already, and only a claim says that it may go on.
 */
const drawAgain = async (
  deps: SendCardDeps,
  request: SendRequest,
  attempt: SendAttempt,
  paid: Paid | null,
  isAnothers: boolean,
): Promise<SendAttempt> => {
  if (paid !== null && (attempt.claim !== null || isAnothers))
    await returnVoidSpend(deps, request, attempt, paid);
  if (paid === null || attempt.claim !== null || isAnothers) return drawNewCode(deps, attempt);
  throw new DomainError(
    'production_failed',
    'The card could not be put into production. Nothing was made, and the credit comes back. Send it again.',
  );
};

/**
 * Returns the credit for a slot that something else has filled for good. If it fails nobody waits for it: it
 * is returned when the store answers again.
 */
const returnVoidSpend = async (
  deps: SendCardDeps,
  { org, command }: SendRequest,
  { code }: SendAttempt,
  { since }: Paid,
): Promise<void> => {
  if (since === null) return;
  const slot: Slot = { card: code, revision: 0, command: command.id };
  const movements = [returnOf({ void: slot }, org, cardPrice)];
  await deps.ledgers
    .move({ org, command, movements, since })
    .catch(() => leaveSpend(deps, org, slot, { since }));
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
    const { event, stored } = await firstEventOf(deps, attempt.code);
    const sent = await finish(deps, request, attempt, { event, copy }, await positionOf(deps, stored), false);
    return { ...sent, replay: stored.metadata.causationId !== request.command.id };
  } catch {
    throw new OutcomeUnknown(request.command.id);
  }
};

/**
 * For a card that is written: completes the claim, saves the copy of the design if the commit didn't, and
 * waits until reads show the card. Never rejects: a retry completes the claim, and the reconciler saves the
 * copy.
 */
const finish = async (
  deps: SendCardDeps,
  request: SendRequest,
  { code, claim }: SendAttempt,
  { event, copy }: PlacedOrder,
  position: bigint,
  committed: boolean,
): Promise<SentCard> => {
  const { store, idempotency, readYourWrites } = deps;
  const completed =
    claim === null || committed ? Promise.resolve(true) : idempotency.complete(claim).catch(() => false);
  const copied =
    copy !== null && !store.atomic
      ? await execute(deps, organization, request.org, request.command, copy.save).catch(() => null)
      : null;
  await Promise.all([completed, readYourWrites.afterWrite(copied?.position ?? position)]);
  return { code, event, replay: false };
};

const cardMadeBefore = async (deps: SendCardDeps, code: CardCode): Promise<SentCard> => {
  const { event, stored } = await firstEventOf(deps, code);
  await deps.readYourWrites.afterWrite(await positionOf(deps, stored));
  return { code, event, replay: true };
};

/** What began a card whose personal data was erased. */
const withoutLetter = (event: FirstEvent): FirstEvent => {
  const { order } = event.data;
  const cleared = order && { ...order, reference: null };
  return event.type === 'CardHeld'
    ? { type: event.type, data: { ...event.data, reason: null, order: cleared, personal: null } }
    : { type: event.type, data: { order: { ...event.data.order, reference: null }, personal: null } };
};

const firstEventOf = async (
  { store }: SendCardDeps,
  code: CardCode,
): Promise<{ readonly event: FirstEvent; readonly stored: RecordedEvent }> => {
  const [stored] = await store.readStream(cardStream(code), 0, 1);
  const event = stored && parseEvent(card, stored);
  if (stored === undefined || (event?.type !== 'CardScheduled' && event?.type !== 'CardHeld'))
    throw new Error(`the stream of card ${code} does not begin with a card`);
  // Nothing follows an erasure. Until the keys are destroyed, the event can still be opened.
  const isErased = (await store.readLast(cardStream(code)))?.type === 'CardErased';
  return { event: isErased ? withoutLetter(event) : event, stored };
};
