import {
  isMade,
  queue,
  reportStep,
  steps,
  type Card,
  type CardEvent,
  type StepStatuses,
} from '../domain/card.js';
import type { CardCode } from '../domain/card-code.js';
import { DomainError } from '../domain/errors.js';
import type { Milliseconds } from '../domain/ids.js';
import { today } from '../domain/calendar.js';
import { cards, onTheFloor, type CardDocument } from '../projections/cards.js';
import { changeCard, type ChangeCardDeps } from './change-card.js';
import { newCommand, type Initiator } from './commands.js';
import type { OrderPlanning } from './place-order.js';
import type { AgendaQuery, ReadModels, Stored } from './ports/read-models.js';

export interface FloorDeps extends ChangeCardDeps {
  readonly readModels: ReadModels;
  readonly planning: OrderPlanning;
}

const system = (id: string): Initiator => ({ actor: { kind: 'system', id }, requestId: null });

/** A card that moved on since its row was read is somebody else's business. */
const movedOn = (error: unknown): null => {
  if (error instanceof DomainError) return null;
  throw error;
};

const batchSize = 200;

/**
 * Sends the cards whose day has come to the floor, once they have been pending for a while: until then they
 * are found as they were answered. Answers how many. The rows say where to look; each card's own stream
 * decides. (decision 32)
 */
export const queueDueCards = async (deps: FloorDeps, pendingFor: Milliseconds): Promise<number> => {
  const { readModels, clock, planning } = deps;
  const day = today(clock.instant(), planning.timeZone);
  const rested = clock.now() - pendingFor;
  let queued = 0;
  for (let after: AgendaQuery['after'] | null = null; ;) {
    const due: readonly Stored<CardDocument>[] = await readModels.agenda(cards, {
      upTo: day,
      limit: batchSize,
      ...(after !== null && { after }),
    });
    const ready = due.filter(({ document }) => Date.parse(document.pendingSince) <= rested);
    const moved = await Promise.all(
      ready.map(({ document }) => move(deps, document.code, 'due-cards', queue)),
    );
    queued += moved.filter((change) => change !== null).length;
    const last = due.at(-1);
    if (last === undefined || due.length < batchSize) return queued;
    after = { agenda: last.document.due, created: last.created };
  }
};

const move = (deps: FloorDeps, code: string, who: string, decide: (state: Card) => CardEvent[]) =>
  changeCard(deps, { code: code as CardCode, org: null }, newCommand(deps, system(who), null), decide).catch(
    movedOn,
  );

const machine = 'simulation';

/** Completes the step that is in readYourWrites. */
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

const mostSimulated = 1_000;

/**
 * One tick of the pretended floor: every card on it completes the step that runs and starts the next one. For
 * demos. (operations.md, FLOOR_SIMULATION)
 */
export const simulateFloor = async (deps: FloorDeps): Promise<void> => {
  const working = await deps.readModels.agenda(cards, {
    after: { agenda: onTheFloor, created: 0n },
    upTo: onTheFloor,
    limit: mostSimulated,
  });
  for (const { document } of working) {
    await move(deps, document.code, 'floor-simulation', completeStep);
    await move(deps, document.code, 'floor-simulation', startStep);
  }
};
