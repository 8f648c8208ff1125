import {
  account,
  changePassword,
  joinOrganization,
  mailboxIdOf,
  signOutEverywhere,
  type OpenAccount,
  type Person,
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
  type Invitation,
  type Member,
  assertMayManage,
} from '../../domain/members.js';
import type { Role } from '../../domain/permissions.js';
import { organizationAt, organizationOf } from '../organizations/administer.js';
import { asOf, type AsOf, type Moment } from '../history/as-of.js';
import { newCommand, execute, type Initiator, type WriteDeps } from '../writing/execute.js';
import type { Passwords } from '../ports/passwords.js';
import type { SignInRecords } from '../ports/records.js';
import {
  addCredential,
  changedMeanwhile,
  credentialsOf,
  renewCredential,
  type Credential,
} from './credentials.js';
import { managerOf, membershipsOf } from './roles.js';
import { newToken, root, type Session, type Sessions } from './sessions.js';

export interface PeopleDeps extends WriteDeps {
  readonly signInRecords: SignInRecords;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
}

const week: Milliseconds = 7 * 24 * 60 * 60 * 1000;

export type NewMember = Pick<Invitation, 'email' | 'name' | 'role'>;

/** The members of an organization, invited ones too. Throws `not_found`. */
export const listMembers = async (
  deps: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
): Promise<readonly Member[]> => {
  await assertOrganization(deps, org);
  return (await deps.streams.load(members, org)).state;
};

/** As `listMembers`, as they were at a moment. Throws also DamagedStream. */
export const listMembersAt = async (
  deps: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
  moment: Moment,
): Promise<{ readonly was: readonly Member[]; readonly asOf: AsOf | null }> => {
  if (org !== house) await organizationAt(deps, org, moment);
  const { state, last } = await deps.streams.loadAt(members, org, moment);
  return { was: state, asOf: last && asOf(last) };
};

/**
 * Invites a person, or renews the invitation. Its token is shown only here. Throws `not_found`,
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

/**
 * Finds the member whose invitation a token is; null if it is over, or was accepted by an account that is
 * none of `isOurs`. That reveals nothing about accounts of the invited address.
 */
export const findInvitation = async (
  deps: Pick<PeopleDeps, 'streams' | 'clock'>,
  org: OrganizationId,
  token: string,
  isOurs?: (account: Uuid) => boolean,
): Promise<{ readonly member: Member; readonly person: Person } | null> => {
  const { state } = await deps.streams.load(members, org);
  const member = openInvitation(state, invitationIdOf(token), deps.clock.instant(), isOurs);
  return member === null || member.person === null ? null : { member, person: member.person };
};

type Request = Omit<Initiator, 'actor'>;

const byAccount = (id: Uuid, request: Request): Initiator => ({ ...request, actor: { kind: 'member', id } });

/**
 * Accepts an invitation for an account, which is opened if it is new. Of several accounts one is accepted,
 * and it may repeat the call: an attempt that broke off is completed. Throws `not_found` for the others, and
 * keeps nothing of new ones. An account that others know notes the organization first: where that broke off,
 * it would seem to have one organization, whose owner may reset its password.
 */
export const acceptFor = async (
  deps: WriteDeps,
  request: Request,
  org: OrganizationId,
  token: string,
  { id, person }: { readonly id: Uuid; readonly person: Person },
): Promise<void> => {
  const by = byAccount(id, request);
  const accepting = acceptInvitation(invitationIdOf(token), id, deps.clock.instant());
  const join = () => execute(deps, account, id, newCommand(deps, by, null), joinOrganization(person, org));
  const isKnown = (await accountOf(deps, id)) !== null;
  if (isKnown) {
    accepting((await deps.streams.load(members, org)).state);
    await join();
  }
  await execute(deps, members, org, newCommand(deps, by, org), accepting);
  if (!isKnown) await join();
};

/** A chosen password, the field that holds it, and the client that chose it. */
export interface Chosen {
  readonly password: string;
  readonly param: string;
  readonly network: string;
}

/**
 * The hash of a password that is chosen, for an account of an e-mail address. Nothing is kept yet. Throws
 * `invalid_parameter` for the password of another account of the address: a password must tell which of them
 * signs in.
 */
