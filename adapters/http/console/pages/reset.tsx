import { accountOf, setPassword } from '../../../../application/people.js';
import { findLink, takeLink } from '../../../../application/sign-in-links.js';
import { DomainError } from '../../../../domain/errors.js';
import { Uuid } from '../../../../domain/ids.js';
import { Form, Refusal } from '../../web/form.js';
import { newForm } from '../answer.js';
import { assertGoodPassword } from '../good-password.js';
import { NewPassword, WhosePassword } from '../new-password.js';
import { go, page, type Context } from '../page.js';
import { paths } from '../paths.js';
import { sessionCookie } from '../visitor.js';

const over = (): DomainError =>
  new DomainError('not_found', 'This link is over, or was used already. Ask for a new one.');

const personOf = async ({ deps, params }: Context) => {
  const link = await findLink(deps, params['link'] ?? '');
  const known = link?.purpose === 'reset' ? await accountOf(deps, Uuid.parse(link.owner)) : null;
  const person = known?.person ?? null;
  if (person === null) throw over();
  return person;
};

export const resetPage = page({
  path: paths.reset,
  may: 'anyone',
  load: async (context) => ({ form: newForm(context), person: await personOf(context) }),
  title: () => 'New password',
  view: ({ form, person }, _, refused) => (
    <div class="narrow">
      <h1>Choose a new password</h1>
      <p>For {person.email}. Every session of this account ends.</p>
      <Refusal refused={refused} />
      <Form action="reset" id={form}>
        <WhosePassword email={person.email} />
        <NewPassword name="password" label="New password" />
        <button type="submit">Set password</button>
      </Form>
    </div>
  ),
  actions: {
    reset: {
      may: 'anyone',
      run: async (context, sent) => {
        const { deps, params, requestId, origin, browser, url } = context;
        const person = await personOf(context);
        await assertGoodPassword(sent('password'), [person.email, person.name]);
        const link = await takeLink(deps, params['link'] ?? '');
        if (link?.purpose !== 'reset') throw over();
        const account = Uuid.parse(link.owner);
        await setPassword(deps, requestId, account, sent('password'), null);
        const token = await deps.sessions.open(account, browser);
        return go(url(paths.start), sessionCookie(origin, token));
      },
    },
  },
});
