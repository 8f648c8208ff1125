import { z } from 'zod';
import { foldEmail } from './email.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, OrganizationId, type Uuid } from './ids.js';

/**
 * The id of an e-mail address, however it is spelled. An address can have several accounts, because nothing
 * proves whose it is: the password decides which of them signs in.
 */
export const mailboxIdOf = (email: string): Uuid => derivedUuid('mailbox', foldEmail(email));

export const Person = z.object({ name: z.string(), email: z.string() });
export type Person = z.infer<typeof Person>;

/** Password hashes, sessions and links are no events: every event is published. */
export const accountEvents = events({
  AccountOpened: { personal: Person.nullable() },
  OrganizationJoined: { org: OrganizationId },
  PasswordChanged: {},
  SignedOutEverywhere: {},
});
export type AccountEvent = EventOf<typeof accountEvents>;

export interface OpenAccount {
  readonly status: 'open';
  /** Null if it was erased. */
  readonly person: Person | null;
  /**
   * Where this person may be a member. The organization's own list of members decides; this one only says
   * where to look.
   */
  readonly organizations: readonly OrganizationId[];
}

export type Account = { readonly status: 'none' } | OpenAccount;

/** A person who signs in, in any number of organizations. */
export const account: Aggregate<Account, AccountEvent> = {
  category: 'account',
  schemas: accountEvents,
  initial: { status: 'none' },
  evolve: (state, event) => {
    switch (event.type) {
      case 'AccountOpened':
        return { status: 'open', person: event.data.personal, organizations: [] };
      case 'OrganizationJoined':
        return state.status === 'none'
          ? state
          : { ...state, organizations: [...state.organizations, event.data.org] };
      case 'PasswordChanged':
      case 'SignedOutEverywhere':
        return state;
    }
  },
};

/** Opens the account if there is none, and notes the organization if it isn't noted. */
export const joinOrganization =
  (person: Person, org: OrganizationId) =>
  (state: Account): AccountEvent[] => {
    const opened: AccountEvent[] =
      state.status === 'none' ? [{ type: 'AccountOpened', data: { personal: person } }] : [];
    const joined: AccountEvent[] =
      state.status === 'open' && state.organizations.includes(org)
        ? []
        : [{ type: 'OrganizationJoined', data: { org } }];
    return [...opened, ...joined];
  };

export const changePassword = (state: Account): AccountEvent[] =>
  state.status === 'none' ? [] : [{ type: 'PasswordChanged', data: {} }];

/** Records that every session of the account was ended. */
export const signOutEverywhere = (state: Account): AccountEvent[] =>
  state.status === 'none' ? [] : [{ type: 'SignedOutEverywhere', data: {} }];
