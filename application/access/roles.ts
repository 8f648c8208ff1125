import { account } from '../../domain/account.js';
import { Uuid, type OrganizationId } from '../../domain/ids.js';
import { house, members, roleOf } from '../../domain/members.js';
import type { Manager } from '../../domain/manage-members.js';
import { memberRoles, type Role } from '../../domain/permissions.js';
import type { Initiator } from '../writing/commands.js';
import type { WriteDeps } from '../writing/execute.js';

/** The role of an account in an organization; null if it has none. */
export const roleIn = async (
  { streams }: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
  accountId: Uuid,
): Promise<Role | null> => roleOf((await streams.load(members, org)).state, accountId);

/** The capacity in which a caller manages the members of an organization; null if in none. */
export const managerOf = async (
  deps: Pick<WriteDeps, 'streams'>,
  { actor }: Initiator,
  org: OrganizationId,
): Promise<Manager | null> => {
  if (actor.kind === 'operator') return actor.id === 'root' ? 'root' : 'operator';
  if (actor.kind !== 'member' || actor.id === null) return null;
  const id = Uuid.parse(actor.id);
  const role = (await roleIn(deps, org, id)) ?? (await roleIn(deps, house, id));
  return role === 'operator' ? role : (memberRoles.find((known) => known === role) ?? null);
};

/** The organizations of which an account is a member. */
export const membershipsOf = async (
  deps: Pick<WriteDeps, 'streams'>,
  id: Uuid,
): Promise<readonly OrganizationId[]> => {
  const { state } = await deps.streams.load(account, id);
  const noted = state.status === 'open' ? state.organizations : [];
  const roles = await Promise.all(noted.map((org) => roleIn(deps, org, id)));
  return noted.filter((_, at) => (roles[at] ?? null) !== null);
};
