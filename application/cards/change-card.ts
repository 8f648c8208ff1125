import { card, owedBy, requireCard, type Card, type CardEvent, type MadeCard } from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import type { Command } from '../../domain/events.js';
import { DomainError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { organization, whyHeld } from '../../domain/organization.js';
import { positionOfLast, retry, type WriteDeps } from '../writing/execute.js';
import type { Payments } from '../money/payments.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { decidedBy, type Loaded } from '../writing/streams.js';

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
 * Decides on a card and records every event; the credits that they owe come back with them, and a release is
 * paid for. Throws the decision's errors, `card_not_found` (also for a card of another organization),
 * `no_credits`, `invalid_transition` if a card whose design was withdrawn or erased would go on,
 * EventStoreUnavailable and TooContended if nothing was written, OutcomeUnknown. (docs/money.md#the-flows)
 */
export const changeCard = (
  deps: ChangeCardDeps,
  { code, org: visibleTo }: CardOf,
  asked: Command,
  decide: DecideCard,
): Promise<ChangedCard> => {
  const { payments, streams, readYourWrites } = deps;
  /** `since`: the ledger's revision from before the card is read. Null if the card has changed meanwhile. */
  const attempt = async (since: number | null): Promise<ChangedCard | null> => {
    const at = await streams.load(card, code);
    const { org, design } = requireCard(at.state, visibleTo).order;
    const events = await decideOn(deps, at, decide);
    const isPaid = events.some(({ type }) => type === 'CardReleased');
    const goesOn = isPaid || events.some(({ type }) => type === 'CardQueued');
    const reason = goesOn ? whyHeld((await streams.load(organization, org)).state, design.id) : null;
    if (reason !== null) throw new DomainError('invalid_transition', `${reason}.`);
    const first = at.revision + 1;
    const owed = events
      .map((event, index) => ({ card: code, revision: first + index, amount: owedBy(event) }))
      .filter(({ amount }) => amount > 0);
    // Credits move: their ledger is to be looked at before the card. (docs/money.md, rule 2)
    if (since === null && (isPaid || owed.length > 0)) return attempt(await payments.before(org));
    if (events.length === 0) await untilShown(deps, at);
    else {
      const command = { ...asked, org };
      const decided = decidedBy(command, events);
      const write = streams.write(card, at, decided);
      const slot = { card: code, revision: first, command: command.id };
      const written = isPaid
        ? await payments.pay({ org, command, write, slot, since })
        : await payments.record({ org, command, write, owed, since });
      if (written === null) return null;
      streams.appended(card, at, decided, write, written.position);
      await readYourWrites.afterWrite(written.position);
    }
    return {
      card: requireCard(events.reduce(card.evolve, at.state)),
      creditsReturned: owed.reduce((sum, { amount }) => sum + amount, 0),
    };
  };
  // What an organization changes itself moves credits nearly always.
  return retry(deps, async () => attempt(visibleTo === null ? null : await payments.before(visibleTo)));
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
