import { account as accounts, joinOrganization, type Person } from '../../domain/account.js';
import { DomainError } from '../../domain/errors.js';
import { Uuid, type Milliseconds, type OrganizationId } from '../../domain/ids.js';
import { memberOf, members, mayReset } from '../../domain/members.js';
import { newCommand, execute, type Initiator } from '../writing/execute.js';
import { epochOf } from './credentials.js';
import { accountOf, type PeopleDeps } from './people.js';
import { managerOf, membershipsOf } from './roles.js';
import { findLink, issueLink, takeLink, type SignInLink } from './sign-in-links.js';

/**
 * Issues a link with which a member who has forgotten the password chooses a new one. Throws `missing_scope`,
 * and `not_found`, also for a member who has not accepted the invitation yet.
 */
export const issueReset = async (
  deps: PeopleDeps,
  initiator: Initiator,
  org: OrganizationId,
  id: Uuid,
): Promise<{ readonly token: string; readonly ends: Milliseconds }> => {
  const manager = await managerOf(deps, initiator, org);
  const { account, person } = memberOf((await deps.streams.load(members, org)).state, id);
  if (account === null)
    throw new DomainError('not_found', 'This person has not accepted the invitation yet: invite them again.');
  if (manager === null || !mayReset(manager, org, await membershipsOf(deps, account)))
    throw new DomainError(
      'missing_scope',
      'This account opens more than you manage. Only the holder of the operator token can reset a password of the staff, and only an operator the password of a member of several organizations.',
    );
  // A member who joined when a process died may have no account yet.
  if (person !== null && (await accountOf(deps, account)) === null)
    await execute(deps, accounts, account, newCommand(deps, initiator, null), joinOrganization(person, org));
  return issueLink(deps, 'reset', account, { actor: initiator.actor, org });
};

/**
 * Checked again when the link is used: since it was made, its owner may have joined the staff, or another
 * organization, and its maker may have been removed.
 */
const isGood = async (deps: PeopleDeps, { purpose, maker, owner }: SignInLink): Promise<boolean> =>
  purpose === 'reset' &&
  maker !== null &&
  mayReset(await managerOf(deps, maker, maker.org), maker.org, await membershipsOf(deps, Uuid.parse(owner)));

/** Finds whose password a link is for; null if it is over. `since`: the epoch of the password it replaces. */
export const findReset = async (
  deps: PeopleDeps,
  token: string,
): Promise<{ readonly id: Uuid; readonly person: Person; readonly since: string | null } | null> => {
  const link = await findLink(deps, token);
  if (link === null || !(await isGood(deps, link))) return null;
  const id = Uuid.parse(link.owner);
  const since = await epochOf(deps, id);
  const person = (await accountOf(deps, id))?.person ?? null;
  return person && { id, person, since };
};

/** The account whose password may be set now; null if the link is over. Of several callers, one gets it. */
export const takeReset = async (deps: PeopleDeps, token: string): Promise<Uuid | null> => {
  const link = await takeLink(deps, token);
  return link !== null && (await isGood(deps, link)) ? Uuid.parse(link.owner) : null;
};
