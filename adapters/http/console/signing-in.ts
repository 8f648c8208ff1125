import type { Credential } from '../../../application/access/credentials.js';
import { accountWith } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { DomainError } from '../../../domain/errors.js';
import { isOneTooMany } from '../caller.js';
import type { Context } from './page.js';
import { sessionCookie } from './visitor.js';

type Browser = Pick<Context, 'deps' | 'address' | 'browser' | 'requestId'>;

/** Whom a line of the log is about: an account, or an e-mail address of which no account signs in. */
type About = { readonly account: string } | { readonly mailbox: string };

/**
 * What happens to sessions is told by the log and by no event: it would make the streams grow with use. Ids
 * stand for accounts and for e-mail addresses.
 */
export const tell = (
  { deps, address, browser, requestId }: Browser,
  about: About,
  what: 'signed in' | 'signed out' | 'signed out elsewhere' | 'sign-in refused',
): void => deps.log.info({ ...about, address, browser, request: requestId }, what);

/** Who signs in: an account with its password, one without a password, or `root`. */
interface Who {
  readonly account: string;
  readonly epoch: string | null;
}

/** Opens a session. Returns the cookie that holds it. */
export const signedIn = async (context: Context, { account, epoch }: Who): Promise<string> => {
  const { deps, origin, browser } = context;
  const token = await deps.sessions.open(account, browser, epoch);
  tell(context, { account }, 'signed in');
  return sessionCookie(origin, token);
};

const isThrottled = async ({ deps, address }: Browser): Promise<boolean> => {
  try {
    return await isOneTooMany(deps, address);
  } catch (error) {
    deps.log.error({ err: error }, 'failed attempts are not counted');
    return false;
  }
};

const tooMany = (): DomainError =>
  new DomainError('rate_limited', 'There were too many tries to sign in from your network. Wait a minute.');

/** Counts a link that leads nowhere as a failure of its address. Returns what it is refused with. */
export const unknownLink = async (context: Browser, message: string): Promise<DomainError> =>
  (await isThrottled(context)) ? tooMany() : new DomainError('not_found', message);

/**
 * The account of an address and its password. Throws `invalid_parameter` with this message if they don't fit,
 * and `rate_limited` after too many tries for the account, or from the address (decision 50: beyond 300
 * failures in a clock minute a failure is told no more, while a right password still works).
 */
export const accountBy = async (
  context: Context,
  email: string,
  password: string,
  refusal: string,
  field = 'password',
): Promise<Credential> => {
  try {
    const credential = await accountWith(context.deps, email, password);
    if (credential !== null) return credential;
    throw (await isThrottled(context)) ? tooMany() : new DomainError('invalid_parameter', refusal, field);
  } catch (error) {
    if (error instanceof DomainError) tell(context, { mailbox: mailboxIdOf(email) }, 'sign-in refused');
    throw error;
  }
};
