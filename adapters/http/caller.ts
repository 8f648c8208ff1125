import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyHolder } from '../../application/authenticate.js';
import { windowLength, type RateLimiter } from '../../application/ports/rate-limiter.js';
import type { Clock } from '../../application/ports/system.js';
import { isKeyShaped } from '../../domain/api-key.js';
import { DomainError } from '../../domain/errors.js';
import type { Access, Caller } from './route.js';

/** What the rate headers of an answer say. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
}

/** Failing attempts from one address in a clock minute that are still told what was wrong. (decision 50) */
export const failuresPerMinute = 300;

/** When the clock minute that holds `now` ends, in Unix seconds. */
export const windowEnd = (now: number): number =>
  (Math.floor(now / windowLength) + 1) * (windowLength / 1000);

/** Seconds until the clock minute ends, at least 1. */
export const retryAfter = (now: number): number => Math.max(1, Math.ceil(windowEnd(now) - now / 1000));

/** The token of `Authorization: Bearer …`, the scheme in any case. Throws `missing_key`. (decision 51) */
export const bearerOf = (
  authorization: string | undefined,
  what = 'an API key',
  placeholder = '<API_KEY>',
): string => {
  const token =
    authorization === undefined ? null : (/^bearer[ \t]+(.*)$/i.exec(authorization.trim())?.[1] ?? null);
  if (token === null)
    throw new DomainError(
      'missing_key',
      `Send ${what} in the header \`Authorization: Bearer ${placeholder}\`.`,
    );
  return token;
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Knows the holders of keys. `authenticate` throws `invalid_key` and `revoked_key`; the form of the key has
 * been checked.
 */
export interface KeyHolders {
  authenticate(secret: string): Promise<KeyHolder>;
}

interface Options {
  readonly authenticator: KeyHolders;
  readonly rateLimiter: RateLimiter;
  readonly clock: Clock;
  readonly operatorToken: string;
  readonly requestsPerMinute: number;
}

export interface Gate {
  /** What the rate headers say where no key was accepted. (decision 52) */
  readonly keyless: Allowance;
  /** Throws `missing_key`, `malformed_key`, `invalid_key`, `revoked_key`. */
  identify(access: Access, authorization: string | undefined): Promise<Caller>;
  /** Counts a request of the caller. A remaining of -1 means that it is over the limit. */
  count(caller: Caller): Promise<Allowance>;
  /** Counts a failed attempt from an address; true where it was one too many. (decisions 50, 52) */
  failed(address: string): Promise<boolean>;
}

export const gate = ({
  authenticator,
  rateLimiter,
  clock,
  operatorToken,
  requestsPerMinute,
}: Options): Gate => {
  const keyless: Allowance = { limit: requestsPerMinute, remaining: requestsPerMinute };
  const operatorDigest = digest(operatorToken);

  const identify = async (access: Access, authorization: string | undefined): Promise<Caller> => {
    if (access.kind === 'hook' || access.kind === 'public') return { kind: 'none' };
    if (access.kind === 'operator') {
      const token = bearerOf(authorization, 'the operator token', '<OPERATOR_TOKEN>');
      if (!timingSafeEqual(digest(token), operatorDigest))
        throw new DomainError(
          'invalid_key',
          'This is not the operator token. The service keeps it in the file that OPERATOR_TOKEN_FILE names.',
        );
      return { kind: 'operator' };
    }
    const token = bearerOf(authorization);
    if (!isKeyShaped(token))
      throw new DomainError(
        'malformed_key',
        'This is not an API key of this service: a key is `hck_` and 43 characters.',
      );
    return { kind: 'key', ...(await authenticator.authenticate(token)) };
  };

  const count = async (caller: Caller): Promise<Allowance> => {
    if (caller.kind !== 'key') return keyless;
    const limit = caller.requestsPerMinute ?? requestsPerMinute;
    const hits = await rateLimiter.hit(`key:${caller.keyId}`, clock.now());
    return { limit, remaining: Math.max(-1, limit - hits) };
  };

  const failed = async (address: string): Promise<boolean> =>
    (await rateLimiter.hit(`address:${address}`, clock.now())) > failuresPerMinute;

  return { keyless, identify, count, failed };
};
