import {
  cancel,
  card,
  erase,
  fail,
  hold,
  isMade,
  queue,
  release,
  reportStep,
  stepStatusAfter,
  type Card,
  type CardEvent,
} from '../../domain/card.js';
import { parseEvent, type EventMetadata, type RecordedEvent } from '../../domain/events.js';
import { categoryOf, type StreamName } from '../../domain/ids.js';

/** The decision that records such an event; null for one that a decision on a card does not bring. */
const decisionOf = (event: CardEvent): ((state: Card) => readonly CardEvent[]) | null => {
  switch (event.type) {
    case 'CardScheduled':
    case 'CardAbandoned':
    case 'ReleaseAbandoned':
      return null;
    case 'CardHeld':
      return event.data.order === null ? hold(event.data.reason ?? '') : null;
    case 'CardReleased':
      return release;
    case 'CardQueued':
      return queue;
    case 'StepStarted':
    case 'StepCompleted':
    case 'StepFailed':
      return reportStep(event.data.step, stepStatusAfter[event.type], null);
    case 'CardCancelled':
      return cancel;
    case 'CardFailed':
      return fail(event.data.reason ?? '');
    case 'CardErased':
      return erase(event.data.reason);
  }
};

const isAllowed = (state: Card, event: CardEvent): boolean => {
  const decide = decisionOf(event);
  if (decide === null) return event.type === 'ReleaseAbandoned' ? isMade(state) : state.status === 'none';
  try {
    return decide(state).some(({ type }) => type === event.type);
  } catch {
    return false;
  }
};

type ExportLine = Partial<Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type'>> & {
  readonly data?: string;
  readonly metadata?: string;
};

function* linesIn(file: Buffer): Generator<string> {
  for (let start = 0; start < file.length;) {
    const end = file.indexOf('\n', start);
    const stop = end === -1 ? file.length : end;
    yield file.toString('utf8', start, stop);
    start = stop + 1;
  }
}

/**
 * Events of cards in an export that break the service's own rules about transitions. Cards whose beginning is
 * not in the export are skipped.
 */
export const forbiddenTransitions = (file: Buffer): readonly string[] => {
  const states = new Map<StreamName, Card>();
  const found: string[] = [];
  for (const text of linesIn(file)) {
    const { stream, revision, id, type, data, metadata }: ExportLine =
      text === '' ? {} : (JSON.parse(text) as ExportLine);
    if (stream === undefined || revision === undefined || id === undefined || type === undefined) continue;
    if (categoryOf(stream) !== 'card' || (revision > 0 && !states.has(stream))) continue;
    const recorded = {
      data: { personal: null, ...(JSON.parse(data ?? '{}') as object) },
      metadata: JSON.parse(metadata ?? '{}') as EventMetadata,
    };
    const event = parseEvent(card, { id, stream, revision, position: null, type, ...recorded });
    const state = states.get(stream) ?? card.initial;
    if (!isAllowed(state, event))
      found.push(`${stream}@${revision}: ${type} was not allowed after what stood before`);
    states.set(stream, card.evolve(state, event));
  }
  return found;
};
