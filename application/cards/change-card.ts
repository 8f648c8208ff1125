import {
  cancel,
  card,
  owedBy,
  requireCard,
  type Card,
  type CardEvent,
  type MadeCard,
} from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import type { Command } from '../../domain/events.js';
import { DomainError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { organization, whyHeld } from '../../domain/organization.js';
import { positionOfLast, retry, type WriteDeps } from '../writing/execute.js';
import type { Payments, PaymentResult } from '../money/payments.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import type { Loaded } from '../writing/streams.js';

export interface ChangeCardDeps extends WriteDeps {
  readonly payments: Payments;
  readonly readYourWrites: ReadYourWrites;
}

/** A card's code, and the organization that may see the card; null: any may (for operators). */
export interface CardOf {
  readonly code: CardCode;
  readonly org: OrganizationId | null;
}

export interface ChangedCard {
  readonly card: MadeCard;
  readonly creditsReturned: number;
}

type DecideCard = (state: Card) => readonly CardEvent[];

/**
 * Decides on a card and records every event; the credits that they owe come back with them. Throws the
 * decision's errors, `card_not_found` (also for a card of another organization), EventStoreUnavailable and
 * TooContended if nothing was written, OutcomeUnknown. (docs/money.md#the-flows)
 */
export const changeCard = (
  deps: ChangeCardDeps,
  target: CardOf,
  command: Command,
  decide: DecideCard,
): Promise<ChangedCard> => change(deps, target, command, decide, null);

/** Cancels a card, and returns its credit. Throws the errors of `changeCard`. */
export const cancelCard = (deps: ChangeCardDeps, target: CardOf, command: Command): Promise<ChangedCard> =>
  change(deps, target, command, cancel, 'return');

/**
 * Releases a held card, for a credit. Throws `no_credits` if the balance is empty, `invalid_transition` if
 * its design was withdrawn or erased, and the errors of `changeCard`.
 */
export const releaseCard = (
  deps: ChangeCardDeps,
  target: CardOf,
  command: Command,
  decide: DecideCard,
): Promise<ChangedCard> => change(deps, target, command, decide, 'spend');

const change = async (
  deps: ChangeCardDeps,
  { code, org: visibleTo }: CardOf,
  asked: Command,
  decide: DecideCard,
  /** The usual effect of the change on a credit; null: mostly none. */
  moves: 'spend' | 'return' | null,
): Promise<ChangedCard> => {
  const { payments, streams, readYourWrites } = deps;
  const isPaid = moves === 'spend';
  /** Decides again if credits move whose ledger was not looked at before the card. (docs/money.md, rule 2) */
  const decided = async (since: number | null): Promise<CardDecision> => {
    const at = await streams.load(card, code);
    const { org, design } = requireCard(at.state, visibleTo).order;
    const events = await decideOn(deps, at, decide);
    const goesOn = isPaid || events.some(({ type }) => type === 'CardQueued');
    const reason = goesOn ? whyHeld((await streams.load(organization, org)).state, design.id) : null;
    if (reason !== null) throw new DomainError('invalid_transition', `${reason}.`);
    const isFree = !isPaid && events.every((event) => owedBy(event) === 0);
    return isFree || since !== null
      ? { org, command: { ...asked, org }, since, at, events }
      : decided(await payments.before(org));
  };
  return retry(deps, async () => {
    const looksFirst = moves !== null && visibleTo !== null;
    const { at, events, ...write } = await decided(looksFirst ? await payments.before(visibleTo) : null);
    if (events.length === 0) await untilShown(deps, at);
    else {
      const written = await record(deps, code, { at, events, ...write }, isPaid);
      if (written === null) return null;
      await readYourWrites.afterWrite(written.position);
    }
    return {
      card: requireCard(events.reduce(card.evolve, at.state)),
      creditsReturned: events.reduce((sum, event) => sum + owedBy(event), 0),
    };
  });
};

/** A refusal tells the card's state, too: reads show it then, unless nothing says when. */
const decideOn = async (
  deps: ChangeCardDeps,
  at: Loaded<Card>,
  decide: DecideCard,
): Promise<readonly CardEvent[]> => {
  try {
    return decide(at.state);
  } catch (error) {
    await untilShown(deps, at).catch(() => undefined);
    throw error;
  }
};

/** For an answer from a state that another request may have written, and not been answered for yet. */
const untilShown = async (deps: ChangeCardDeps, at: Loaded<Card>): Promise<void> => {
  const position = await positionOfLast(deps, at);
  if (position !== null) await deps.readYourWrites.afterWrite(position);
};

/**
 * A decision about to be recorded. `since`: the ledger's revision from before the card was read; null if no
 * credit moves.
 */
interface CardDecision {
  readonly org: OrganizationId;
  readonly command: Command;
  readonly since: number | null;
  readonly at: Loaded<Card>;
  readonly events: readonly CardEvent[];
}

/** Null if the card has changed since, so that it must be decided on again. */
const record = async (
  { payments, streams }: ChangeCardDeps,
  code: CardCode,
  { org, command, since, at, events }: CardDecision,
  isPaid: boolean,
): Promise<PaymentResult | null> => {
  const decided = events.map((event) => ({ event, command }));
  const write = streams.write(card, at, decided);
  const first = at.revision + 1;
  const owed = events.flatMap((event, index) => {
    const amount = owedBy(event);
    return amount === 0 ? [] : [{ card: code, revision: first + index, amount }];
  });
  const slot = { card: code, revision: first, command: command.id };
  const written = isPaid
    ? await payments.pay({ org, command, write, slot, since })
    : await payments.record({ org, command, write, owed, since });
  if (written !== null) streams.appended(card, at, decided, write, written.position);
  return written;
};