export const hashOfNew = async (
  deps: PeopleDeps,
  mailbox: Uuid,
  id: Uuid,
  { password, param, network }: Chosen,
): Promise<string> => {
  const known = await credentialsOf(deps, mailbox);
  const hashes = known.map((credential) => credential.hash);
  const hash = await deps.passwords.hash(password, hashes, { from: network });
  if (known.some((credential) => credential.account !== id && credential.hash === hash))
    throw new DomainError(
      'invalid_parameter',
      'Another account with this e-mail address has this password. Choose another one.',
      param,
    );
  return hash;
};

/** How many accounts of one e-mail address have a password. */
export const maxAccounts = 50;

/** Makes room for one more by removing invitations that are over. Throws `invalid_transition`. */
const assertRoom = async (deps: PeopleDeps, mailbox: Uuid): Promise<void> => {
  const known = await credentialsOf(deps, mailbox);
  if (known.length < maxAccounts) return;
  const opens = await Promise.all(known.map((credential) => membershipsOf(deps, credential.account)));
  const idle = known.filter((_, at) => opens[at]?.length === 0);
  for (const credential of idle) await deps.signInRecords.remove('password', credential.account);
  if (idle.length === 0)
    throw new DomainError(
      'invalid_transition',
      `There are ${maxAccounts} accounts with this e-mail address. Join with one of them.`,
    );
};

/**
 * Accepts an invitation for a new account, which opens this organization alone, and gives it its first
 * password. A repeat of the same form continues where it broke off, and changes no password. Throws
 * `not_found` for accounts that are not accepted, `invalid_parameter`, `invalid_transition`.
 */
export const joinWithNewAccount = async (
  deps: PeopleDeps,
  request: Request,
  org: OrganizationId,
  token: string,
  { id, person }: { readonly id: Uuid; readonly person: Person },
  chosen: Chosen,
): Promise<Pick<Credential, 'account' | 'epoch'>> => {
  const mailbox = mailboxIdOf(person.email);
  await assertRoom(deps, mailbox);
  const hash = await hashOfNew(deps, mailbox, id, chosen);
  await acceptFor(deps, request, org, token, { id, person });
  const epoch = await addCredential(deps, id, mailbox, hash);
  if (epoch !== null) return { account: id, epoch };
  const known = (await credentialsOf(deps, mailbox)).find((credential) => credential.account === id);
  const { password, network } = chosen;
  if (known === undefined || (await deps.passwords.check(password, [known.hash], { from: network })) === null)
    throw new DomainError('not_found', 'This invitation is over, or was accepted already.');
  return { account: id, epoch: known.epoch };
};

export interface NewPassword {
  readonly id: Uuid;
  readonly mailbox: Uuid;
  readonly hash: string;
  /** The epoch of the password that it replaces; null if there was none. */
  readonly since: string | null;
}

/**
 * Sets the password of an account, and ends its links and its sessions but for one. Returns the new epoch.
 * Throws `invalid_transition`.
 */
export const setPassword = async (
  deps: PeopleDeps,
  request: Request,
  { id, mailbox, hash, since }: NewPassword,
  session: Session | null,
): Promise<Pick<Credential, 'account' | 'epoch'>> => {
  // First: where this breaks off, a backup must not bring the old password back.
  await execute(deps, account, id, newCommand(deps, byAccount(id, request), null), changePassword);
  const epoch =
    since === null
      ? await addCredential(deps, id, mailbox, hash)
      : await renewCredential(deps, id, { hash, since });
  if (epoch === null) throw changedMeanwhile();
  await deps.sessions.endAll(id, session, epoch);
  await deps.signInRecords.removeAllOf('link', id, null);
  return { account: id, epoch };
};

/**
 * Ends every other session of the owner of this one, which is an event if there are any. Returns the epoch in
 * which this one goes on.
 */
export const signOutOthers = async (
  deps: PeopleDeps,
  initiator: Initiator,
  session: Session,
): Promise<string | null> => {
  const { owner } = session;
  const isAlone = (await deps.sessions.listOf(owner)).every(({ id }) => id === session.id);
  if (owner !== root && !isAlone)
    await execute(deps, account, owner, newCommand(deps, initiator, null), signOutEverywhere);
  const epoch = await renewCredential(deps, owner, { hash: null, since: null });
  await deps.sessions.endAll(owner, session, epoch);
  return epoch;
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
