import { account } from '../../domain/account.js';
import { apiKey } from '../../domain/api-key.js';
import { Uuid, type OrganizationId } from '../../domain/ids.js';
import { house, members, roleOf, type Manager } from '../../domain/members.js';
import { memberRoles, type Role } from '../../domain/permissions.js';
import type { Initiator, WriteDeps } from '../writing/execute.js';

/** The role of an account in an organization; null if it has none. */
export const roleIn = async (
  { streams }: Pick<WriteDeps, 'streams'>,
  org: OrganizationId,
  accountId: Uuid,
): Promise<Role | null> => roleOf((await streams.load(members, org)).state, accountId);

/** The capacity in which an actor manages the members of an organization now; null if in none. */
export const managerOf = async (
  deps: Pick<WriteDeps, 'streams' | 'clock'>,
  { actor }: Pick<Initiator, 'actor'>,
  org: OrganizationId,
): Promise<Manager | null> => {
  if (actor.kind === 'operator' && actor.id === 'root') return 'root';
  if (actor.id === null) return null;
  if (actor.kind === 'operator') {
    const { state } = await deps.streams.load(apiKey, actor.id);
    if (state.status !== 'issued') return null;
    return state.expiresAt === null || state.expiresAt > deps.clock.instant() ? 'operator' : null;
  }
  if (actor.kind !== 'member') return null;
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
