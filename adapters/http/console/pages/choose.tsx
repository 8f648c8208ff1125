import { ActionLink, Empty, PageHeading } from '../../web/parts.js';
import { choicesOf, houseOf } from '../choices.js';
import { page } from '../page.js';
import { placeOfWord } from '../../web/paths.js';

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
      <PageHeading title="Organizations" />
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
