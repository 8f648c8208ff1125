import { z } from 'zod';
import { claimForm, completeForm, releaseForm } from '../../../application/forms.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { SignInUnavailable } from '../../../application/ports/sign-in-records.js';
import { readAccount } from '../../../application/read-accounts.js';
import { newToken } from '../../../application/sessions.js';
import { DomainError } from '../../../domain/errors.js';
import type { Role } from '../../../domain/permissions.js';
import { ClientGone, refusalOf } from '../errors.js';
import { pathParameters, route, type HttpRequest, type Route, type TextResponse } from '../route.js';
import { documentOf, pageHeaders } from '../web/document.js';
import type { Html } from '../web/prose.js';
import { pageUrl, placeOf, type Url } from '../web/url.js';
import { NotAllowed, assertMay, requireSignedIn, roleAt, SignInFirst, type AdmittedOrg } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import { framed, type Here } from './frame.js';
import { Elsewhere, go, type Context, type Outcome, type Page, type Refused, type Sent } from './page.js';
import { paths } from './paths.js';
import { actorOf, browserIn, visitorOf, type Visitor } from './visitor.js';

type Request = HttpRequest<unknown, Readonly<Record<string, string>>, object>;

/** A refusal that has a page and a status of its own. */
class Stopped extends Error {
  override readonly name = 'Stopped';

