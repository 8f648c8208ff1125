import { DomainError } from '../../domain/errors.js';
import type { RateLimiter } from '../ports/rate-limiter.js';
import type { Clock } from '../ports/system.js';

/**
 * Counts a try for each of these subjects in turn, before any work is done for it. `perMinute`: the limit of
 * each in a clock minute. Returns how many tries each has had in it. Throws `rate_limited` at the first that
 * is over its limit; later subjects are not counted.
 */
export const countTries = async (
  { rateLimiter, clock }: { readonly rateLimiter: RateLimiter; readonly clock: Clock },
  perMinute: Readonly<Record<string, number>>,
  tooMany = 'There were too many tries. Wait a minute.',
): Promise<readonly number[]> => {
  const now = clock.steady();
  const counted: number[] = [];
  for (const [subject, limit] of Object.entries(perMinute)) {
    const tries = await rateLimiter.hit(subject, now);
    if (tries > limit) throw new DomainError('rate_limited', tooMany);
    counted.push(tries);
  }
  return counted;
};
