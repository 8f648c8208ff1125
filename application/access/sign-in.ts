import { z } from 'zod';
import { accountIdOf } from '../../domain/account.js';
import type { Uuid } from '../../domain/ids.js';
import { countTries } from './count-tries.js';
import type { PeopleDeps } from './people.js';
import type { RateLimiter } from '../ports/rate-limiter.js';

export interface SignInDeps extends Pick<PeopleDeps, 'signInRecords' | 'passwords' | 'clock'> {
  readonly rateLimiter: RateLimiter;
}

/** How many wrong passwords an account may have in a clock minute. */
export const wrongPasswordsPerMinute = 10;

const Kept = z.object({ hash: z.string() });

/**
 * The account of an address and a password; null if they don't fit, which costs the same whether there is no
 * such account, it has no password, or the password is wrong. Throws `rate_limited`, TooManySignIns,
 * SignInUnavailable.
 */
export const accountWith = async (
  { signInRecords, passwords, rateLimiter, clock }: SignInDeps,
  email: string,
  password: string,
): Promise<Uuid | null> => {
  const id = accountIdOf(email);
  // Counted before the password is looked at: those that are sent together must not all be tried.
  const tooMany = 'There were too many tries to sign in. Wait a minute.';
  await countTries({ rateLimiter, clock }, { [`sign-in ${id}`]: wrongPasswordsPerMinute }, tooMany);
  const found = await signInRecords.find('password', id);
  const hash = found === null ? null : Kept.parse(found.data).hash;
  const { matches, isOutdated } = await passwords.check(password, hash);
  if (matches && isOutdated && found !== null)
    await signInRecords.change(found, { data: { hash: await passwords.hash(password) }, ends: null });
  return matches ? id : null;
};
