import { render } from 'preact-render-to-string';
import { listMembers } from '../../../application/access/people.js';
import { readAccount } from '../../../application/organizations/read-accounts.js';
import { ArtworkUnavailable } from '../../../application/ports/artwork.js';
import { ImportsUnavailable, SignInUnavailable } from '../../../application/ports/records.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { retryAfter } from '../server/caller.js';
import { refusalOf } from '../server/errors.js';
import type { LinesResponse, TextResponse } from '../server/route.js';
import { documentOf, pageHeaders } from '../web/document.js';
import { pathOfPicture, placeOf } from '../web/paths.js';
import { WithVisit } from '../web/visit.js';
import { type Admitted, type Here, NotAllowed, RedirectTo, SignInFirst } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import { Frame } from './frame.js';
import { PageRefusal } from './gates.js';
import { PageTop } from './heading.js';
import type { Context, Page, Shown } from './page.js';

/** The organization as the frame names it. */
export const placeIn = async (deps: ConsoleDeps, { org, role }: Admitted): Promise<Here> => ({
  org,
  role,
  name: (await readAccount(deps, org)).name,
});

export const drawn = async (context: Context, page: Page, status = 200): Promise<TextResponse> => {
  const { within, ...about } = await page.show(context);
  const inside = within === undefined ? context : { ...context, here: await placeIn(context.deps, within) };
  const draw = context.refused === null ? shown : shownAfterForm;
  return draw(inside, about, status);
};

/**
 * The page after a form. Refusals name fields as programs do, so the page is drawn once before, and
 * `RefusalText` knows the labels.
 */
export const shownAfterForm = (context: Context, page: Shown, status = 200): TextResponse => {
  render(<WithVisit value={context}>{page.body}</WithVisit>);
  return shown(context, page, status);
};

const htmlType = 'text/html; charset=utf-8';

interface LinkTagsProps extends Required<Pick<Shown, 'title' | 'linked'>> {
  readonly context: Context;
}

const LinkTags = ({ context, title, linked: { description, front } }: LinkTagsProps) => {
  const { origin, self, url } = context;
  return (
    <>
      <meta name="description" content={description} />
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content="Handwritten Cards" />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta property="og:url" content={`${origin}${self}`} />
      <meta name="twitter:card" content="summary" />
      {front === null ? null : (
        <>
          <meta property="og:image" content={`${origin}${url(pathOfPicture(front, 'preview'))}`} />
          <meta property="og:image:alt" content={title} />
        </>
      )}
    </>
  );
};

/** Renders a page in the frame of an organization or of none. */
export const shown = (
  context: Context,
  { title, heading, body, linked }: Shown,
  status = 200,
): TextResponse => ({
  status,
  type: htmlType,
  text: documentOf({
    prefix: placeOf(context.deps.baseUrl()).prefix,
    title: `${title} · Handwritten Cards`,
    body: (
      <WithVisit value={context}>
        <Frame context={context}>
          {heading && <PageTop title={title} heading={heading} context={context} />}
          {body}
        </Frame>
      </WithVisit>
    ),
    style: 'console.css',
    modules: ['pages.js'],
    head: linked && <LinkTags context={context} title={title} linked={linked} />,
  }),
  headers: headersOf(context),
});

const headersOf = ({ origin }: Context): Readonly<Record<string, string>> => ({
  ...pageHeaders({ posts: true }),
  ...(origin.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
});

/** A file with the headers of pages. */
export const withPageHeaders = (context: Context, file: LinesResponse): LinesResponse => ({
  ...file,
  headers: { ...headersOf(context), ...file.headers },
});

export const redirect = (to: string, cookies: readonly string[] = []): TextResponse => ({
  status: 303,
  type: htmlType,
  text: '',
  headers: { location: to, 'set-cookie': cookies },
});

/** Asks for a pause before the next try. */
export const waiting = (response: TextResponse, seconds: number): TextResponse => ({
  ...response,
  headers: { ...response.headers, 'retry-after': `${seconds}` },
});

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

/** Errors that pass by themselves, each with what its page says. */
const passing = [
  [TooManySignIns, 'Too many are signing in', 'Try again in some seconds.'],
  [SignInUnavailable, 'Try again soon', "Sign-in can't be checked just now."],
  [ImportsUnavailable, 'Try again soon', "Uploads can't be reached just now."],
  [ArtworkUnavailable, 'Try again soon', "Uploads can't be reached just now."],
] as const;

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
    return shown(context, { title, body }, status);
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
  const busy = passing.find(([kind]) => error instanceof kind);
  if (busy !== undefined) return waiting(told(503, busy[1], busy[2]), 5);
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
