import { hash } from 'node:crypto';
import { z } from 'zod';
import { Person } from './account.js';
import { foldEmail } from './email.js';
import { DomainError } from './errors.js';
import { events, type Aggregate, type EventOf } from './events.js';
import { derivedUuid, Instant, OrganizationId, Uuid } from './ids.js';
import { memberRoles, staffRoles, type Role, may, type MemberRole } from './permissions.js';

/** The organization of the staff of the service, and of their keys. It is in no list of organizations. */
export const house: OrganizationId = OrganizationId.parse(derivedUuid('house'));

/** The roles that an organization has, the strongest first. */
export const rolesOf = (org: OrganizationId): readonly Role[] => (org === house ? staffRoles : memberRoles);

/** The id of an invitation. Its token is the only way in, and is stored nowhere. */
export const invitationIdOf = (token: string): Uuid => derivedUuid('invitation', hash('sha256', token));

/** The account that is opened for an invitation by a form, whose id only the browser that got it knows. */
export const newAccountIdOf = (invitation: Uuid, form: string): Uuid =>
  derivedUuid('account', invitation, hash('sha256', form));

const Role = z.enum([...memberRoles, ...staffRoles]);

export const membersEvents = events({
  MemberInvited: {
    id: Uuid,
    role: Role,
    invitation: Uuid,
    expires: Instant,
    personal: Person.nullable(),
  },
  InvitationAccepted: { id: Uuid, account: Uuid },
  RoleChanged: { id: Uuid, role: Role },
  MemberRemoved: { id: Uuid },
});
export type MembersEvent = EventOf<typeof membersEvents>;

type Invited = Extract<MembersEvent, { type: 'MemberInvited' }>['data'];

export interface Member extends Omit<Invited, 'personal'> {
  readonly person: Person | null;
  /** The account of a member who has accepted; null while the invitation is open. */
  readonly account: Uuid | null;
}

/** In the order in which they were invited first. */
export type Members = readonly Member[];

const changed = (members: Members, id: Uuid, change: (member: Member) => Member): Members =>
  members.map((member) => (member.id === id ? change(member) : member));

const evolve = (members: Members, event: MembersEvent): Members => {
  switch (event.type) {
    case 'MemberInvited': {
      const { personal, ...invited } = event.data;
      const member = { ...invited, person: personal, account: null };
      return members.some((known) => known.id === member.id)
        ? changed(members, member.id, () => member)
        : [...members, member];
    }
    case 'InvitationAccepted':
      return changed(members, event.data.id, (member) => ({ ...member, account: event.data.account }));
    case 'RoleChanged':
      return changed(members, event.data.id, (member) => ({ ...member, role: event.data.role }));
    case 'MemberRemoved':
      return members.filter(({ id }) => id !== event.data.id);
  }
};

/** The people of one organization: in one stream, so that one decision sees whether an owner stays. */
export const members: Aggregate<Members, MembersEvent> = {
  category: 'members',
  schemas: membersEvents,
  initial: [],
  evolve,
};

/** The role of an account; null if it isn't a member. */
export const roleOf = (state: Members, account: Uuid): Role | null =>
  state.find((member) => member.account === account)?.role ?? null;

/** Throws `not_found`. */
export const memberOf = (state: Members, id: string): Member => {
  const member = state.find((known) => known.id === id);
  if (member === undefined)
    throw new DomainError('not_found', 'There is no such member in this organization.');
  return member;
};

const assertRole = (org: OrganizationId, role: Role): void => {
  if (!rolesOf(org).includes(role))
    throw new DomainError('invalid_parameter', `The roles here are ${rolesOf(org).join(', ')}.`, 'role');
};

/** At least one member with the strongest role must remain who has accepted. */
const assertLedWithout = (org: OrganizationId, state: Members, id: Uuid): void => {
  const [strongest] = rolesOf(org);
  const leads = ({ role, account }: Member): boolean => role === strongest && account !== null;
  const isLed = state.some((member) => member.id !== id && leads(member));
  if (!isLed && state.some((member) => member.id === id && leads(member)))
    throw new DomainError(
      'invalid_transition',
      `This is the last ${strongest} here. Give another member the role ${strongest} first.`,
    );
};

export interface Invitation extends Person {
  readonly org: OrganizationId;
  readonly role: Role;
  /** `invitationIdOf` its token. */
  readonly invitation: Uuid;
  readonly expires: Instant;
}

