import { z } from 'zod';
import { DomainError } from '../../domain/errors.js';
import { storeWith, type EventStore } from '../ports/event-store.js';

/**
 * Why this is a rehearsal, a copy that changes and sends nothing; null for the service itself. Where servers
 * say it, the promise rejects until they answer. (decision 79: a copy is not the service)
 */
export type Rehearsal = () => string | null | Promise<string | null>;

/** Marks a copy, or a place whose service was moved. `original`: the data directory it was copied from. */
export const RehearsalMark = z.object({
  why: z.string(),
  state: z.enum(['unfinished', 'moved']).optional(),
  original: z.string().optional(),
});
export type RehearsalMark = z.infer<typeof RehearsalMark>;

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
