import { demoOwner, findDemoOwner } from '../../../../application/organizations/demo.js';
import { findLink, takeLink } from '../../../../application/access/sign-in-links.js';
import { root } from '../../../../application/access/sessions.js';
import { Form } from '../../web/form.js';
import { Time } from '../../web/parts.js';
import { type Context, go, type Outcome, page } from '../page.js';
import { sessionOf, unknownLink } from '../signing-in.js';

const over = 'This link is over, or was used already. Make a new one with `npm run -s cli -- console`.';

const entered = async (context: Context, as: string): Promise<Outcome> => {
  const { deps, params, url } = context;
  if ((await takeLink(deps, params['link'] ?? ''))?.purpose !== 'enter')
    throw await unknownLink(context, over);
  return go(url('start'), [await sessionOf(context, as)]);
};

/**
 * Opening the link doesn't use it up, so that programs that preview links do no harm; pressing the button
 * does.
 */
export const enterPage = page({
  path: 'enter',
  may: 'anyone',
  load: async (context) => {
    const { deps, params } = context;
    const link = await findLink(deps, params['link'] ?? '');
    if (link?.purpose !== 'enter') throw await unknownLink(context, over);
    return { ends: link.ends, demo: await findDemoOwner(deps) };
  },
  title: () => 'Enter',
  heading: null,
  view: ({ ends, demo }) => (
    <div class="narrow">
      <h1>Enter the console</h1>
      <p>
        This link works once, until <Time at={ends} />.
      </p>
      {demo === null ? null : (
        <Form action="enterDemo">
          <button type="submit">Open Demo as its owner</button>
          <p class="quiet">What a customer sees: cards, credits, people.</p>
        </Form>
      )}
      <Form action="enter">
        <button type="submit" class={demo === null ? '' : 'second'}>
          Open as operator
        </button>
        <p class="quiet">Operators see every organization. They can’t spend customers’ credits.</p>
      </Form>
    </div>
  ),
  actions: {
    enter: (context) => entered(context, root),
    enterDemo: async (context) => {
      if ((await findDemoOwner(context.deps)) === null) throw await unknownLink(context, over);
      return entered(context, demoOwner);
    },
  },
});
