import { choicesOf, houseOf } from '../choices.js';
import { RedirectTo } from '../admit.js';
import { page } from '../page.js';
import { placeOfWord } from '../../web/paths.js';

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
