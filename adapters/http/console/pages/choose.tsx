import { accountOf } from '../../../../application/access/people.js';
import { roleIn } from '../../../../application/access/roles.js';
import { readAccount } from '../../../../application/organizations/read-accounts.js';
import { listOrganizations } from '../../../../application/organizations/read-organizations.js';
import { house } from '../../../../domain/members.js';
import { may, type Role } from '../../../../domain/permissions.js';
import { ActionLink, Empty } from '../../web/parts.js';
import { placeOfWord } from '../../web/paths.js';
import { houseRole, RedirectTo } from '../admit.js';
import type { ConsoleDeps } from '../deps.js';
import { page } from '../page.js';
import type { SignedIn } from '../visitor.js';

interface Choice {
  readonly org: string;
  readonly name: string;
  readonly role: Role;
}

const maxListed = 50;

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
const choicesOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<readonly Choice[]> => {
  const own = await ownChoices(deps, visitor);
  const role = await houseRole(deps, visitor);
  if (role === null || !may(role, 'cards.read')) return own;
  const all = await listOrganizations(deps, { name: null, startingAfter: null, limit: maxListed });
  const others = all.filter(({ id }) => own.every(({ org }) => org !== id));
  return [...own, ...others.map(({ id, name }) => ({ org: id, name, role }))];
};

/** The first page of the staff; null for other visitors. */
const houseOf = async (deps: ConsoleDeps, visitor: SignedIn): Promise<'house' | 'floor' | null> => {
  const role = await houseRole(deps, visitor);
  if (role === null) return null;
  if (may(role, 'organizations.manage')) return 'house';
  return may(role, 'floor.work') ? 'floor' : null;
};

export const choosePage = page({
  path: 'choose',
  may: 'signed-in',
  query: ['place'],
  load: async ({ deps, visitor }) => ({
    choices: await choicesOf(deps, visitor),
    house: await houseOf(deps, visitor),
  }),
  title: () => 'Organizations',
  view: ({ choices, house }, { url, query }) => (
    <>
      {house === null ? null : <ActionLink kind="second" to={url(house)} words="Run the service" />}
      {choices.length === 0 ? (
        <Empty title="You belong to no organization">An owner of an organization can invite you.</Empty>
      ) : (
        <div class="panel">
          <ul class="rows">
            {choices.map(({ org, name, role }) => (
              <li>
                <a href={url(placeOfWord(query('place')), { org })}>{name}</a>
                <span class="quiet end">{role}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  ),
});

/**
 * Leads to the visitor's one organization, or to the choice of several: to its home, or to the place that is
 * asked for.
 */
export const startPage = page({
  path: 'start',
  may: 'signed-in',
  query: ['place'],
  load: async ({ deps, visitor, url, query }): Promise<never> => {
    const [first, ...others] = await choicesOf(deps, visitor);
    const place = query('place');
    const house = first === undefined ? await houseOf(deps, visitor) : null;
    if (house !== null) throw new RedirectTo(url(house));
    throw new RedirectTo(
      first !== undefined && others.length === 0
        ? url(placeOfWord(place), { org: first.org })
        : url('choose', {}, place === '' ? {} : { place }),
    );
  },
  title: () => '',
  view: () => null,
});
