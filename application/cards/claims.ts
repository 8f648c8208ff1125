import { card, isMade, type Card } from '../../domain/card.js';
import { cardCode, type CardCode } from '../../domain/card-code.js';
import { DomainError } from '../../domain/errors.js';
import { Instant, type CommandId, type Milliseconds, type Uuid } from '../../domain/ids.js';
import { appendTo, retry } from '../writing/execute.js';
import { ledgerRevisionBefore, movementsAfter } from '../money/ledger-queue.js';
import { spendFor } from '../../domain/credits.js';
import { settleSpend, type SettlingDeps, type Spend } from '../money/settle-spend.js';
import { requestOf, type KeyedRequest, type SendRequest } from './place-order.js';
import { noStream } from '../ports/event-store.js';
import type { KeyClaim, IdempotencyStore } from '../ports/idempotency-store.js';

export interface ClaimDeps extends SettlingDeps {
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

/** Null if another process took over the claim first. */
const tryToClaim = async (
  deps: ClaimDeps,
  request: SendRequest,
  { key, body, came }: KeyedRequest,
): Promise<SendAttempt | { readonly made: CardCode } | null> => {
  const { idempotency, claimTimeout } = deps;
  const { org, command } = request;
  const code = drawCode(deps);
  const claimedAt = Instant.parse(new Date(came).toISOString());
  const ledgerRevision = await ledgerRevisionBefore(deps, org);
  const wanted: KeyClaim = { org, key, body, code, owner: command.id, ledgerRevision, claimedAt };
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
      // A server's clock that was set back must not keep a dead claim running for as long.
      if (Math.abs(idempotency.clock.now() - Date.parse(outcome.claim.claimedAt)) < claimTimeout)
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
  // The earlier owner may have paid for a code that was taken: once the claim has another code, later owners
  // can't know that. If the credit can't be returned here, the reconciler returns it.
  const lost = isFree ? [] : await openSpends(deps, old, [oldCode]);
  for (const spend of lost) await settleSpend(deps, request.command, spend).catch(() => null);
  const code = isFree ? oldCode : (wanted.code as CardCode);
  const next: KeyClaim = { ...wanted, code, ledgerRevision: old.ledgerRevision };
  if (!(await idempotency.replace(old, next))) return null;
  return isFree
    ? { ...begun(code, next), isFresh: false, earlierOwner: old.owner }
    : { ...begun(code, next), earlierCodes: [oldCode] };
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
  for (const spend of await openSpends(deps, claim, [...earlierCodes, code])) {
    const settled = await settleSpend(deps, request.command, spend);
    const lostCode = spend.slot.card as CardCode;
    if (isOurs((await deps.streams.load(card, lostCode)).state, request)) return attempt;
    // Two requests may draw one code at the same time: the spend of the one that got it is its own.
    if (settled === 'returned') return lostCode === code ? drawNewCode(deps, attempt) : attempt;
  }
  return null;
};

/**
 * Releases the key after a refusal. A code that an earlier owner knows is closed first: once the key is free,
 * no process looks at the code again, and a card that is written late must not find it empty. If it can't be
 * closed, the claim stays until it expires. Returns true, and releases nothing, if the earlier owner has made
 * the card. (docs/money.md, rule 8: close the code before you free the key)
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
    // It expires.
  }
  return false;
};

/**
 * Takes the first slot of a code's stream, so that no card can fill it. True if the request's card is there.
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

/** Spends for the first slot of one of the codes, from the claim on, whose credit was not returned. */
const openSpends = async (
  { store }: ClaimDeps,
  { org, ledgerRevision: since }: KeyClaim,
  codes: readonly string[],
): Promise<readonly Spend[]> => {
  const open = new Map<Uuid, Spend>();
  for await (const { stored, event } of movementsAfter(store, org, since)) {
    const { type, data } = event;
    if (type === 'CreditSpent' && data.cause.revision === 0 && codes.includes(data.cause.card))
      open.set(stored.id, { org, slot: data.cause, amount: data.amount, since });
    if (type === 'CreditReturned' && 'void' in data.cause) open.delete(spendFor(data.cause.void, org).id);
  }
  return [...open.values()];
};
