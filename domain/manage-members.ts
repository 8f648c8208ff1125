import { DomainError } from './errors.js';
import type { OrganizationId } from './ids.js';
import { house, rolesOf } from './members.js';
import { may, type MemberRole, type Role } from './permissions.js';

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
