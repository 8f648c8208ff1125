import { findReset, takeReset } from '../../../../application/access/password-resets.js';
import { hashOfNew, setPassword } from '../../../../application/access/people.js';
import { mailboxIdOf } from '../../../../domain/account.js';
import { Form, Refusal } from '../../web/form.js';
import { goodPassword, NewPassword, signedIn, unknownLink, WhosePassword } from '../signing-in.js';
import { type Context, go, page } from '../page.js';

const over = 'This link is over, or was used already. Ask for a new one.';

const accountOf = async (context: Context) => {
  const { deps, params } = context;
  const found = await findReset(deps, params['link'] ?? '');
  if (found === null) throw await unknownLink(context, over);
  return found;
};

export const resetPage = page({
  path: 'reset',
  may: 'anyone',
  load: accountOf,
  title: () => 'New password',
  heading: null,
  view: ({ person }) => (
    <div class="narrow">
      <h1>Choose a new password</h1>
      <p>For {person.email}. Every session of this account ends.</p>
      <Refusal />
      <Form action="reset" button="Set password">
        <WhosePassword email={person.email} />
        <NewPassword name="password" label="New password" />
      </Form>
    </div>
  ),
  actions: {
    reset: async (context, sent) => {
      const { deps, params, url } = context;
      const { id, person, since } = await accountOf(context);
      const link = params['link'] ?? '';
      const chosen = await goodPassword(context, sent, { ...person, account: id, link });
      const mailbox = mailboxIdOf(person.email);
      const hash = await hashOfNew(deps, mailbox, id, chosen);
      if ((await takeReset(deps, link)) === null) throw await unknownLink(context, over);
      const renewed = await setPassword(deps, context, { id, mailbox, hash, since }, null);
      return go(url('start'), await signedIn(context, renewed));
    },
  },
});
