import {
  hold,
  isMade,
  queue,
  reportStep,
  steps,
  type Card,
  type CardEvent,
  type StepStatuses,
} from '../../domain/card.js';
import type { CardCode } from '../../domain/card-code.js';
import { DomainError, insteadOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import { today } from '../../domain/calendar.js';
import { organization, whyHeld } from '../../domain/organization.js';
import { cards, onTheFloor, type CardDocument } from '../../projections/cards.js';
import { changeCard, type ChangeCardDeps } from './change-card.js';
import { newCommand, service } from '../writing/execute.js';
import type { OrderPlanning } from './place-order.js';
import { pagesAfter } from '../ports/event-store.js';
import type { ReadModels, Stored } from '../ports/read-models.js';
import { nextTurn } from '../timing/next-turn.js';

export interface FloorDeps extends ChangeCardDeps {
  readonly readModels: ReadModels;
  readonly planning: OrderPlanning;
}

/** A card that has changed since its row was read may refuse the change, and needs none. */
const ignoreRefusal = insteadOf(DomainError, null);

const batchSize = 200;

/**
 * Sends the cards that are due to the floor. They have been pending for `pendingFor` by then, so that a
 * client can look up a card as the response described it. Rows only say where to look; the card's stream
 * decides. Returns how many it sent. (decision 32: the path of a card through production)
 */
export const queueDueCards = async (deps: FloorDeps, pendingFor: Milliseconds): Promise<number> => {
  const { readModels, clock, planning } = deps;
  const day = today(clock.instant(), planning.timeZone);
  const now = clock.now();
  let queued = 0;
  const dueAfter = (last?: Stored<CardDocument>) => {
    const after = last && { agenda: last.document.due, created: last.created };
    return readModels.agenda(cards, { upTo: day, limit: batchSize, ...(after && { after }) });
  };
  for await (const due of pagesAfter(batchSize, dueAfter)) {
    // A clock that was set back must not keep a card from the floor for as long.
    const ready = due.filter(
      ({ document }) => Math.abs(now - Date.parse(document.pendingSince)) >= pendingFor,
    );
    const changed = await Promise.all(ready.map(({ document }) => queueOne(deps, document)));
    queued += changed.filter((card) => card !== null).length;
  }
  return queued;
};

/** Null if the card refuses. It is held if its design went out of use after the last look at its cards. */
const queueOne = async (deps: FloorDeps, { org, code, design }: CardDocument) => {
  const queued = await changeAs(deps, 'due-cards', code, queue);
  if (queued !== null) return queued;
  const reason = whyHeld((await deps.streams.load(organization, org)).state, design);
  if (reason !== null) await changeAs(deps, 'due-cards', code, hold(reason));
  return null;
};

/** Changes a card as a part of the service; null if the card refuses. */
export const changeAs = (deps: FloorDeps, part: string, code: string, decide: (state: Card) => CardEvent[]) =>
  changeCard(
    deps,
    { code: code as CardCode, org: null },
    newCommand(deps, service(part), null),
    decide,
  ).catch(ignoreRefusal);

const machine = 'simulation';

/** Completes the step that is in progress. */
const completeStep = (state: Card): CardEvent[] => {
  const step = steps[statusesOf(state).indexOf('in_progress')];
  return step === undefined ? [] : reportStep(step, 'completed', machine)(state);
};

/** Starts the first step that is not completed. */
const startStep = (state: Card): CardEvent[] => {
  const statuses = statusesOf(state);
  const step = steps[statuses.findIndex((status) => status !== 'completed')];
  return step === undefined || statuses.includes('in_progress')
    ? []
    : reportStep(step, 'in_progress', machine)(state);
};

const statusesOf = (state: Card): StepStatuses => (isMade(state) ? state.steps : []);

const maxSimulated = 1_000;

/** The cards on the floor, those that were sent first before others, from a place on. */
export async function* cardsOnFloor(
  readModels: Pick<ReadModels, 'agenda'>,
  created = 0n,
): AsyncGenerator<Stored<CardDocument>, void, undefined> {
  const rowsAfter = (last?: Stored<CardDocument>) => {
    const after = { agenda: onTheFloor, created: last?.created ?? created };
    return readModels.agenda(cards, { after, upTo: onTheFloor, limit: batchSize });
  };
  for await (const rows of pagesAfter(batchSize, rowsAfter)) {
    yield* rows;
    await nextTurn();
  }
}

/**
 * For demos, if FLOOR_SIMULATION is set: every card on the floor completes its step and starts the next one.
 */
export const simulateFloor = async (deps: FloorDeps): Promise<void> => {
  let left = maxSimulated;
  for await (const { document } of cardsOnFloor(deps.readModels)) {
    if (left-- === 0) return;
    await changeAs(deps, 'floor-simulation', document.code, completeStep);
    await changeAs(deps, 'floor-simulation', document.code, startStep);
  }
};
