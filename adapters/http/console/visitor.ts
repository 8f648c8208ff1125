import { parseCookie, stringifySetCookie } from 'cookie';
import { accountOf } from '../../../application/access/people.js';
import { root, type Session, type Sessions } from '../../../application/access/sessions.js';
import type { Streams } from '../../../application/streams.js';
import type { Actor } from '../../../domain/events.js';
import { Uuid } from '../../../domain/ids.js';

/** Who looks at a page. */
export type Visitor =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'operator'; readonly session: Session }
  | {
      readonly kind: 'member';
      readonly session: Session;
      readonly account: Uuid;
      readonly name: string;
      readonly email: string;
    };

/** Somebody who is signed in. */
export type SignedIn = Exclude<Visitor, { kind: 'nobody' }>;

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** How the cookie is kept safe on the way; null if it can't be: then nobody can sign in. */
const cookieOf = (origin: string): { readonly name: string; readonly secure: boolean } | null => {
  const { protocol, hostname } = new URL(origin);
  // Safari takes no Secure cookie from http, not even on this machine.
  if (protocol === 'https:') return { name: '__Host-session', secure: true };
  return loopback.test(hostname) ? { name: 'session', secure: false } : null;
};

export const canSignIn = (origin: string): boolean => cookieOf(origin) !== null;

const fortnight = 14 * 24 * 60 * 60;

/** The Set-Cookie header that signs a browser in, or out with an empty token. */
export const sessionCookie = (origin: string, token: string): string => {
  const cookie = cookieOf(origin);
  if (cookie === null) throw new Error('nobody can sign in here');
  return stringifySetCookie({
    name: cookie.name,
    value: token,
    httpOnly: true,
    secure: cookie.secure,
    sameSite: 'lax',
    path: '/',
    maxAge: token === '' ? 0 : fortnight,
  });
};

const tokenIn = (origin: string, header: string | undefined): string | null => {
  const cookie = cookieOf(origin);
  return cookie === null || header === undefined ? null : (parseCookie(header)[cookie.name] ?? null);
};

export interface VisitorDeps {
  readonly sessions: Sessions;
  readonly streams: Streams;
}

/** Throws SignInUnavailable, EventStoreUnavailable. */
export const visitorOf = async (
  { sessions, streams }: VisitorDeps,
  origin: string,
  cookieHeader: string | undefined,
): Promise<Visitor> => {
  const token = tokenIn(origin, cookieHeader);
  const session = token === null || token === '' ? null : await sessions.use(token);
  if (session === null) return { kind: 'nobody' };
  if (session.owner === root) return { kind: 'operator', session };
  const account = Uuid.parse(session.owner);
  const known = await accountOf({ streams }, account);
  if (known === null) return { kind: 'nobody' };
  return {
    kind: 'member',
    session,
    account,
    name: known.person?.name ?? 'Somebody',
    email: known.person?.email ?? '',
  };
};

/** Who did it, as events record it. */
export const actorOf = (visitor: SignedIn): Actor =>
  visitor.kind === 'member' ? { kind: 'member', id: visitor.account } : { kind: 'operator', id: 'root' };

const browsers = [
  ['Firefox', /Firefox\//],
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Chrome', /Chrome\//],
  ['Safari', /Safari\//],
] as const;
const systems = [
  ['an iPhone', /iPhone/],
  ['an iPad', /iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['a Mac', /Macintosh/],
  ['Linux', /Linux/],
] as const;

/** A browser in words, for the list of sessions: what it calls itself, no more. */
export const browserIn = (userAgent: string | undefined): string => {
  const found = (known: readonly (readonly [string, RegExp])[]): string | undefined =>
    known.find(([, sign]) => sign.test(userAgent ?? ''))?.[0];
  const browser = found(browsers) ?? 'A browser';
  const system = found(systems);
  return system === undefined ? browser : `${browser} on ${system}`;
};
