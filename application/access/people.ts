import {
  account,
  accountIdOf,
  changePassword,
  joinOrganization,
  signOutEverywhere,
  type OpenAccount,
} from '../../domain/account.js';
import { DomainError } from '../../domain/errors.js';
import { Instant, type Milliseconds, type OrganizationId, type Uuid } from '../../domain/ids.js';
import {
  acceptInvitation,
  changeRole as decideRole,
  house,
  invitationIdOf,
  invite,
  memberOf,
  members,
  openInvitation,
  removeMember as decideToRemove,
  type Member,
} from '../../domain/members.js';
import { assertMayManage } from '../../domain/manage-members.js';
import type { Role } from '../../domain/permissions.js';
import { organizationOf } from '../organizations/administer.js';
import { newCommand, type Initiator } from '../commands.js';
import { execute, type WriteDeps } from '../execute.js';
import type { Passwords } from '../ports/passwords.js';
import type { SignInRecords } from '../ports/sign-in-records.js';
import { managerOf, membershipsOf } from './roles.js';
import { newToken, root, type Session, type Sessions } from './sessions.js';

export interface PeopleDeps extends WriteDeps {
  readonly signInRecords: SignInRecords;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
}

const week: Milliseconds = 7 * 24 * 60 * 60 * 1000;

export interface NewMember {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
}

/** The members of an organization, invited ones too. Throws `not_found`. */
export const listMembers = async (
  deps: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
): Promise<readonly Member[]> => {
  await assertOrganization(deps, org);
  return (await deps.streams.load(members, org)).state;
};

/**
 * Invites somebody, or again. The token of the invitation is shown only here. Throws `not_found`,
 * `invalid_parameter`, `invalid_transition`, `missing_scope`.
 */
export const inviteMember = async (
  deps: WriteDeps,
  initiator: Initiator,
  org: OrganizationId,
  { email, name, role }: NewMember,
): Promise<{ readonly token: string; readonly expires: Instant }> => {
  await assertOrganization(deps, org);
  assertMayManage(await managerOf(deps, initiator, org), org, role);
  const token = newToken(deps.entropy);
  const expires = Instant.parse(new Date(deps.clock.now() + week).toISOString());
  const invitation = { org, role, invitation: invitationIdOf(token), expires, email, name };
  await execute(deps, members, org, newCommand(deps, initiator, org), invite(invitation));
  return { token, expires };
};

/**
 * Returns the member as it is then. Throws `not_found`, `invalid_parameter`, `invalid_transition`,
 * `missing_scope`.
 */
export const changeRole = async (
  deps: WriteDeps,
  initiator: Initiator,
  org: OrganizationId,
  id: Uuid,
  role: Role,
): Promise<Member> => {
  assertMayManage(await managerOf(deps, initiator, org), org, role);
  const command = newCommand(deps, initiator, org);
  const { state } = await execute(deps, members, org, command, decideRole(org, id, role));
  return memberOf(state, id);
};

/** Throws `not_found`, `invalid_transition`, `missing_scope`. */
export const removeMember = async (
  deps: WriteDeps,
  initiator: Initiator,
  org: OrganizationId,
  id: Uuid,
): Promise<void> => {
  assertMayManage(await managerOf(deps, initiator, org), org, null);
  await execute(deps, members, org, newCommand(deps, initiator, org), decideToRemove(org, id));
};

/** An invitation that can be accepted, with whether the person can sign in already; null if it is over. */
export const findInvitation = async (
  deps: Pick<PeopleDeps, 'streams' | 'clock' | 'signInRecords'>,
  org: OrganizationId,
  token: string,
): Promise<{ readonly member: Member; readonly hasPassword: boolean } | null> => {
  const { state } = await deps.streams.load(members, org);
  const member = openInvitation(state, invitationIdOf(token), deps.clock.instant());
  if (member === null || member.person === null) return null;
  const password = await deps.signInRecords.find('password', accountIdOf(member.person.email));
  return { member, hasPassword: password !== null };
};

/** In which request somebody does something. */
type Request = Omit<Initiator, 'actor'>;

const placeOf = ({ requestId, traceparent }: Request): Request => ({
  requestId,
  ...(traceparent !== undefined && { traceparent }),
});

/**
 * Accepts an invitation for an account, which is opened if it is new. The account comes first, then the
 * members: what the members say decides. Throws `not_found`.
 */
export const acceptFor = async (
  deps: WriteDeps,
  request: Request,
  org: OrganizationId,
  token: string,
  name: string,
): Promise<Uuid> => {
  const { state } = await deps.streams.load(members, org);
  const member = openInvitation(state, invitationIdOf(token), deps.clock.instant());
  if (member === null || member.person === null)
    throw new DomainError('not_found', 'This invitation is over, or was accepted already.');
  const id = accountIdOf(member.person.email);
  const by: Initiator = { actor: { kind: 'member', id }, ...placeOf(request) };
  const person = { name, email: member.person.email };
  await execute(deps, account, id, newCommand(deps, by, null), joinOrganization(person, org));
  const at = deps.clock.instant();
  const accepting = acceptInvitation(invitationIdOf(token), id, at);
  await execute(deps, members, org, newCommand(deps, by, org), accepting);
  return id;
};

/** Sets the password of an account, and ends its other sessions. */
export const setPassword = async (
  deps: PeopleDeps,
  request: Request,
  id: Uuid,
  password: string,
  session: string | null,
): Promise<void> => {
  const data = { hash: await deps.passwords.hash(password) };
  const { signInRecords } = deps;
  const found = await signInRecords.find('password', id);
  const isKept =
    found === null
      ? await signInRecords.add({ kind: 'password', id, owner: id, data, ends: null })
      : await signInRecords.change(found, { data, ends: null });
  if (!isKept)
    throw new DomainError('invalid_transition', 'The password was changed by somebody else just now.');
  const by: Initiator = { actor: { kind: 'member', id }, ...placeOf(request) };
  await execute(deps, account, id, newCommand(deps, by, null), changePassword);
  await deps.sessions.endAll(id, session);
};

/**
 * Sets the password of somebody who joins and has none. Throws `invalid_transition` for an account that lost
 * its password: it still opens all that it belongs to, which an invitation to one more organization must not.
 */
export const setFirstPassword = async (
  deps: PeopleDeps,
  request: Request,
  id: Uuid,
  password: string,
): Promise<void> => {
  if ((await membershipsOf(deps, id)).length > 0)
    throw new DomainError(
      'invalid_transition',
      'You have an account, but its password is gone. Ask for a link to choose a new one, then join with it.',
    );
  await setPassword(deps, request, id, password, null);
};

/** Ends every other session of whoever has this one. */
export const signOutOthers = async (
  deps: PeopleDeps,
  initiator: Initiator,
  { id, owner }: Session,
): Promise<void> => {
  if (owner !== root)
    await execute(deps, account, owner, newCommand(deps, initiator, null), signOutEverywhere);
  await deps.sessions.endAll(owner, id);
};

/** The account, or null. */
export const accountOf = async (
  { streams }: Pick<WriteDeps, 'streams'>,
  id: Uuid,
): Promise<OpenAccount | null> => {
  const { state } = await streams.load(account, id);
  return state.status === 'open' ? state : null;
};

/** Throws `not_found`; the house is always there. */
const assertOrganization = async (deps: Pick<WriteDeps, 'streams'>, org: OrganizationId): Promise<void> => {
  if (org !== house) await organizationOf(deps, org);
};
