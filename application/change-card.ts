import { card, requireCard, owedBy, type Card, type CardEvent, type MadeCard } from '../domain/card.js';
import type { CardCode } from '../domain/card-code.js';
import { cardPrice, giveBack, ledger, movementId, spend, type Return } from '../domain/credits.js';
import type { Command, Slot } from '../domain/events.js';
import type { OrganizationId } from '../domain/ids.js';
import { appendTo, appendWrite, type WriteDeps } from './execute.js';
import type { Ledgers } from './ledgers.js';
import { OutcomeUnknown } from './outcome.js';
import type { ReadYourWrites } from './read-your-writes.js';
import { retry } from './retry.js';
import type { Loaded } from './streams.js';

export interface ChangeCardDeps extends WriteDeps {
  readonly ledgers: Ledgers;
  readonly readYourWrites: ReadYourWrites;
}

/** A card's code, and the organization that may see it; null: any (the operator's). */
export interface CardOf {
  readonly code: CardCode;
  readonly org: OrganizationId | null;
}

export interface ChangedCard {
  readonly card: MadeCard;
  readonly creditsReturned: number;
}

interface Step {
  readonly org: OrganizationId;
  readonly code: CardCode;
  readonly command: Command;
  /** The ledger's revision, read before the card. (money.md, rule 2) */
  readonly since: number;
  readonly at: Loaded<Card>;
  readonly event: CardEvent;
}

/**
 * What became of one decision: the position behind it, or null where the card moved on meanwhile and it has
 * to be decided again.
 */
type Written = bigint | null;

/**
 * Decides on a card and records what was decided; a credit that it owes comes back with it. Throws what the
 * decision throws, `card_not_found` (also for a card of another organization), EventStoreUnavailable and
 * TooContended where nothing was written, OutcomeUnknown. (spec: Transitions; money.md, Cancel)
 */
export const changeCard = (
  deps: ChangeCardDeps,
  target: CardOf,
  command: Command,
  decide: (state: Card) => readonly CardEvent[],
): Promise<ChangedCard> =>
  change(deps, target, command, decide, (step) =>
    owedBy(step.event) > 0 ? writeOwing(deps, step) : writePlain(deps, step),
  );

/**
 * Releases a held card, paid for by a credit. Throws `no_credits` on an empty balance, and as `changeCard`.
 * (decision 31; money.md, Release)
 */
export const releaseCard = (
  deps: ChangeCardDeps,
  target: CardOf,
  command: Command,
  decide: (state: Card) => readonly CardEvent[],
): Promise<ChangedCard> => change(deps, target, command, decide, (step) => writePaid(deps, step));

const change = async (
  deps: ChangeCardDeps,
  { code, org: wanted }: CardOf,
  given: Command,
  decide: (state: Card) => readonly CardEvent[],
  write: (step: Step) => Promise<Written>,
): Promise<ChangedCard> => {
  const { streams, readYourWrites } = deps;
  const { org } = requireCard((await streams.load(card, code)).state, wanted).order;
  const command = { ...given, org };
  return retry(deps, async () => {
    const { revision: since } = await streams.load(ledger, org);
    const at = await streams.load(card, code);
    const [event] = decide(at.state);
    if (event === undefined) return { card: requireCard(at.state), creditsReturned: 0 };
    const position = await write({ org, code, command, since, at, event });
    if (position === null) return null;
    await readYourWrites.afterWrite(position);
    return { card: requireCard(card.evolve(at.state, event)), creditsReturned: owedBy(event) };
  });
};

const writePlain = async (deps: ChangeCardDeps, { at, command, event }: Step): Promise<Written> =>
  (await appendTo(deps, card, at, command, [event]))?.position ?? null;

/**
 * The card's event and the credit that it owes: in one commit where the store can; else the return follows,
 * and where it can't, the reconciler brings it.
 */
const writeOwing = async (deps: ChangeCardDeps, step: Step): Promise<Written> => {
  const { store, streams, ledgers } = deps;
  const { org, code, command, since, at, event } = step;
  const cause: Return = { owed: { card: code, revision: at.revision + 1 } };
  const movement = {
    org,
    command,
    id: movementId(org, 'CreditReturned', cause),
    decide: giveBack(cause, owedBy(event)),
  };
  if (store.atomic) {
    const moved = await ledgers.move({ ...movement, with: [streams.write(card, at, [{ event, command }])] });
    return moved.kind === 'moved' ? moved.position : null;
  }
  const written = await writePlain(deps, step);
  if (written === null) return null;
  const moved = await ledgers.move({ ...movement, since }).catch(() => {
    throw new OutcomeUnknown(command.id);
  });
  return moved.kind === 'moved' && moved.position > written ? moved.position : written;
};

/**
 * The credit and the card's event that it pays for. A slot that somebody else filled makes the spend void.
 * (money.md, Release)
 */
const writePaid = async (deps: ChangeCardDeps, step: Step): Promise<Written> => {
  const { streams, ledgers } = deps;
  const { org, code, command, at, event } = step;
  const slot: Slot = { card: code, revision: at.revision + 1, command: command.id };
  const write = streams.write(card, at, [{ event, command }]);
  const moved = await ledgers.move({
    org,
    command,
    id: movementId(org, 'CreditSpent', slot),
    decide: spend(slot),
    with: [write],
  });
  if (moved.kind === 'conflict') return null;
  const [outcome] = moved.outcomes;
  if (outcome?.kind === 'appended') return moved.position;
  const position = await appendWrite(deps, write, command).catch(() => {
    throw new OutcomeUnknown(command.id);
  });
  if (position === null) await returnVoid(deps, step, slot);
  return position;
};

/**
 * The credit of a spend whose slot somebody else filled: it comes back before the refusal is answered. Where
 * that fails, the reconciler returns it.
 */
const returnVoid = async (
  { ledgers }: ChangeCardDeps,
  { org, command, since }: Step,
  slot: Slot,
): Promise<void> => {
  const cause: Return = { void: slot };
  await ledgers
    .move({
      org,
      command,
      id: movementId(org, 'CreditReturned', cause),
      decide: giveBack(cause, cardPrice),
      since,
    })
    .catch(() => null);
};
