import { accountOf, roleIn } from '../../../application/people.js';
import { listOrganizations } from '../../../application/read-organizations.js';
import { readAccount } from '../../../application/read-accounts.js';
import { house } from '../../../domain/members.js';
import { may, type Role } from '../../../domain/permissions.js';
import type { ConsoleDeps } from './deps.js';
import type { SignedIn } from './visitor.js';

interface Choice {
  readonly org: string;
  readonly name: string;
  readonly role: Role;
}

const mostListed = 50;

const everyOrganization = async (deps: ConsoleDeps, role: Role): Promise<readonly Choice[]> => {
  const listed = await listOrganizations(deps, { name: null, startingAfter: null, limit: mostListed });
  return listed.map(({ id, name }) => ({ org: id, name, role }));
};

/** The organizations that a visitor may open: the staff may open all, of which the newest are listed. */
export const choicesOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<readonly Choice[]> => {
  if (visitor.kind === 'operator') return everyOrganization(deps, 'operator');
  const joined = (await accountOf(deps, visitor.account))?.organizations ?? [];
  const choices: Choice[] = [];
  for (const org of joined) {
    const role = await roleIn(deps, org, visitor.account);
    if (role === null) continue;
    if (org !== house) choices.push({ org, name: (await readAccount(deps, org)).name, role });
    else if (may(role, 'cards.read')) choices.push(...(await everyOrganization(deps, role)));
  }
  return choices;
};
