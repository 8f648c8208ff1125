import { TooManySignIns } from '../../../application/ports/passwords.js';
import { SignInUnavailable } from '../../../application/ports/sign-in-records.js';
import { refusalOf } from '../errors.js';
import type { TextResponse } from '../route.js';
import type { Html } from '../web/prose.js';
import { NotAllowed, SignInFirst } from './admit.js';
import { redirect, shown, waiting } from './drawn.js';
import { Stopped } from './gates.js';
import { Elsewhere, type Context } from './page.js';
import { paths } from './paths.js';

const message = (title: string, text: string): { readonly title: string; readonly body: Html } => ({
  title,
  body: (
    <div class="narrow">
      <h1>{title}</h1>
      <p>{text}</p>
    </div>
  ),
});

/** The address that the visitor wanted, for the way back after signing in. */
const wanted = ({ params, url, query }: Context): string => {
  if ('code' in params) return url(paths.card, params);
  if ('org' in params) return url(paths.home, params);
  const place = query('place');
  return url(paths.start, {}, place === '' ? {} : { place });
};

/** The page for an error. Those that nobody expects are logged, and tell the visitor nothing. */
export const errorPage = (context: Context, error: unknown): TextResponse => {
  const { url, deps, requestId } = context;
  const told = (status: number, title: string, text: string): TextResponse =>
    shown(context, null, message(title, text), status);
  if (error instanceof Elsewhere) return redirect(error.to);
  if (error instanceof SignInFirst) return redirect(url(paths.signIn, {}, { to: wanted(context) }));
  if (error instanceof Stopped) return told(error.status, error.title, error.message);
  if (error instanceof NotAllowed)
    return told(
      403,
      'Not allowed',
      `Your role here lacks the permission ${error.permission}. An owner can change your role.`,
    );
  if (error instanceof TooManySignIns)
    return waiting(told(503, 'Too many are signing in', 'Try again in some seconds.'), 5);
  if (error instanceof SignInUnavailable)
    return waiting(told(503, 'Try again soon', "Sign-in can't be checked just now."), 5);
  const refusal = refusalOf(error);
  if (refusal !== null && refusal.status < 500)
    return told(refusal.status, refusal.status === 404 ? 'Not found' : 'Refused', refusal.message);
  deps.log.error({ err: error, request: requestId }, 'a page failed');
  return told(
    500,
    'Something went wrong',
    'Nothing was lost. Try again; if it stays like this, tell the request below.',
  );
};
