import { listMembers } from '../../../application/access/people.js';
import { ArtworkUnavailable } from '../../../application/ports/artwork.js';
import { ImportsUnavailable, SignInUnavailable } from '../../../application/ports/records.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { retryAfter } from '../server/caller.js';
import { refusalOf } from '../server/errors.js';
import type { TextResponse } from '../server/route.js';
import { NotAllowed, RedirectTo, SignInFirst } from './admit.js';
import { redirect, shown, waiting } from './rendered.js';
import { PageRefusal } from './gates.js';
import type { Context } from './page.js';

/** The people who can change a visitor's role, by name: the owners, or for the staff the operator. */
const whoCanHelp = async ({ deps, visitor }: Context, { org }: NotAllowed): Promise<string> => {
  const joined = (await listMembers(deps, org)).filter(({ account }) => account !== null);
  if (visitor.kind !== 'member' || !joined.some(({ account }) => account === visitor.account))
    return 'The operator of the service can change your role.';
  const owners = joined
    .filter(({ role }) => role === 'owner')
    .map(({ person }) => person?.name ?? 'an owner');
  return `Ask ${new Intl.ListFormat('en', { type: 'disjunction' }).format(owners)} to change your role.`;
};

/** The page for an error. Unexpected errors are logged, and their details are not shown. */
export const errorPage = async (context: Context, error: unknown): Promise<TextResponse> => {
  const { url, deps, requestId, self, origin } = context;
  const told = (status: number, title: string, text: string): TextResponse => {
    const body = (
      <div class="narrow">
        <h1>{title}</h1>
        <p>{text}</p>
        <p>
          <a href={`${status === 421 ? origin : ''}${url('start')}`}>To the start of the console</a>
        </p>
      </div>
    );
    return shown(context, null, { title, body }, status);
  };
  if (error instanceof RedirectTo) return redirect(error.to);
  if (error instanceof SignInFirst) return redirect(url('signIn', {}, { to: self }));
  if (error instanceof PageRefusal) return told(error.status, error.title, error.message);
  if (error instanceof NotAllowed)
    return told(
      403,
      'Not allowed',
      `Your role here lacks the permission ${error.permission}. ${await whoCanHelp(context, error)}`,
    );
  if (error instanceof TooManySignIns)
    return waiting(told(503, 'Too many are signing in', 'Try again in some seconds.'), 5);
  if (error instanceof SignInUnavailable)
    return waiting(told(503, 'Try again soon', "Sign-in can't be checked just now."), 5);
  if (error instanceof ImportsUnavailable || error instanceof ArtworkUnavailable)
    return waiting(told(503, 'Try again soon', "Uploads can't be reached just now."), 5);
  const refusal = refusalOf(error);
  if (refusal?.status === 429)
    return waiting(told(429, 'Too many tries', refusal.message), retryAfter(deps.clock.steady()));
  if (refusal !== null && refusal.status < 500)
    return told(refusal.status, refusal.status === 404 ? 'Not found' : 'Refused', refusal.message);
  deps.log.error({ err: error, request: requestId }, 'a page failed');
  return told(
    500,
    'Something went wrong',
    'Nothing was lost. Try again; if it stays like this, tell the request below.',
  );
};
