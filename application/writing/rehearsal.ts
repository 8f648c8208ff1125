import { DomainError } from '../../domain/errors.js';
import type { EventStore } from '../ports/event-store.js';
import { storeWith } from './store-with.js';

/**
 * Why this is a rehearsal, a copy that changes and sends nothing; null for the service itself. Where servers
 * say it, the promise rejects until they answer. (decision 79: a copy is not the service)
 */
export type Rehearsal = () => string | null | Promise<string | null>;

/** Throws the refusal of a rehearsal. */
export const assertService = async (rehearsal: Rehearsal): Promise<void> => {
  if ((await rehearsal()) === null) return;
  throw new DomainError(
    'rehearsal',
    'This is a copy of the service, made for rehearsal: nothing is changed or sent from here. Send this to the service itself; or, if the copy is to take its place, promote it.',
  );
};

/** The store, which takes events from the service alone. */
export const storeOfService = (store: EventStore, rehearsal: Rehearsal): EventStore =>
  rehearsal() === null
    ? store
    : storeWith(store, {
        append: async (writes, completing) => {
          await assertService(rehearsal);
          return store.append(writes, completing);
        },
      });
