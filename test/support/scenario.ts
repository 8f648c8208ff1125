import { expect } from 'chai';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import type { Aggregate, DomainEvent } from '../../domain/events.js';

/** What a decision came to, on the state that the given events make. */
interface Outcome<Event> {
  /** It recorded these events and no others. */
  readonly records: (...events: readonly Event[]) => void;
  /** There was nothing to do. */
  readonly recordsNothing: () => void;
  readonly refuses: (code: ErrorCode, param?: string) => void;
}

interface Given<State, Event> {
  readonly when: (decide: (state: State) => Event | readonly Event[]) => Outcome<Event>;
  /** The state that the given events make. */
  readonly state: State;
}

/** Events as they stand in a stream: what the schemas do not let through can't be given. */
const asStored = <State, Event extends DomainEvent>({ schemas }: Aggregate<State, Event>, event: Event): Event => {
  const type: Event['type'] = event.type;
  expect(schemas[type].parse(JSON.parse(JSON.stringify(event.data))), `${type} as its schema reads it`).to.deep.equal(event.data);
  return event;
};

/** Given what happened, when somebody decides, then this is recorded: `given(card, scheduled).when(cancel).records(cancelled)`. */
export const given = <State, Event extends DomainEvent>(aggregate: Aggregate<State, Event>, ...past: readonly NoInfer<Event>[]): Given<State, Event> => {
  const state = past.map((event) => asStored(aggregate, event)).reduce(aggregate.evolve, aggregate.initial);
  return {
    state,
    when: (decide) => ({
      records: (...expected) => {
        const decided = decide(state);
        const events: readonly Event[] = 'type' in decided ? [decided] : decided;
        for (const event of events) asStored(aggregate, event);
        expect(events).to.deep.equal(expected);
      },
      recordsNothing: () => expect(decide(state)).to.deep.equal([]),
      refuses: (code, param) => {
        let refusal: unknown = null;
        try {
          decide(state);
        } catch (error) {
          refusal = error;
        }
        if (!(refusal instanceof DomainError)) throw new Error(`expected a refusal, not ${String(refusal)}`);
        expect([refusal.code, refusal.param]).to.deep.equal([code, param ?? null]);
      },
    }),
  };
};
