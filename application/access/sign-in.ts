import { mailboxIdOf } from '../../domain/account.js';
import { countTries } from './count-tries.js';
import { credentialsOf, strengthenCredential, type Credential } from './credentials.js';
import type { PeopleDeps } from './people.js';
import type { RateLimiter } from '../ports/rate-limiter.js';

export interface SignInDeps extends Pick<PeopleDeps, 'signInRecords' | 'passwords' | 'clock'> {
  readonly rateLimiter: RateLimiter;
}

/** How many wrong passwords an account may have in a clock minute. */
export const wrongPasswordsPerMinute = 10;

/**
 * Which of the accounts of an e-mail address a password opens; null if none, which costs the same however
 * many there are. Throws `rate_limited`, TooManySignIns, SignInUnavailable.
 */
export const accountWith = async (
  deps: SignInDeps,
  email: string,
  password: string,
): Promise<Credential | null> => {
  const { passwords, rateLimiter, clock } = deps;
  const mailbox = mailboxIdOf(email);
  // Counted before the password is looked at: those that are sent together must not all be tried.
  const tooMany = 'There were too many tries to sign in. Wait a minute.';
  await countTries({ rateLimiter, clock }, { [`sign-in ${mailbox}`]: wrongPasswordsPerMinute }, tooMany);
  const credentials = await credentialsOf(deps, mailbox);
  const hashes = credentials.map(({ hash }) => hash);
  const matched = await passwords.check(password, hashes);
  const credential = credentials.find(({ hash }) => hash === matched?.hash) ?? null;
  if (credential !== null && matched?.isOutdated === true)
    await strengthenCredential(deps, credential, await passwords.hash(password, hashes));
  return credential;
};
