import { card, cardStream, isFilledByPayer, isMade, type Card } from '../../domain/card.js';
import { cardCode, type CardCode } from '../../domain/card-code.js';
import { cardPrice, ledger, ledgerStream, type LedgerEvent } from '../../domain/credits.js';
import { DomainError } from '../../domain/errors.js';
import { parseEvent, type Slot } from '../../domain/events.js';
import type { CommandId, Milliseconds, OrganizationId } from '../../domain/ids.js';
import { appendTo, type WriteDeps } from '../execute.js';
import { returnOf, type Ledgers } from '../money/ledger-queue.js';
import { requestOf, type SendRequest } from './place-order.js';
import { noStream } from '../ports/event-store.js';
import type { KeyClaim, IdempotencyStore } from '../ports/idempotency-store.js';
import { retry } from '../retry.js';
import { streamPages } from '../stream-pages.js';

export interface ClaimDeps extends WriteDeps {
  readonly ledgers: Ledgers;
  readonly idempotency: IdempotencyStore;
  readonly claimTimeout: Milliseconds;
}

/** The card code that a send fills, and the claim under which it does so; null if it has no key. */
export interface SendAttempt {
  readonly code: CardCode;
  /** The code was drawn for this attempt, and nothing was written under it yet. */
  readonly isFresh: boolean;
  readonly claim: KeyClaim | null;
  /** The owner before, if claim and code were taken over. It may still pay for the code and fill it. */
  readonly earlierOwner: CommandId | null;
  /** Codes that the claim had before. Credits may have been spent for them. */
  readonly earlierCodes: readonly CardCode[];
}

/** Whether a card was made for this request's key. (docs/money.md, rule 7: a card names its request) */
export const isOurs = (state: Card, request: SendRequest): boolean =>
  isMade(state) && state.order.request === requestOf(request);

/** A random code. With a million cards, one draw in a thousand is taken. (decision 23: draw again then) */
const drawCode = ({ entropy }: ClaimDeps): CardCode =>
  cardCode([...entropy.bytes(6)].map((byte) => byte & 31));

/**
 * Claims the request's key, takes over a claim that was left behind, or finds the card that was made with the
 * key. Throws `request_in_progress`, `idempotency_key_reused`, TooContended. (docs/contract.md#idempotency)
 */
export const beginAttempt = async (
  deps: ClaimDeps,
  request: SendRequest,
): Promise<SendAttempt | { readonly made: CardCode }> => {
  const { idempotency } = request;
  return idempotency === null
    ? begun(drawCode(deps), null)
    : retry(deps, () => tryToClaim(deps, request, idempotency));
};

/**
 * A revision of the ledger from before anything that begins now. One that is remembered will do: it only
 * makes a search for what was begun longer. (docs/money.md, rule 2: look for your own cause before you
 * repeat)
 */
export const ledgerRevisionBefore = async (
  { streams }: Pick<ClaimDeps, 'streams'>,
  org: OrganizationId,
): Promise<number> => (streams.lastKnown(ledger, org) ?? (await streams.load(ledger, org))).revision;

/** Null if somebody else took over the claim first. */
const tryToClaim = async (
  deps: ClaimDeps,
  request: SendRequest,
  { key, body }: NonNullable<SendRequest['idempotency']>,
): Promise<SendAttempt | { readonly made: CardCode } | null> => {
  const { idempotency, clock, claimTimeout } = deps;
  const { org, command } = request;
  const code = drawCode(deps);
  const ledgerRevision = await ledgerRevisionBefore(deps, org);
  const wanted: KeyClaim = {
    org,
    key,
    body,
    code,
    owner: command.id,
    ledgerRevision,
    claimedAt: command.at,
  };
  const outcome = await idempotency.claim(wanted);
  switch (outcome.kind) {
    case 'claimed':
      return begun(code, wanted);
    case 'completed':
      return { made: outcome.code as CardCode };
    case 'reused':
      throw new DomainError(
        'idempotency_key_reused',
        'This Idempotency-Key was used with a different body. Use a new key for a new card.',
      );
    case 'running':
      // A clock that was set back must not keep a dead claim running for as long as it was set back.
      if (Math.abs(clock.now() - Date.parse(outcome.claim.claimedAt)) < claimTimeout)
        throw new DomainError(
          'request_in_progress',
          'Another request with this Idempotency-Key is still running. Wait a second, then send it again.',
        );
      return takeOver(deps, request, outcome.claim, wanted);
  }
};

/** Takes over a claim that was left behind, with its code if that is free. (docs/money.md#the-flows) */
const takeOver = async (
  deps: ClaimDeps,
  request: SendRequest,
  old: KeyClaim,
  wanted: KeyClaim,
): Promise<SendAttempt | { readonly made: CardCode } | null> => {
  const { streams, idempotency } = deps;
  const oldCode = old.code as CardCode;
  const found = await streams.load(card, oldCode);
  if (isOurs(found.state, request)) {
    await idempotency.complete(old).catch(() => false);
    return { made: oldCode };
  }
  const isFree = found.revision === noStream;
  if (!isFree) await returnSpendForTaken(deps, request, old);
  const code = isFree ? oldCode : (wanted.code as CardCode);
  const next: KeyClaim = { ...wanted, code, ledgerRevision: old.ledgerRevision };
  if (!(await idempotency.replace(old, next))) return null;
  return isFree
    ? { ...begun(code, next), isFresh: false, earlierOwner: old.owner }
    : { ...begun(code, next), earlierCodes: [oldCode] };
};

/**
 * The earlier owner may have paid for a code that was taken: once the claim has another code, nobody who
 * takes it over knows of that. If the credit can't be returned here, the reconciler returns it.
 */
