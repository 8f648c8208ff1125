import { createHash, timingSafeEqual } from 'node:crypto';
import type { KeyHolder } from '../../application/authenticate.js';
import { windowLength, type RateLimiter } from '../../application/ports/rate-limiter.js';
import type { Clock } from '../../application/ports/system.js';
import { isKeyShaped } from '../../domain/api-key.js';
import { DomainError } from '../../domain/errors.js';
import type { Access, Caller } from './route.js';

/** What the rate headers of a response say. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
}

/**
 * How many failed attempts from one address in a clock minute are told what was wrong. (decision 50: tokens,
 * the call log, and guessing)
 */
export const failuresPerMinute = 300;

/** The end of the clock minute of `now`, in Unix seconds. */
export const windowEnd = (now: number): number =>
  (Math.floor(now / windowLength) + 1) * (windowLength / 1000);

/** Seconds until the clock minute ends, at least 1. */
export const retryAfter = (now: number): number => Math.max(1, Math.ceil(windowEnd(now) - now / 1000));

/**
 * The token of `Authorization: Bearer …`, the scheme in any case. Throws `missing_key`. (decision 51: the
 * form of a key, and how it is refused)
 */
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
 * Finds the holder of a key. `authenticate` throws `invalid_key` and `revoked_key`; the form of the key was
 * checked before.
 */
export interface Authenticator {
  authenticate(secret: string): Promise<KeyHolder>;
}

interface Options {
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly clock: Clock;
  readonly operatorToken: string;
  readonly requestsPerMinute: number;
}

export interface Gate {
  /** What the rate headers say if no key was accepted. (decision 52: what the rate limit counts) */
  readonly keyless: Allowance;
  /** Throws `missing_key`, `malformed_key`, `invalid_key`, `revoked_key`. */
  identify(access: Access, authorization: string | undefined): Promise<Caller>;
  /** Counts a request of the caller. `remaining` is −1 if the request is over the limit. */
  count(caller: Caller): Promise<Allowance>;
  /**
   * Counts a failed attempt from an address; true if it was one too many. (decision 52: what the rate limit
   * counts)
   */
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
          'This is not the operator token. The token is in the file OPERATOR_TOKEN_FILE.',
        );
      return { kind: 'operator' };
    }
    const token = bearerOf(authorization);
    if (!isKeyShaped(token))
      throw new DomainError(
        'malformed_key',
        'This is not an API key of this service: a key is `hck_` followed by 43 characters.',
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
