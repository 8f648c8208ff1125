import { card, isMade, type Card } from '../domain/card.js';
import { cardCode, type CardCode } from '../domain/card-code.js';
import { giveBack, ledger, ledgerStream, movementId, type LedgerEvent } from '../domain/credits.js';
import { DomainError } from '../domain/errors.js';
import { parseEvent, type Slot } from '../domain/events.js';
import type { Milliseconds } from '../domain/ids.js';
import { appendTo, type Writing } from './execute.js';
import type { Ledgers } from './ledgers.js';
import { requestOf, type SendRequest } from './place-order.js';
import { noStream } from './ports/event-store.js';
import type { Claim, IdempotencyStore } from './ports/idempotency-store.js';

export interface Claiming extends Writing {
  readonly ledgers: Ledgers;
  readonly idempotency: IdempotencyStore;
  readonly claimTimeout: Milliseconds;
}

/** What a send works with: the code that it fills, and the claim under which it does so. */
export interface Attempt {
  readonly code: CardCode;
  readonly claim: Claim | null;
  /** The claim was taken over with its code: an earlier owner may have spent a credit for it after this revision of the ledger. */
  readonly inheritedSince: number | null;
}

/** Whether a card is the one that this request's key stands for. */
export const isOurs = (state: Card, request: SendRequest): boolean => isMade(state) && state.order.request === requestOf(request);

/** Payloads are random; one in a thousand meets a taken code once a million cards exist. (decision 23) */
const drawCode = ({ entropy }: Claiming): CardCode => cardCode([...entropy.bytes(6)].map((byte) => byte & 31));

/**
 * Claims the request's key, takes over a claim that was left behind, or finds the card that the key made before.
 * Throws `request_in_progress`, `idempotency_key_reused`. (spec: Idempotency; money.md, Take-over)
 */
export const beginAttempt = async (claiming: Claiming, request: SendRequest): Promise<Attempt | { readonly made: CardCode }> => {
  const { streams, idempotency, clock, claimTimeout } = claiming;
  const { org, command } = request;
  if (request.idempotency === null) return { code: drawCode(claiming), claim: null, inheritedSince: null };
  const { key, body } = request.idempotency;
  for (;;) {
    const code = drawCode(claiming);
    const { revision } = await streams.load(ledger, org);
    const wanted: Claim = { org, key, body, code, owner: command.id, ledgerRevision: revision, claimedAt: clock.instant() };
    const outcome = await idempotency.claim(wanted);
    if (outcome.kind === 'claimed') return { code, claim: wanted, inheritedSince: null };
    if (outcome.kind === 'completed') return { made: outcome.code as CardCode };
    if (outcome.kind === 'reused')
      throw new DomainError('idempotency_key_reused', 'This Idempotency-Key was used with a different body. Use a new key for a new card.');
    const old = outcome.claim;
    if (clock.now() - Date.parse(old.claimedAt) < claimTimeout) {
      throw new DomainError('request_in_progress', 'Another request with this Idempotency-Key is still running. Wait a second, then send it again.');
    }
    const oldCode = old.code as CardCode;
    const found = await streams.load(card, oldCode);
    if (isOurs(found.state, request)) {
      await idempotency.complete(old);
      return { made: oldCode };
    }
    const free = found.revision === noStream;
    const next: Claim = { ...wanted, code: free ? oldCode : code, ledgerRevision: old.ledgerRevision };
    if (await idempotency.replace(old, next)) return { code: free ? oldCode : code, claim: next, inheritedSince: free ? old.ledgerRevision : null };
  }
};

/** A new code for an attempt whose code is taken. Throws `production_failed` where the claim has changed hands. */
export const redraw = async (claiming: Claiming, { claim }: Attempt): Promise<Attempt> => {
  const code = drawCode(claiming);
  if (claim === null) return { code, claim: null, inheritedSince: null };
  const next: Claim = { ...claim, code };
  if (await claiming.idempotency.replace(claim, next)) return { code, claim: next, inheritedSince: null };
  throw new DomainError('production_failed', 'Another request took over this Idempotency-Key. Send it again with the same key to learn what became of it.');
};

/**
 * Called on an empty balance: perhaps the claim's earlier owner spent the credit and died. Then this takes that spend's slot, returns the credit and
 * answers the attempt to go on with. Null: there is no such spend. (money.md, Take-over)
 */
export const freeInheritedSpend = async (claiming: Claiming, request: SendRequest, attempt: Attempt): Promise<Attempt | null> => {
  if (attempt.inheritedSince === null) return null;
  const lost = await openSpend(claiming, request, attempt.code, attempt.inheritedSince);
  if (lost === null) return null;
  for (let at = await claiming.streams.load(card, attempt.code); at.state.status !== 'abandoned'; at = await claiming.streams.load(card, attempt.code)) {
    if (isOurs(at.state, request)) return attempt;
    if (at.revision !== noStream) break;
    await appendTo(claiming, card, at, request.command, [{ type: 'CardAbandoned', data: { command: lost.command } }]);
  }
  const cause = { void: lost };
  const { org, command } = request;
  await claiming.ledgers.move({ org, command, id: movementId(org, 'CreditReturned', cause), decide: giveBack(cause, 1), since: attempt.inheritedSince });
  return redraw(claiming, attempt);
};

/** A spend for a card's first slot, later than a revision, that was not returned. */
const openSpend = async ({ store }: Claiming, { org }: SendRequest, code: CardCode, since: number): Promise<Slot | null> => {
  const later = (await store.readStream(ledgerStream(org), since + 1)).map((stored): LedgerEvent => parseEvent(ledger, stored));
  const returned = new Set(later.flatMap(({ type, data }) => (type === 'CreditReturned' && 'void' in data.cause ? data.cause.void.command : [])));
  for (const { type, data } of later) if (type === 'CreditSpent' && data.cause.card === code && !returned.has(data.cause.command)) return data.cause;
  return null;
};