const returnSpendForTaken = async (
  deps: ClaimDeps,
  { org, command }: SendRequest,
  old: KeyClaim,
): Promise<void> => {
  const lost = await voidSpendFor(deps, old);
  if (lost === null) return;
  const movements = [returnOf({ void: lost }, org, cardPrice)];
  await deps.ledgers.move({ org, command, movements, since: old.ledgerRevision }).catch(() => null);
};

const begun = (code: CardCode, claim: KeyClaim | null): SendAttempt => ({
  code,
  isFresh: true,
  claim,
  earlierOwner: null,
  earlierCodes: [],
});

/**
 * A new code for an attempt whose code is taken. Throws `production_failed` if the claim has changed hands.
 */
export const drawNewCode = async (deps: ClaimDeps, attempt: SendAttempt): Promise<SendAttempt> => {
  const { claim } = attempt;
  const earlierCodes = [...attempt.earlierCodes, attempt.code];
  // A cause names its code: a code that was paid for before can't be paid for again.
  let code = drawCode(deps);
  while (earlierCodes.includes(code)) code = drawCode(deps);
  const next = claim && { ...claim, code };
  if (claim !== null && next !== null && !(await deps.idempotency.replace(claim, next)))
    throw new DomainError(
      'production_failed',
      'Another request took over this Idempotency-Key. Send the same request again to get its result.',
    );
  return { ...begun(code, next), earlierCodes };
};

/**
 * Called if the balance is empty: a credit may have been spent under this claim for a card that was never
 * made. Takes the slot of that spend, returns the credit, and returns the attempt to go on with; null if
 * there is no such spend. (docs/money.md, rule 4: take the slot before you call a spend void)
 */
export const recoverLostSpend = async (
  deps: ClaimDeps,
  request: SendRequest,
  attempt: SendAttempt,
): Promise<SendAttempt | null> => {
  const { claim, code, earlierOwner, earlierCodes } = attempt;
  if (claim === null || (earlierOwner === null && earlierCodes.length === 0)) return null;
  for (const lost of await openSpends(deps, claim, [...earlierCodes, code])) {
    const lostCode = lost.card as CardCode;
    if (await closeCode(deps, request, lostCode, lost.command)) return attempt;
    if (await isFilled(deps, lost)) continue;
    const { org, command } = request;
    const movements = [returnOf({ void: lost }, org, cardPrice)];
    await deps.ledgers.move({ org, command, movements, since: claim.ledgerRevision });
    return lostCode === code ? drawNewCode(deps, attempt) : attempt;
  }
  return null;
};

/**
 * Releases the key after a refusal. A code that an earlier owner knows is closed first: nobody looks at it
 * again once the key is free, and a card that is written late must not find it empty. If it can't be closed,
 * the claim stays until it expires. Returns true, and releases nothing, if the earlier owner has made the
 * card. (docs/money.md, rule 8: close the code before you free the key)
 */
export const giveUpKey = async (
  deps: ClaimDeps,
  request: SendRequest,
  { code, claim, earlierOwner }: SendAttempt,
): Promise<boolean> => {
  if (claim === null) return false;
  try {
    if (earlierOwner !== null && (await closeCode(deps, request, code, earlierOwner))) return true;
    await deps.idempotency.release(claim);
  } catch {
    return false;
  }
  return false;
};

/**
 * Takes the first slot of a code's stream, so that nobody can fill it. True if the request's card is there.
 */
const closeCode = (
  deps: ClaimDeps,
  request: SendRequest,
  code: CardCode,
  command: CommandId,
): Promise<boolean> =>
  retry(deps, async () => {
    const at = await deps.streams.load(card, code);
    if (at.revision !== noStream) return isOurs(at.state, request);
    await appendTo(deps, card, at, request.command, [{ type: 'CardAbandoned', data: { command } }]);
    return null;
  });

/** A spend for the code of a claim, which is taken: its slot is filled by something else. */
const voidSpendFor = async (deps: ClaimDeps, claim: KeyClaim): Promise<Slot | null> => {
  for (const spend of await openSpends(deps, claim, [claim.code]))
    if (!(await isFilled(deps, spend))) return spend;
  return null;
};

/**
 * Whether the card that was paid for is there. Two requests may draw one code at the same time: the spend of
 * the one that got it is not void, and is nobody's but its own.
 */
const isFilled = async ({ store }: ClaimDeps, slot: Slot): Promise<boolean> => {
  const [stored] = await store.readStream(cardStream(slot.card as CardCode), slot.revision, 1);
  return isFilledByPayer(slot, stored);
};

/** Spends for the first slot of one of the codes, from the claim on, whose credit was not returned. */
const openSpends = async (
  { store }: ClaimDeps,
  { org, ledgerRevision }: KeyClaim,
  codes: readonly string[],
): Promise<readonly Slot[]> => {
  const slotName = ({ card: code, revision, command }: Slot) => `${code}@${revision}/${command}`;
  /** Spends for the codes that no return follows. */
  const open = new Map<string, Slot>();
  const observe = ({ type, data }: LedgerEvent): void => {
    if (type === 'CreditSpent' && data.cause.revision === 0 && codes.includes(data.cause.card))
      open.set(slotName(data.cause), data.cause);
    else if (type === 'CreditReturned' && 'void' in data.cause) open.delete(slotName(data.cause.void));
  };
  for await (const page of streamPages(store, ledgerStream(org), ledgerRevision + 1))
    for (const stored of page) observe(parseEvent(ledger, stored));
  return [...open.values()];
};
