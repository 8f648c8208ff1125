import { newCommand } from '../../../application/writing/execute.js';
import { assertService } from '../../../application/writing/rehearsal.js';
import { DomainError } from '../../../domain/errors.js';
import { may } from '../../../domain/permissions.js';
import { retryAfter } from '../server/caller.js';
import { ClientGone, statusOf } from '../server/errors.js';
import type { LinesResponse, TextResponse } from '../server/route.js';
import type { ShownRefusal } from '../web/visit.js';
import { contextOf, type PageRequest } from './context.js';
import { assertMay, roleAt, SignInFirst, staffRoleOf, type AdmittedOrg, type Need } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import { drawn, errorPage, placeIn, redirect, shownAfterForm, waiting, withPageHeaders } from './rendered.js';
import {
  assertHost,
  assertSafeWay,
  assertSameOrigin,
  countForm,
  downloadsAtOnce,
  PageRefusal,
  runOnce,
  sentBy,
} from './gates.js';
import type { Context, KnownContext, OrgContext, Outcome, Page, Sent } from './page.js';
import { actorOf, visitorOf } from './visitor.js';

/** The context that a page's functions get. A page of the house is there for the staff alone. */
const admitted = async (
  request: PageRequest,
  context: Context,
  { path, may: need, mayAct }: Pick<Page, 'path' | 'may' | 'mayAct'>,
): Promise<Context> => {
  if (need === 'anyone') return context;
  const { deps, visitor, params, requestId, traceparent } = context;
  if (visitor.kind === 'anonymous') throw new SignInFirst();
  const by = { actor: actorOf(visitor), requestId, traceparent };
  const concerns = (org: AdmittedOrg) => request.concerns({ org, visitor: by.actor });
  request.concerns({ visitor: by.actor });
  const commandIn = (org: AdmittedOrg | null) => () => newCommand(deps, by, org);
  const known: KnownContext = { ...context, visitor, by, command: commandIn(null), concerns };
  if (path.includes('/:org')) {
    const place = await roleAt(deps, visitor, params['org'] ?? '');
    concerns(place.org);
    assertMay(place, need);
    const inside: OrgContext = {
      ...known,
      ...place,
      here: await placeIn(deps, place),
      mayDo: (what) => may(place.role, what),
      mayAct: mayAct !== 'anyone' && mayAct !== 'signed-in' && may(place.role, mayAct),
      command: commandIn(place.org),
      url: (to, texts, query) => context.url(to, { org: place.org, ...texts }, query),
    };
    return inside;
  }
  if (need === 'signed-in') return known;
  const place = await staffRoleOf(deps, visitor);
  assertMay(place, need);
  return { ...known, here: { ...place, name: 'The house' } };
};

/** Statuses that explain more than that a form was refused. */
const telling: ReadonlySet<number> = new Set([403, 409, 429, 503]);

/** The page with its form again, and why that was refused; throws any other error. */
const refusedPage = async (
  context: Context,
  page: Page,
  error: unknown,
  sent: Sent,
): Promise<TextResponse> => {
  if (!(error instanceof DomainError) || error.code === 'not_found') throw error;
  const known = statusOf(error.code);
  const status = telling.has(known) ? known : 422;
  const refused: ShownRefusal = {
    action: sent('do'),
    message: error.message,
    field: error.param,
    meaning: context.url('/docs/errors/:code', { code: error.code }),
    sent,
  };
  const response = await drawn({ ...context, refused }, page, status);
  return status === 429 ? waiting(response, retryAfter(context.deps.clock.steady())) : response;
};

/** Does the work of a form; shows its page again if it is refused, with what was sent until then. */
const attempt = async (
  context: Context,
  page: Page,
  need: Need,
  sent: Sent,
  work: () => Promise<Outcome>,
): Promise<TextResponse> => {
  const { deps, visitor } = context;
  try {
    // To sign in, or out, changes nothing of the service.
    if (need !== 'anyone' && need !== 'signed-in') await assertService(deps.rehearsal);
    if (visitor.kind !== 'anonymous') await countForm(deps, visitor.session.owner);
    const outcome = await work();
    if (outcome.kind === 'go') return redirect(outcome.to, outcome.cookies);
    return shownAfterForm({ ...context, notice: null }, outcome);
  } catch (error) {
    return refusedPage(context, page, error, sent);
  }
};

/** A form with a file: the visitor is admitted before any of it is read. */
const takeUpload = async (page: Page, request: PageRequest, context: Context): Promise<TextResponse> => {
  const action = Object.values(page.actions).find(({ upload }) => upload !== undefined);
  const noFiles = new DomainError('unsupported_media_type', 'This page takes no files.');
  if (action?.upload === undefined) throw noFiles;
  const { upload, fileLimit } = action;
  const inside = await admitted(request, context, { ...page, may: action.may });
  if (inside.here === null) throw noFiles;
  const { org } = inside.here;
  const read = new Map<string, string>();
  const sent = sentBy(read);
  return attempt(inside, page, action.may, sent, async () => {
    const place = context.deps.uploads.begin(org);
    try {
      const { fields, fileName, file } = await request.readUpload(fileLimit);
      for (const [name, value] of fields) read.set(name, value);
      return await upload(inside, sent, { fields, fileName, file: place.counted(file) });
    } finally {
      place.end();
    }
  });
};

const act = async (page: Page, request: PageRequest, context: Context): Promise<TextResponse> => {
  const fields = await request.readForm();
  const sent = sentBy(fields);
  const action = Object.hasOwn(page.actions, sent('do')) ? page.actions[sent('do')] : undefined;
  if (action === undefined) throw new PageRefusal(422, 'This page has no such form.');
  const inside = await admitted(request, context, { ...page, may: action.may });
  const { visitor } = inside;
  return attempt(inside, page, action.may, sent, () =>
    action.once === false || visitor.kind === 'anonymous'
      ? action.run(inside, sent)
      : runOnce(inside, visitor.session.owner, fields, action),
  );
};

const look = async (
  page: Page,
  request: PageRequest,
  context: Context,
): Promise<TextResponse | LinesResponse> => {
  const inside = await admitted(request, context, page);
  if (page.file === undefined) return drawn(inside, page);
  request.takePlace(inside.here?.org ?? '', downloadsAtOnce);
  return withPageHeaders(inside, await page.file(inside));
};

/** Whether the script of a page asks, not the visitor. */
const isRefresh = (request: PageRequest): boolean => request.header('x-refresh').length > 0;

/** Shows a page, or runs the action of its form. */
export const answer =
  (deps: ConsoleDeps, page: Page, isForm: boolean) =>
  async (request: PageRequest): Promise<TextResponse | LinesResponse> => {
    let context = contextOf(deps, request, page);
    try {
      assertHost(request, context.origin);
      if (isForm) {
        assertSameOrigin(request, context.origin);
        assertSafeWay(context.origin);
      }
      if (deps.hasConsole)
        context = {
          ...context,
          visitor: await visitorOf(deps, context.origin, context.cookies, isRefresh(request)),
        };
      context = { ...context, isRehearsal: (await deps.rehearsal()) !== null };
      if (!isForm) return await look(page, request, context);
      const hasFile = /^\s*multipart\/form-data/i.test(request.header('content-type')[0] ?? '');
      return hasFile ? await takeUpload(page, request, context) : await act(page, request, context);
    } catch (error) {
      if (error instanceof ClientGone) throw error;
      return errorPage(context, error);
    }
  };
