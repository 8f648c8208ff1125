import { Field, Form, Refusal } from '../../web/form.js';
import { type Context, go, page } from '../page.js';
import { isAPage, type Url } from '../../web/paths.js';
import { accountBy, signedIn } from '../signing-in.js';
import { canSignIn } from '../visitor.js';

/** Back to a page of ours, or to the start: any other address is ignored. */
const wayBack = ({ url }: Context, wanted: string): Url => {
  const root = url('/');
  const [path = '', query = ''] = (wanted.startsWith(root) ? `/${wanted.slice(root.length)}` : '').split('?');
  return isAPage(path) ? url(path, {}, Object.fromEntries(new URLSearchParams(query))) : url('start');
};

export const signInPage = page({
  path: 'signIn',
  may: 'anyone',
  query: ['to'],
  load: ({ query }) => Promise.resolve(query('to')),
  title: () => 'Sign in',
  heading: null,
  view: (to, { origin, refused }) => (
    <div class="narrow">
      <h1>Sign in</h1>
      {canSignIn(origin) ? null : (
        <p class="alert" role="alert">
          Sign-in is disabled here: put TLS in front, then set <code>BASE_URL</code>.
        </p>
      )}
      <Refusal />
      <Form action="signIn" button="Sign in">
        <input type="hidden" name="to" value={refused?.sent('to') ?? to} />
        <Field name="email" label="E-mail" type="email" autocomplete="username" />
        <Field name="password" label="Password" type="password" autocomplete="current-password" />
      </Form>
      <p class="quiet">
        Forgot your password? Ask an owner of your organization for a reset link. Operators get a sign-in link
        with <code>npm run -s cli -- console</code>.
      </p>
    </div>
  ),
  actions: {
    signIn: async (context, sent) => {
      const wrong = 'E-mail and password don’t match.';
      const account = await accountBy(context, sent('email'), sent('password'), wrong);
      return go(wayBack(context, sent('to')), await signedIn(context, account));
    },
  },
});
