import { newCommand } from '../../../application/writing/execute.js';
import { assertService } from '../../../application/writing/rehearsal.js';
import { DomainError } from '../../../domain/errors.js';
import { may } from '../../../domain/permissions.js';
import { retryAfter } from '../server/caller.js';
import { ClientGone, statusOf } from '../server/errors.js';
import type { LinesResponse, TextResponse } from '../server/route.js';
import type { ShownRefusal } from '../web/form.js';
import { contextOf, type PageRequest } from './context.js';
import { assertMay, requireSignedIn, roleAt, staffRoleOf, type AdmittedOrg } from './admit.js';
import type { ConsoleDeps } from './deps.js';
import type { UploadPlace } from '../../../application/contacts/uploads.js';
import { drawn, errorPage, placeIn, redirect, shownAfterForm, waiting, withPageHeaders } from './rendered.js';
import type { Here } from './frame.js';
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

interface Inside {
  readonly context: Context;
  /** The organization for the frame. */
  readonly here: Here | null;
}

/** The context that a page's functions get. A page of the house is there for the staff alone. */
const admitted = async (
  request: PageRequest,
  context: Context,
  { path, may: need, mayAct }: Page,
): Promise<Inside> => {
  if (need === 'anyone') return { context, here: null };
  const visitor = requireSignedIn(context.visitor);
  const { deps, params, requestId, traceparent } = context;
  const by = { actor: actorOf(visitor), requestId, traceparent };
  const concerns = (org: AdmittedOrg) => request.concerns({ org, visitor: by.actor });
  request.concerns({ visitor: by.actor });
  const commandIn = (org: AdmittedOrg | null) => () => newCommand(deps, by, org);
  const known: KnownContext = { ...context, visitor, by, command: commandIn(null), concerns };
  if (path.includes('/:org')) {
    const place = await roleAt(deps, visitor, params['org'] ?? '');
    concerns(place.org);
    assertMay(place, need);
    const mayForms = mayAct !== 'anyone' && mayAct !== 'signed-in' && may(place.role, mayAct);
    const inside: OrgContext = { ...known, ...place, mayAct: mayForms, command: commandIn(place.org) };
    return { context: inside, here: await placeIn(deps, place) };
  }
  if (need === 'signed-in') return { context: known, here: null };
  const place = await staffRoleOf(deps, visitor);
  assertMay(place, need);
  return { context: known, here: { ...place, name: 'The house' } };
};

const answered = ({ context, here }: Inside, outcome: Outcome): TextResponse =>
  outcome.kind === 'go' ? redirect(outcome.to, outcome.cookies) : shownAfterForm(context, here, outcome);

/** Statuses that explain more than that a form was refused. */
const telling: ReadonlySet<number> = new Set([403, 409, 429, 503]);

/** The page with its form again, and why that was refused; throws any other error. */
const refusedPage = async (
  { context, here }: Inside,
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
  const response = await drawn(context, here, page, refused, status);
  return status === 429 ? waiting(response, retryAfter(context.deps.clock.steady())) : response;
};

/** A form with a file: the visitor is admitted before any of it is read. */
const takeUpload = async (page: Page, request: PageRequest, context: Context): Promise<TextResponse> => {
  const action = Object.values(page.actions).find(({ upload }) => upload !== undefined);
  const noFiles = new DomainError('unsupported_media_type', 'This page takes no files.');
  if (action?.upload === undefined) throw noFiles;
  const inside = await admitted(request, context, { ...page, may: action.may });
  if (inside.here === null) throw noFiles;
  const { org } = inside.here;
  const { uploads, rehearsal } = context.deps;
  let sent: Sent = () => '';
  let place: UploadPlace | null = null;
  try {
    await assertService(rehearsal);
    const { visitor } = inside.context;
    if (visitor.kind !== 'anonymous') await countForm(context.deps, visitor.session.owner);
    place = uploads.begin(org);
    const { fields, fileName, file } = await request.readUpload(action.fileLimit);
    sent = sentBy(fields);
    const upload = { fields, fileName, file: place.counted(file) };
    return answered(inside, await action.upload(inside.context, sent, upload));
  } catch (error) {
    return await refusedPage(inside, page, error, sent);
  } finally {
    place?.end();
  }
};

const act = async (page: Page, request: PageRequest, context: Context): Promise<TextResponse> => {
  const fields = await request.readForm();
  const sent = sentBy(fields);
  const action = Object.hasOwn(page.actions, sent('do')) ? page.actions[sent('do')] : undefined;
  if (action === undefined) throw new PageRefusal(422, 'This page has no such form.');
  const inside = await admitted(request, context, { ...page, may: action.may });
  const { visitor } = inside.context;
  try {
    // To sign in, or out, changes nothing of the service.
    if (action.may !== 'anyone' && action.may !== 'signed-in') await assertService(context.deps.rehearsal);
    if (visitor.kind !== 'anonymous') await countForm(context.deps, visitor.session.owner);
    const once = action.once !== false && visitor.kind !== 'anonymous';
    const outcome = once
      ? await runOnce(inside.context, visitor.session.owner, fields, action)
      : await action.run(inside.context, sent);
    return answered(inside, outcome);
  } catch (error) {
    return refusedPage(inside, page, error, sent);
  }
};

const look = async (
  page: Page,
  request: PageRequest,
  context: Context,
): Promise<TextResponse | LinesResponse> => {
  const { context: inside, here } = await admitted(request, context, page);
  if (page.file === undefined) return drawn(inside, here, page, null);
  request.takePlace(here?.org ?? '', downloadsAtOnce);
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
