import { accountOf } from '../../../application/access/people.js';
import { roleIn } from '../../../application/access/roles.js';
import { listOrganizations } from '../../../application/organizations/read-organizations.js';
import { readAccount } from '../../../application/organizations/read-accounts.js';
import type { OrganizationId, Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { may, type Role } from '../../../domain/permissions.js';
import type { ConsoleDeps } from './deps.js';
import { houseRole } from './admit.js';
import type { SignedIn } from './visitor.js';

interface Choice {
  readonly org: string;
  readonly name: string;
  readonly role: Role;
}

const maxListed = 50;

const everyOrganization = async (deps: ConsoleDeps, role: Role): Promise<readonly Choice[]> => {
  const listed = await listOrganizations(deps, { name: null, startingAfter: null, limit: maxListed });
  return listed.map(({ id, name }) => ({ org: id, name, role }));
};

const choicesIn = async (
  deps: ConsoleDeps,
  org: OrganizationId,
  account: Uuid,
): Promise<readonly Choice[]> => {
  const role = await roleIn(deps, org, account);
  if (role === null) return [];
  if (org !== house) return [{ org, name: (await readAccount(deps, org)).name, role }];
  return may(role, 'cards.read') ? everyOrganization(deps, role) : [];
};

/**
 * The organizations that a visitor may open: the staff may open all. Of many, the newest or the last ones
 * joined are listed.
 */
export const choicesOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<readonly Choice[]> => {
  if (visitor.kind === 'operator') return everyOrganization(deps, 'operator');
  const joined = (await accountOf(deps, visitor.account))?.organizations ?? [];
  const last = joined.slice(-maxListed);
  return (await Promise.all(last.map((org) => choicesIn(deps, org, visitor.account)))).flat();
};

/** The first page of the staff; null for other visitors. */
export const houseOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<'house' | 'floor' | null> => {
  const role = await houseRole(deps, visitor);
  if (role === null) return null;
  if (may(role, 'organizations.manage')) return 'house';
  return may(role, 'floor.work') ? 'floor' : null;
};
