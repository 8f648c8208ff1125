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
import { cardPrice, ledger } from '../../domain/credits.js';
import type { Command, Slot } from '../../domain/events.js';
import type { OrganizationId } from '../../domain/ids.js';
import { appendTo, appendWrite, type WriteDeps } from '../execute.js';
import { returnOf, spendFor, type Ledgers, type Movement } from '../money/ledger-queue.js';
import { OutcomeUnknown } from '../outcome.js';
import type { ReadYourWrites } from '../projecting/read-your-writes.js';
import { larger } from '../positions.js';
import { retry } from '../retry.js';
import type { Loaded } from '../streams.js';
import type { UnfinishedWork } from '../money/unfinished.js';

export interface ChangeCardDeps extends WriteDeps {
  readonly ledgers: Ledgers;
  readonly readYourWrites: ReadYourWrites;
  /** Gets what a change leaves with an unknown outcome. */
  readonly unfinished?: UnfinishedWork;
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

/** One decision on a card. */
interface Change {
  readonly org: OrganizationId;
  readonly code: CardCode;
  readonly command: Command;
  /**
   * The ledger's revision, read before the card; null if no credit moves, or if the store needs none.
   * (docs/money.md, rule 2: from before the cause)
   */
  readonly since: number | null;
  readonly at: Loaded<Card>;
  /** At least one. */
  readonly events: readonly CardEvent[];
  /** Whether the first event fills a slot that a credit pays for. */
  readonly isPaid: boolean;
}

type Decide = (state: Card) => readonly CardEvent[];

/**
 * Decides on a card and records every event; the credits that they owe come back with them. Throws what the
 * decision throws, `card_not_found` (also for a card of another organization), EventStoreUnavailable and
 * TooContended if nothing was written, OutcomeUnknown. (docs/money.md#the-flows)
 */
export const changeCard = (
  deps: ChangeCardDeps,
  target: CardOf,
  command: Command,
  decide: Decide,
): Promise<ChangedCard> => change(deps, target, command, decide, null);

/** Cancels a card, and returns its credit. Throws what `changeCard` throws. */
export const cancelCard = (deps: ChangeCardDeps, target: CardOf, command: Command): Promise<ChangedCard> =>
  change(deps, target, command, cancel, 'return');

/**
 * Releases a held card, for a credit. Throws `no_credits` if the balance is empty, and what `changeCard`
 * throws.
 */
export const releaseCard = (
  deps: ChangeCardDeps,
  target: CardOf,
  command: Command,
  decide: Decide,
): Promise<ChangedCard> => change(deps, target, command, decide, 'spend');

const change = async (
  deps: ChangeCardDeps,
  { code, org: visibleTo }: CardOf,
  asked: Command,
  decide: Decide,
  /** What the change usually does with a credit; null: mostly nothing. */
  moves: 'spend' | 'return' | null,
): Promise<ChangedCard> => {
  const { store, streams, readYourWrites } = deps;
  const write = store.atomic ? writeInOneCommit : writeInTurn;
  const isPaid = moves === 'spend';
  const revisionOfLedger = async (org: OrganizationId): Promise<number> =>
    (await streams.load(ledger, org)).revision;
  /** Decides again if credits move whose ledger was not looked at before the card. */
  const decided = async (since: number | null): Promise<Omit<Change, 'code' | 'isPaid'>> => {
    const at = await streams.load(card, code);
    const { org } = requireCard(at.state, visibleTo).order;
    const events = decide(at.state);
    const isFree = !isPaid && events.every((event) => owedBy(event) === 0);
    return store.atomic || isFree || since !== null
      ? { org, command: { ...asked, org }, since, at, events }
      : decided(await revisionOfLedger(org));
  };
  return retry(deps, async () => {
    const looksFirst = !store.atomic && moves !== null && visibleTo !== null;
    const since = looksFirst ? await revisionOfLedger(visibleTo) : null;
    const change = { code, isPaid, ...(await decided(since)) };
    const { at, events } = change;
    if (events.length > 0) {
      const position = await write(deps, change).catch((error: unknown) => {
        if (error instanceof OutcomeUnknown) leaveOpen(deps, change);
        throw error;
      });
      if (position === null) return null;
      await readYourWrites.afterWrite(position);
    }
    return {
      card: requireCard(events.reduce(card.evolve, at.state)),
      creditsReturned: events.reduce((sum, event) => sum + owedBy(event), 0),
    };
  });
};

/** The slot that the change's first event fills. */
const slotOf = ({ code, at, command }: Change): Slot => ({
  card: code,
  revision: at.revision + 1,
  command: command.id,
});

const sinceOf = ({ since }: Change): number => {
  if (since === null)
    throw new TypeError('a credit is to be returned, and the ledger was not looked at first');
  return since;
};

/** What became of a change, and of the credits that it moves, is found out when the store answers again. */
const leaveOpen = ({ unfinished }: ChangeCardDeps, change: Change): void => {
  const { org, code, at, command, events, isPaid, since } = change;
  if (since === null) return;
  if (isPaid) unfinished?.spend({ org, slot: slotOf(change), since });
  events.forEach((event, index) => {
    if (owedBy(event) === 0) return;
    const revision = at.revision + 1 + index;
    unfinished?.debt({ org, card: code, revision, command: command.id, since });
  });
};

/** What the events owe. Each event is the cause of its own return. (docs/money.md, rule 1) */
const returnsOf = ({ org, code, at, events }: Change): readonly Movement[] =>
  events.flatMap((event, index) => {
    const owed = owedBy(event);
    const revision = at.revision + 1 + index;
    return owed === 0 ? [] : [returnOf({ owed: { card: code, revision } }, org, owed)];
  });

/** The position after the write; null if the card has changed since, so that it must be decided on again. */
type Written = Promise<bigint | null>;

const writeCard = async (deps: ChangeCardDeps, { at, command, events }: Change): Written =>
  (await appendTo(deps, card, at, command, events))?.position ?? null;

/** Atomic stores: the card's events with the credit that pays for them and the credits that they owe. */
const writeInOneCommit = (deps: ChangeCardDeps, change: Change): Written => {
  const paid = change.isPaid ? [spendFor(slotOf(change), change.org)] : [];
  const movements = [...paid, ...returnsOf(change)];
  return movements.length === 0 ? writeCard(deps, change) : writeWith(deps, change, movements);
};

/**
 * Stores that write one stream at a time: the credit that pays, the card's events, the credits that they owe.
 * The reconciler finishes what this can't.
 */
const writeInTurn = async (deps: ChangeCardDeps, change: Change): Written => {
  const written = await (change.isPaid ? writePaid : writeCard)(deps, change);
  const movements = returnsOf(change);
  if (written === null || movements.length === 0) return written;
  const { org, command } = change;
  const since = sinceOf(change);
  const transferred = await deps.ledgers.move({ org, command, movements, since }).catch(() => {
    throw new OutcomeUnknown(command.id);
  });
  return transferred.kind === 'moved' ? larger(written, transferred.position) : written;
};

/** If the card has changed since, its slot is filled and the spend is void: the credit is returned. */
const writePaid = async (deps: ChangeCardDeps, change: Change): Written => {
  const slot = slotOf(change);
  const position = await writeWith(deps, change, [spendFor(slot, change.org)]);
  if (position === null) await returnVoid(deps, change, slot);
  return position;
};

/** Moves credits and writes the card's events with or after them. */
const writeWith = async (
  { ledgers, ...deps }: ChangeCardDeps,
  { org, command, at, events }: Change,
  movements: readonly Movement[],
): Written => {
  const write = deps.streams.write(
    card,
    at,
    events.map((event) => ({ event, command })),
  );
  const transferred = await ledgers.move({ org, command, movements, writes: [write] });
  if (transferred.kind === 'conflict') return null;
  if (transferred.outcomes[0]?.kind === 'appended') return transferred.position;
  return appendWrite(deps, write, command).catch(() => {
    throw new OutcomeUnknown(command.id);
  });
};

/** If the credit can't be returned here, it is returned when the store answers again. */
const returnVoid = async (
  { ledgers, unfinished }: ChangeCardDeps,
  change: Change,
  slot: Slot,
): Promise<void> => {
  const { org, command } = change;
  const movements = [returnOf({ void: slot }, org, cardPrice)];
  const since = sinceOf(change);
  await ledgers.move({ org, command, movements, since }).catch(() => unfinished?.spend({ org, slot, since }));
};
