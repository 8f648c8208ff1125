import { z } from 'zod';
import { comparedEmail, foldEmail } from './email.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, type OrganizationId, type Uuid } from './ids.js';

export const doNotMailId = (org: OrganizationId, email: string): Uuid =>
  derivedUuid('do-not-mail', org, comparedEmail(email));

export const doNotMailEvents = events({
  DoNotMailAdded: { personal: z.object({ email: z.string() }).nullable() },
  DoNotMailRemoved: {},
});
export type DoNotMailEvent = EventOf<typeof doNotMailEvents>;

export interface DoNotMail {
  readonly listed: boolean;
}

/**
 * One e-mail address of an organization whose owner must not be mailed. (decision 17: when the do-not-mail
 * list counts)
 */
export const doNotMail: Aggregate<DoNotMail, DoNotMailEvent> = {
  category: 'do-not-mail',
  schemas: doNotMailEvents,
  initial: { listed: false },
  evolve: (_, event) => ({ listed: event.type === 'DoNotMailAdded' }),
};

export const addToDoNotMail =
  (email: string) =>
  ({ listed }: DoNotMail): DoNotMailEvent[] =>
    listed ? [] : [{ type: 'DoNotMailAdded', data: { personal: { email: foldEmail(email) } } }];

export const removeFromDoNotMail = ({ listed }: DoNotMail): DoNotMailEvent[] =>
  listed ? [{ type: 'DoNotMailRemoved', data: {} }] : [];
