import { Elsewhere, page } from '../page.js';
import { paths } from '../paths.js';
import { choicesOf } from './choose.js';

/** Leads to the visitor's one organization, or to the choice of several. */
export const startPage = page({
  path: paths.start,
  may: 'signed-in',
  load: async ({ deps, visitor, url }): Promise<never> => {
    const [first, ...others] = await choicesOf(deps, visitor);
    const isOne = first !== undefined && others.length === 0;
    throw new Elsewhere(isOne ? url(paths.home, { org: first.org }) : url(paths.choose));
  },
  title: () => '',
  view: () => null,
});