/** Of an organization, with open invitations. */
export const maxMembers = 500;

/**
 * Invites a person, or replaces an invitation that wasn't accepted. Throws `invalid_parameter`, and
 * `invalid_transition` if the person is a member already, or there are too many.
 */
export const invite =
  ({ org, role, invitation, expires, email, name }: Invitation) =>
  (state: Members): MembersEvent[] => {
    assertRole(org, role);
    const id = derivedUuid('member', org, foldEmail(email));
    if (state.some((member) => member.id === id && member.account !== null))
      throw new DomainError(
        'invalid_transition',
        'This person is a member already. Change the role instead.',
      );
    if (state.length >= maxMembers && !state.some((member) => member.id === id))
      throw new DomainError(
        'invalid_transition',
        `There are ${maxMembers} members and open invitations here, as many as there may be. Remove one first.`,
      );
    const personal = { email: foldEmail(email), name };
    return [{ type: 'MemberInvited', data: { id, role, invitation, expires, personal } }];
  };

/**
 * The member whose invitation this is; null if it was replaced, is over, or was accepted by an account that
 * is none of `isOurs`.
 */
export const openInvitation = (
  state: Members,
  invitation: Uuid,
  at: Instant,
  isOurs: (account: Uuid) => boolean = () => false,
): Member | null =>
  state.find(
    (member) =>
      member.invitation === invitation &&
      (member.account === null ? member.expires > at : isOurs(member.account)),
  ) ?? null;

/** Accepts an invitation; a repeat by the same account records nothing. Throws `not_found`. */
export const acceptInvitation =
  (invitation: Uuid, account: Uuid, at: Instant) =>
  (state: Members): MembersEvent[] => {
    const member = openInvitation(state, invitation, at, (by) => by === account);
    if (member === null)
      throw new DomainError('not_found', 'This invitation is over, or was accepted already.');
    return member.account === null ? [{ type: 'InvitationAccepted', data: { id: member.id, account } }] : [];
  };

/**
 * Changes a role; a repeat records nothing. Throws `not_found`, `invalid_parameter`, `invalid_transition`.
 */
export const changeRole =
  (org: OrganizationId, id: Uuid, role: Role) =>
  (state: Members): MembersEvent[] => {
    assertRole(org, role);
    const member = memberOf(state, id);
    if (member.role === role) return [];
    assertLedWithout(org, state, id);
    return [{ type: 'RoleChanged', data: { id, role } }];
  };

/** Removes a member, or withdraws an invitation. Throws `not_found`, `invalid_transition`. */
export const removeMember =
  (org: OrganizationId, id: Uuid) =>
  (state: Members): MembersEvent[] => {
    memberOf(state, id);
    assertLedWithout(org, state, id);
    return [{ type: 'MemberRemoved', data: { id } }];
  };

/**
 * The capacity in which members are managed: `root`, the holder of the operator token; `operator`, one of the
 * staff or the holder of an operator's key; or a member of the organization, by role.
 */
export type Manager = 'root' | 'operator' | MemberRole;

/** Throws `missing_scope` unless the manager may change members here, and give this role if one is given. */
export const assertMayManage = (manager: Manager | null, org: OrganizationId, given: Role | null): void => {
  if (manager === 'root') return;
  if (org === house)
    throw new DomainError(
      'missing_scope',
      'The staff are managed by the holder of the operator token alone: with the token of OPERATOR_TOKEN_FILE.',
    );
  if (manager === 'operator') return;
  const roles = rolesOf(org);
  const isAbove = (role: Role): boolean =>
    manager !== null && roles.includes(role) && roles.indexOf(role) < roles.indexOf(manager);
  if (manager === null || !may(manager, 'members.manage') || (given !== null && isAbove(given)))
    throw new DomainError('missing_scope', 'Your role does not let you change the members like this.');
};

/**
 * Whether a password reset link may open an account, given its maker and the maker's organization: the holder
 * of the link enters every organization that the account belongs to.
 */
export const mayReset = (
  manager: Manager | null,
  org: OrganizationId,
  belongsTo: readonly OrganizationId[],
): boolean => {
  if (manager === 'root') return true;
  if (manager === 'operator') return !belongsTo.includes(house);
  return manager !== null && may(manager, 'members.manage') && belongsTo.every((other) => other === org);
};
