import { parseCookie, stringifySetCookie } from 'cookie';
import { accountOf } from '../../../application/access/people.js';
import type { Device, Devices } from '../../../application/access/devices.js';
import { root, type Session, type Sessions } from '../../../application/access/sessions.js';
import type { Streams } from '../../../application/writing/streams.js';
import type { Actor } from '../../../domain/events.js';
import { Uuid } from '../../../domain/ids.js';

export type Visitor =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'operator'; readonly session: Session }
  | {
      readonly kind: 'member';
      readonly session: Session;
      readonly account: Uuid;
      readonly name: string;
      readonly email: string;
    };

/** A visitor who is signed in. */
export type SignedIn = Exclude<Visitor, { kind: 'anonymous' }>;

/** The host of an address on this machine. */
export const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** How cookies are kept safe on the way; null if they can't be: then the console lets in no one. */
const safetyOf = (origin: string): { readonly prefix: string; readonly secure: boolean } | null => {
  const { protocol, hostname } = new URL(origin);
  // Safari takes no Secure cookie from http, not even on this machine.
  if (protocol === 'https:') return { prefix: '__Host-', secure: true };
  return loopback.test(hostname) ? { prefix: '', secure: false } : null;
};

export const canSignIn = (origin: string): boolean => safetyOf(origin) !== null;

const day = 24 * 60 * 60;

const setCookie = (origin: string, name: string, value: string, maxAge: number): string => {
  const safety = safetyOf(origin);
  if (safety === null) throw new Error('sign-in is disabled here');
  const { prefix, secure } = safety;
  return stringifySetCookie({
    name: `${prefix}${name}`,
    value,
    httpOnly: true,
    secure,
    sameSite: 'lax',
    path: '/',
    maxAge,
  });
};

/** The Set-Cookie header that signs a browser in, or out with an empty token. */
export const sessionCookie = (origin: string, token: string): string =>
  setCookie(origin, 'session', token, token === '' ? 0 : 14 * day);

/**
 * The Set-Cookie header by which a browser shows that it has signed in to an account. A browser keeps 16 of
 * them at most.
 */
export const deviceCookie = (origin: string, account: string, signed: string): string =>
  setCookie(origin, `device-${account.slice(0, 1)}`, signed, 400 * day);

/** The values of a browser's cookies with such a name. */
const cookiesIn = (origin: string, header: string, name: RegExp): readonly string[] => {
  const safety = safetyOf(origin);
  if (safety === null) return [];
  const { prefix } = safety;
  const isOurs = (sent: string): boolean => sent.startsWith(prefix) && name.test(sent.slice(prefix.length));
  return Object.entries(parseCookie(header)).flatMap(([sent, value = '']) => (isOurs(sent) ? [value] : []));
};

/** Where a browser has signed in before, by its cookies. */
export const devicesIn = (devices: Devices, origin: string, header: string): readonly Device[] =>
  cookiesIn(origin, header, /^device-[0-9a-f]$/)
    .map((signed) => devices.read(signed))
    .filter((device) => device !== null);

export interface VisitorDeps {
  readonly sessions: Sessions;
  readonly streams: Streams;
}

/**
 * `isRefresh`: a page asks by itself, which is no use of the session. Throws SignInUnavailable,
 * EventStoreUnavailable.
 */
export const visitorOf = async (
  { sessions, streams }: VisitorDeps,
  origin: string,
  cookies: string,
  isRefresh: boolean,
): Promise<Visitor> => {
  const [token = ''] = cookiesIn(origin, cookies, /^session$/);
  const session = token === '' ? null : await sessions.use(token, { touch: !isRefresh });
  if (session === null) return { kind: 'anonymous' };
  if (session.owner === root) return { kind: 'operator', session };
  const account = Uuid.parse(session.owner);
  const known = await accountOf({ streams }, account);
  if (known === null) return { kind: 'anonymous' };
  return {
    kind: 'member',
    session,
    account,
    name: known.person?.name ?? 'A member',
    email: known.person?.email ?? '',
  };
};

/** The actor that events record for a visitor. */
export const actorOf = (visitor: SignedIn): Actor =>
  visitor.kind === 'member' ? { kind: 'member', id: visitor.account } : { kind: 'operator', id: 'root' };

const browsers = {
  Firefox: /Firefox\//,
  Edge: /Edg\//,
  Opera: /OPR\//,
  Chrome: /Chrome\//,
  Safari: /Safari\//,
};
const systems = {
  'an iPhone': /iPhone/,
  'an iPad': /iPad/,
  Android: /Android/,
  Windows: /Windows/,
  'a Mac': /Macintosh/,
  Linux: /Linux/,
};

/** A browser's name for itself, in words, for the list of sessions. */
export const browserIn = (userAgent = ''): string => {
  const found = (signs: Readonly<Record<string, RegExp>>): string | undefined =>
    Object.entries(signs).find(([, sign]) => sign.test(userAgent))?.[0];
  const system = found(systems);
  return `${found(browsers) ?? 'A browser'}${system === undefined ? '' : ` on ${system}`}`;
};