  constructor(
    readonly status: number,
    readonly title: string,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

const loopbacks = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A page is served for the address that clients see alone: another name may be a trick. */
const assertHost = (request: Request, origin: string): void => {
  const wanted = new URL(origin);
  const host = request.header('host')[0] ?? '';
  const sent = URL.canParse(`${wanted.protocol}//${host}`) ? new URL(`${wanted.protocol}//${host}`) : null;
  const isAlias =
    sent !== null &&
    sent.port === wanted.port &&
    loopbacks.has(sent.hostname) &&
    loopbacks.has(wanted.hostname);
  if (sent?.host !== wanted.host && !isAlias)
    throw new Stopped(421, 'Wrong address', `These pages are at ${origin}.`);
};

/** A form must come from one of our own pages. Browsers say so by themselves; a page elsewhere can't. */
const assertSameOrigin = (request: Request, origin: string): void => {
  const [site] = request.header('sec-fetch-site');
  const [from] = request.header('origin');
  const isOurs = site === undefined ? from === origin : site === 'same-origin' || site === 'none';
  if (!isOurs)
    throw new Stopped(
      403,
      'Refused',
      'This form was not sent from a page of this service. Nothing was done.',
    );
};

const contextOf = (
  deps: ConsoleDeps,
  request: Request,
  { path, query }: Pick<Page, 'path' | 'query'>,
  visitor: Visitor,
): Context => {
  const { origin, prefix } = placeOf(deps.baseUrl());
  const sent: Readonly<Record<string, unknown>> = { ...request.query };
  return {
    deps,
    visitor,
    path,
    params: request.params,
    query: (name) => {
      const value = query.includes(name) ? sent[name] : undefined;
      return typeof value === 'string' ? value.trim() : '';
    },
    requestId: request.id,
    origin,
    browser: browserIn(request.header('user-agent')[0]),
    url: (path, params, values) => pageUrl(prefix, path, params, values),
    signal: request.signal,
    timeZone: deps.timeZone,
  };
};

/** The context that a page's functions get, and the organization for its frame. */
const admitted = async (
  context: Context,
  { path, may: need }: Pick<Page, 'path' | 'may'>,
): Promise<{ readonly context: Context; readonly here: Here | null }> => {
  if (need === 'anyone') return { context, here: null };
  const visitor = requireSignedIn(context.visitor);
  const by = { actor: actorOf(visitor), requestId: context.requestId };
  if (!path.includes('/:org')) return { context: { ...context, visitor, by } as Context, here: null };
  const { role, org } = await roleAt(context.deps, visitor, context.params['org'] ?? '');
  assertMay(role, org, need);
  const here = await placeIn(context.deps, { org, role });
  return { context: { ...context, visitor, by, role, org } as Context, here };
};

/** The organization as the frame names it. */
const placeIn = async (
  deps: ConsoleDeps,
  { org, role }: { readonly org: AdmittedOrg; readonly role: Role },
): Promise<Here> => ({ org, role, name: (await readAccount(deps, org)).name });

/** A page in its frame. */
const drawn = async (
  context: Context,
  here: Here | null,
  page: Page,
  refused: Refused | null,
  status = 200,
): Promise<TextResponse> => {
  const { within, ...parts } = await page.show(context, refused);
  return shown(context, within === undefined ? here : await placeIn(context.deps, within), parts, status);
};

const htmlType = 'text/html; charset=utf-8';

const shown = (
  context: Context,
  here: Here | null,
  { title, body }: { readonly title: string; readonly body: Html },
  status = 200,
): TextResponse => ({
  status,
  type: htmlType,
  text: documentOf({
    prefix: placeOf(context.deps.baseUrl()).prefix,
    title: `${title} · Handwritten Cards`,
    body: framed(context, here, body),
    modules: ['pages.js'],
  }),
  headers: {
    ...pageHeaders({ forms: true }),
    ...(context.origin.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  },
});

const redirect = (to: string, cookie?: string): TextResponse => ({
  status: 303,
  type: htmlType,
  text: '',
  headers: { location: to, ...(cookie !== undefined && { 'set-cookie': cookie }) },
});

const message = (title: string, text: string): { readonly title: string; readonly body: Html } => ({
  title,
  body: (
    <div class="narrow">
      <h1>{title}</h1>
      <p>{text}</p>
    </div>
  ),
});

/** The page for an error. Those that nobody expects are logged, and tell the visitor nothing. */
const errorPage = (context: Context, error: unknown): TextResponse => {
  const { url, deps, requestId } = context;
  if (error instanceof Elsewhere) return redirect(error.to);
  if (error instanceof SignInFirst) return redirect(url(paths.signIn, {}, { to: wanted(context) }));
  if (error instanceof Stopped)
    return { ...shown(context, null, message(error.title, error.message), error.status) };
  if (error instanceof NotAllowed)
    return shown(
      context,
      null,
      message(
        'Not allowed',
        `Your role here lacks the permission ${error.permission}. An owner can change your role.`,
      ),
      403,
    );
  if (error instanceof TooManySignIns)
    return waiting(
      shown(context, null, message('Too many are signing in', 'Try again in some seconds.'), 503),
      5,
    );
  if (error instanceof SignInUnavailable)
    return waiting(
      shown(context, null, message('Try again soon', "Sign-in can't be checked just now."), 503),
      5,
    );
  const refusal = refusalOf(error);
  if (refusal !== null && refusal.status < 500)
    return shown(
      context,
      null,
      message(refusal.status === 404 ? 'Not found' : 'Refused', refusal.message),
      refusal.status,
    );
  deps.log.error({ err: error, request: requestId }, 'a page failed');
  return shown(
    context,
    null,
    message(
      'Something went wrong',
      'Nothing was lost. Try again; if it stays like this, tell the request below.',
    ),
    500,
  );
};

const waiting = (response: TextResponse, seconds: number): TextResponse => ({
  ...response,
  headers: { ...response.headers, 'retry-after': `${seconds}` },
});

/** The address that the visitor wanted, for the way back after signing in. */
const wanted = ({ params, url, query }: Context): string => {
  if ('code' in params) return url(paths.card, params);
  if ('org' in params) return url(paths.home, params);
  const place = query('place');
  return url(paths.start, {}, place === '' ? {} : { place });
};

const answered = (context: Context, here: Here | null, outcome: Outcome): TextResponse =>
  outcome.kind === 'go' ? redirect(outcome.to, outcome.cookie) : shown(context, here, outcome);

const sentBy =
  (fields: ReadonlyMap<string, string>): Sent =>
  (name) =>
    fields.get(name) ?? '';

/** Runs an action once for its form, however often that is sent. */
const runOnce = async (
  context: Context,
  owner: string,
  sent: Sent,
  { run, again }: Page['actions'][string],
): Promise<Outcome> => {
  const claim = await claimForm(context.deps, sent('form'), owner);
  if (claim.kind === 'done') return go(claim.to as Url);
  if (claim.kind === 'running')
    throw new Stopped(409, 'Still at work', 'This form was sent twice, and the first time is still at work.');
  const leadsTo = again?.(context) ?? context.url(paths.start);
  try {
    const outcome = claim.tookOver && again !== undefined ? go(leadsTo) : await run(context, sent);
    await completeForm(context.deps, claim.held, outcome.kind === 'go' ? outcome.to : leadsTo);
    return outcome;
  } catch (error) {
    if (refusalOf(error) !== null) await releaseForm(context.deps, claim.held);
    throw error;
  }
};

const statusOfRefusal = (error: DomainError): number => (refusalOf(error)?.status === 409 ? 409 : 422);

const act = async (page: Page, request: Request, context: Context): Promise<TextResponse> => {
  const sent = sentBy(await request.readForm());
  const action = Object.hasOwn(page.actions, sent('do')) ? page.actions[sent('do')] : undefined;
  if (action === undefined) throw new Stopped(422, 'Refused', 'This page has no such form.');
  const { context: inside, here } = await admitted(context, { path: page.path, may: action.may });
  const { visitor } = inside;
  try {
    const once = action.once !== false && visitor.kind !== 'nobody';
    const outcome = once
      ? await runOnce(inside, visitor.session.owner, sent, action)
      : await action.run(inside, sent);
    return answered(inside, here, outcome);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'not_found') throw error;
    const refused: Refused = { message: error.message, field: error.param, sent };
    return drawn(inside, here, page, refused, statusOfRefusal(error));
  }
};

const look = async (page: Page, context: Context): Promise<TextResponse> => {
  const { context: inside, here } = await admitted(context, page);
  return drawn(inside, here, page, null);
};

const answer =
  (deps: ConsoleDeps, page: Page, isForm: boolean) =>
  async (request: Request): Promise<TextResponse> => {
    let context = contextOf(deps, request, page, { kind: 'nobody' });
    try {
      assertHost(request, context.origin);
      if (isForm) assertSameOrigin(request, context.origin);
      const visitor = await visitorOf(deps, context.origin, request.header('cookie').join('; '));
      context = { ...context, visitor };
      return isForm ? await act(page, request, context) : await look(page, context);
    } catch (error) {
      if (error instanceof ClientGone) throw error;
      return errorPage(context, error);
    }
  };

/** An id for a form that is about to be shown. */
export const newForm = ({ deps }: Context): string => newToken(deps.entropy);

const namesOf = (names: readonly string[]): z.ZodObject =>
  z.object(Object.fromEntries(names.map((name) => [name, z.string().optional()])));

const routesOf = (deps: ConsoleDeps, page: Page): readonly Route[] =>
  (['GET', 'POST'] as const).map((method) =>
    route({
      method,
      path: page.path,
      access: { kind: 'page' },
      params: z.object(Object.fromEntries(pathParameters(page.path).map((name) => [name, z.string()]))),
      query: namesOf(page.query),
      failure: 'internal_error',
      undecodable: 'as-is',
      hidden: true,
      operation: {
        operationId: `${method.toLowerCase()} ${page.path}`,
        summary: 'A page of the console',
        tags: ['console'],
        responses: { 200: { description: 'The page.', schema: null, type: 'text/html' } },
        errors: [],
      },
      handle: (request) => answer(deps, page, method === 'POST')(request as Request),
    }),
  );

/** The routes of all pages. */
export const pageRoutes = (deps: ConsoleDeps, pages: readonly Page[]): readonly Route[] =>
  pages.flatMap((page) => routesOf(deps, page));
