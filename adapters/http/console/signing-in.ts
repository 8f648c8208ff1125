import type { Credential } from '../../../application/access/credentials.js';
import type { Device } from '../../../application/access/devices.js';
import { accountWith } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { DomainError } from '../../../domain/errors.js';
import { household, isOneTooMany } from '../server/caller.js';
import type { Context } from './page.js';
import { deviceCookie, devicesIn, sessionCookie } from './visitor.js';

type Browser = Pick<Context, 'deps' | 'address' | 'browser' | 'requestId'>;

/** Whom a line of the log is about: an account, or an e-mail address of which no account signs in. */
type About = { readonly account: string } | { readonly mailbox: string };

/**
 * Logs changes of sessions. They are no events, which would make the streams grow with use. Ids stand for
 * accounts and for e-mail addresses.
 */
export const tell = (
  { deps, address, browser, requestId }: Browser,
  about: About,
  what: 'signed in' | 'signed out' | 'signed out elsewhere' | 'sign-in refused',
): void => deps.log.info({ ...about, address, browser, request: requestId }, what);

/** Opens a session of `root`, or of an account. Returns the cookie that holds it. */
export const sessionOf = async (
  context: Context,
  account: string,
  epoch: string | null = null,
): Promise<string> => {
  const { deps, origin, browser } = context;
  const token = await deps.sessions.open(account, browser, epoch);
  tell(context, { account }, 'signed in');
  return sessionCookie(origin, token);
};

/** The cookie by which this browser shows from now on that it has signed in to an account. */
export const knownDevice = ({ deps, origin }: Context, device: Device): string =>
  deviceCookie(origin, device.account, deps.devices.sign(device));

/** Opens a session of an account with its password. Returns the cookies of a browser that is signed in. */
export const signedIn = async (context: Context, device: Device): Promise<readonly string[]> => [
  await sessionOf(context, device.account, device.epoch),
  knownDevice(context, device),
];

/** Counts a link that leads nowhere as a failure of its address. Returns the refusal. */
export const unknownLink = async ({ deps, address }: Browser, message: string): Promise<DomainError> => {
  const isThrottled = await isOneTooMany(deps, address).catch((error: unknown) => {
    deps.log.error({ err: error }, 'failed attempts are not counted');
    return false;
  });
  return isThrottled
    ? new DomainError(
        'rate_limited',
        'There were too many tries to sign in from your network. Wait a minute.',
      )
    : new DomainError('not_found', message);
};

/** Where this browser has signed in: before, by its cookies, and now. */
const devicesOf = ({ deps, origin, cookies, visitor }: Context): readonly Device[] => {
  const known = devicesIn(deps.devices, origin, cookies);
  if (visitor.kind !== 'member' || visitor.session.epoch === null) return known;
  return [...known, { account: visitor.account, epoch: visitor.session.epoch }];
};

/**
 * The account of an e-mail address and its password. Throws `invalid_parameter` with this message if they
 * don't match, and `rate_limited`, TooManySignIns, SignInUnavailable. (decision 72: who may try passwords)
 */
export const accountBy = async (
  context: Context,
  email: string,
  password: string,
  refusal: string,
  field = 'password',
): Promise<Credential> => {
  try {
    const trier = { network: household(context.address), devices: devicesOf(context) };
    const credential = await accountWith(context.deps, email, password, trier);
    if (credential !== null) return credential;
    throw new DomainError('invalid_parameter', refusal, field);
  } catch (error) {
    if (error instanceof DomainError) tell(context, { mailbox: mailboxIdOf(email) }, 'sign-in refused');
    throw error;
  }
};
