import { NamedError } from '../../../domain/errors.js';
import type { HttpRequest } from '../server/route.js';
import { canSignIn, loopback } from './visitor.js';

type Headers = Pick<HttpRequest, 'header'>;

/** A refusal that has a page and a status of its own. */
export class PageRefusal extends NamedError {
  constructor(
    readonly status: number,
    readonly title: string,
    message: string,
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
    throw new PageRefusal(421, 'Wrong address', `These pages are at ${origin}.`);
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
    throw new PageRefusal(
      403,
      'Refused',
      'This form was not sent from a page of this service. Nothing was done.',
    );
};

/**
 * Over http from elsewhere a form would expose passwords, links and sessions on the way: it is refused before
 * anything is done, so that a link that came with it stays good.
 */
export const assertSafeWay = (origin: string): void => {
  if (!canSignIn(origin))
    throw new PageRefusal(
      403,
      'Sign-in is disabled here',
      'Put TLS in front of the service, then set BASE_URL to its https address. Nothing was done.',
    );
};

/** How many files of a page an organization may have on their way at a time. */
export const downloadsAtOnce = 3;
