import { accountOf } from '../../../application/access/people.js';
import { roleIn } from '../../../application/access/roles.js';
import { listOrganizations } from '../../../application/organizations/read-organizations.js';
import { readAccount } from '../../../application/organizations/read-accounts.js';
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

/** The organizations that a visitor has joined, in the visitor's roles there. */
const ownChoices = async (deps: ConsoleDeps, visitor: SignedIn): Promise<readonly Choice[]> => {
  if (visitor.kind === 'operator') return [];
  const { account } = visitor;
  const joined = (await accountOf(deps, account))?.organizations ?? [];
  const last = joined.filter((org) => org !== house).slice(-maxListed);
  const choices = last.map(async (org) => {
    const role = await roleIn(deps, org, account);
    return role === null ? [] : [{ org, name: (await readAccount(deps, org)).name, role }];
  });
  return (await Promise.all(choices)).flat();
};

/**
 * The organizations that a visitor may open: the staff may open all. Of many, the newest or the last ones
 * joined are listed.
 */
export const choicesOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<readonly Choice[]> => {
  const own = await ownChoices(deps, visitor);
  const role = await houseRole(deps, visitor);
  const all = role !== null && may(role, 'cards.read') ? await everyOrganization(deps, role) : [];
  return [...own, ...all.filter(({ org }) => own.every((choice) => choice.org !== org))];
};

/** The first page of the staff; null for other visitors. */
export const houseOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<'house' | 'floor' | null> => {
  const role = await houseRole(deps, visitor);
  if (role === null) return null;
  if (may(role, 'organizations.manage')) return 'house';
  return may(role, 'floor.work') ? 'floor' : null;
};
