import { countTries } from '../../../application/access/count-tries.js';
import { claimForm, completeForm, releaseForm } from '../../../application/access/forms.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';
import { DomainError, NamedError } from '../../../domain/errors.js';
import { refusalOf } from '../server/errors.js';
import type { HttpRequest } from '../server/route.js';
import type { Url } from '../web/paths.js';
import { NotAllowed } from './admit.js';
import { type Context, go, type Outcome, type Page, type Sent } from './page.js';
import { canSignIn, loopback } from './visitor.js';

type Headers = Pick<HttpRequest, 'header'>;

/** A refusal that has a page and a status of its own. */
export class PageRefusal extends NamedError {
  constructor(
    readonly status: number,
    message: string,
    readonly title = 'Refused',
  ) {
    super(message);
  }
}

/** A page is served for the address that clients see alone: another name may be a trick. */
export const assertHost = (request: Headers, origin: string): void => {
  const wanted = new URL(origin);
  const host = request.header('host')[0] ?? '';
  const sent = URL.canParse(`${wanted.protocol}//${host}`) ? new URL(`${wanted.protocol}//${host}`) : null;
  const isAlias =
    sent !== null &&
    sent.port === wanted.port &&
    loopback.test(sent.hostname) &&
    loopback.test(wanted.hostname);
  if (sent?.host !== wanted.host && !isAlias)
    throw new PageRefusal(421, `These pages are at ${origin}.`, 'Wrong address');
};

/**
 * A form must come from one of our own pages. Browsers report the origin by themselves; a page elsewhere
 * can't fake it.
 */
export const assertSameOrigin = (request: Headers, origin: string): void => {
  const [site] = request.header('sec-fetch-site');
  const [from] = request.header('origin');
  const isOurs = site === undefined ? from === origin : site === 'same-origin' || site === 'none';
  if (!isOurs)
    throw new PageRefusal(403, 'This form was not sent from a page of this service. Nothing was done.');
};

/**
 * Over http from elsewhere a form would expose passwords, links and sessions on the way: it is refused before
 * anything is done, so that a link that came with it stays good.
 */
export const assertSafeWay = (origin: string): void => {
  if (!canSignIn(origin))
    throw new PageRefusal(
      403,
      'Put TLS in front of the service, then set BASE_URL to its https address. Nothing was done.',
      'Sign-in is disabled here',
    );
};

/** How many files of a page an organization may have on their way at a time. */
export const downloadsAtOnce = 3;

export const sentBy =
  (fields: ReadonlyMap<string, string>): Sent =>
  (name) =>
    fields.get(name) ?? '';

/** The id of a form, as its page gave it. Throws PageRefusal for any other text. */
export const formIn = (sent: Sent): string => {
  const form = sent('form');
  if (!/^[\w-]{43}$/.test(form))
    throw new PageRefusal(422, 'This form has no id of its own. Load its page again, and send that.');
  return form;
};

/** How many forms an account may send in a clock minute: as many as a key may send requests. */
const formsPerMinute = 120;

/** Throws `rate_limited` if the owner of a session has sent too many. */
export const countForm = (deps: Context['deps'], owner: string): Promise<unknown> =>
  countTries(
    deps,
    { [`forms of ${owner}`]: formsPerMinute },
    `Within a minute, ${formsPerMinute} forms may be sent. Wait a minute.`,
  );

/** Runs an action once for its form, however often that is sent. Throws `invalid_transition`. */
export const runOnce = async (
  context: Context,
  owner: string,
  fields: ReadonlyMap<string, string>,
  { run, again }: Page['actions'][string],
): Promise<Outcome> => {
  const sent = sentBy(fields);
  const waited = context.deps.idempotency.clock.now() - context.came;
  const claim = await claimForm(context.deps, formIn(sent), owner, JSON.stringify([...fields]), waited);
  if (claim.kind === 'done') return go(claim.to as Url);
  if (claim.kind === 'other')
    throw new DomainError(
      'invalid_transition',
      'This form was sent before, with other content. Nothing was done this time: check what is there, then send it again.',
    );
  if (claim.kind === 'running')
    throw new PageRefusal(
      409,
      'This form was sent twice, and the first time is still at work.',
      'Still at work',
    );
  const leadsTo = again?.(context) ?? context.url('start');
  try {
    const outcome = claim.tookOver && again !== undefined ? go(leadsTo) : await run(context, sent);
    await completeForm(context.deps, claim.held, outcome.kind === 'go' ? outcome.to : leadsTo);
    return outcome;
  } catch (error) {
    const isRefused = error instanceof NotAllowed || error instanceof TooManySignIns;
    if (isRefused || refusalOf(error) !== null)
      // It ends by itself; the refusal counts.
      await releaseForm(context.deps, claim.held).catch(() => undefined);
    throw error;
  }
};
