import { createHash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { LazyLru } from '../../../application/memory/lazy-lru.js';
import type { KeyHolder } from '../../../application/access/authenticate.js';
import { windowLength, type RateLimiter } from '../../../application/ports/rate-limiter.js';
import type { Clock } from '../../../application/ports/system.js';
import { isKeyShaped, isOperatorKeyShaped, isOperatorScope } from '../../../domain/api-key.js';
import { house } from '../../../domain/members.js';
import { DomainError } from '../../../domain/errors.js';
import type { Milliseconds } from '../../../domain/ids.js';
import type { Access, Allowance, Caller, OperatorCaller } from './access.js';
import { headerValues } from './exchange.js';
import type { HttpRequest } from './route.js';

/**
 * How many failed attempts from one address in a clock minute get a detailed refusal. (decision 50: tokens,
 * the call log, and guessing)
 */
export const failuresPerMinute = 300;

/**
 * Counts a failed attempt from an address (the socket's); true if it was one too many. (decision 52: what the
 * rate limit counts)
 */
export const isOneTooMany = async (
  { rateLimiter, clock }: { readonly rateLimiter: RateLimiter; readonly clock: Clock },
  address: string,
): Promise<boolean> =>
  (await rateLimiter.hit(`address:${household(address)}`, clock.steady())) > failuresPerMinute;

/** The end of the clock minute of `now`, in Unix seconds. */
export const windowEnd = (now: number): number =>
  (Math.floor(now / windowLength) + 1) * (windowLength / 1000);

/** Seconds until `reset`, the end of a clock minute, at least 1. */
export const retryAfter = (now: number, reset = windowEnd(now)): number =>
  Math.max(1, Math.ceil(reset - now / 1000));

/**
 * The token of `Authorization: Bearer …`, the scheme in any case. Throws `missing_key`. (decision 51: the
 * form of a key, and how it is refused)
 */
export const bearerOf = (
  authorization: string | undefined,
  what = 'an API key',
  placeholder = '<API_KEY>',
): string => {
  const token = /^bearer[ \t]+(.*)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined)
    throw new DomainError(
      'missing_key',
      `Send ${what} in the header \`Authorization: Bearer ${placeholder}\`.`,
    );
  return token;
};

/** How many wrong operator tokens an address may send in a minute, and for how long it is then refused. */
export const operatorGuesses = 10;
const guessWindow: Milliseconds = 60_000;
const maxAddresses = 10_000;

/** An address has sent too many wrong operator tokens: the one that it sends now isn't looked at. */
export class TooManyGuesses extends DomainError {
  constructor(readonly seconds: number) {
    super(
      'rate_limited',
      'Too many wrong operator tokens came from this address. Wait the number of seconds in Retry-After: until then even the right one is refused.',
    );
  }
}

interface Guesses {
  readonly since: Milliseconds;
  readonly count: number;
  readonly refusedUntil: Milliseconds;
}

/** The owner of an IPv6 address mostly has all addresses with the same first 64 bits. */
export const household = (address: string): string => {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
};

/**
 * The address that a request comes from: that of the connection, or if that is a trusted proxy's, the last
 * one in X-Forwarded-For that is none.
 */
export const clientAddress = (
  request: Pick<HttpRequest, 'address' | 'header'>,
  trustedProxies: readonly string[],
): string => {
  const networks = trustedProxies.map((network) => ipaddr.parseCIDR(network));
  const isTrusted = (hop: string): boolean => {
    if (!ipaddr.isValid(hop)) return false;
    const parsed = ipaddr.process(hop);
    return networks.some((network) => network[0].kind() === parsed.kind() && parsed.match(network));
  };
  const told = request.header('x-forwarded-for').join().split(',');
  const hops = [...told, request.address].map((hop) => hop.trim());
  return hops.findLast((hop) => hop !== '' && !isTrusted(hop)) ?? request.address;
};

/** Counts wrong operator tokens by address, in this process and on a monotonic clock. */
const guessCounter = (clock: Clock) => {
  const known = new LazyLru<string, Guesses>(maxAddresses);
  return {
    /** Throws TooManyGuesses. */
    assertAllowed: (address: string): void => {
      const left = (known.get(household(address))?.refusedUntil ?? 0) - clock.monotonic();
      if (left > 0) throw new TooManyGuesses(Math.ceil(left / 1000));
    },
    wrong: (address: string): void => {
      const now = clock.monotonic();
      const before = known.get(household(address));
      const counted =
        before !== undefined && now - before.since < guessWindow ? before : { since: now, count: 0 };
      const count = counted.count + 1;
      known.set(household(address), {
        since: counted.since,
        count,
        refusedUntil: count >= operatorGuesses ? now + guessWindow : 0,
      });
    },
  };
};

/**
 * Refuses a request with several Authorization headers: which of them counts would differ from program to
 * program. (decision 51: the form of a key, and how it is refused)
 */
export const assertOneAuthorization = (rawHeaders: readonly string[]): void => {
  if (headerValues(rawHeaders, 'authorization').length > 1)
    throw new DomainError('invalid_request', 'The request has several Authorization headers. Send one.');
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export interface GateOptions {
  /** Finds the holder of a key, whose form was checked. Throws `invalid_key` and `revoked_key`. */
  readonly authenticator: { authenticate(secret: string): Promise<KeyHolder> };
  readonly rateLimiter: RateLimiter;
  readonly clock: Clock;
  /** Null if the operator can't log in here. */
  readonly operatorToken: string | null;
  readonly requestsPerMinute: number;
}

export type Gate = ReturnType<typeof gate>;

export const gate = ({
  authenticator,
  rateLimiter,
  clock,
  operatorToken,
  requestsPerMinute,
}: GateOptions) => {
  /** The rate headers if no key was accepted. (decision 52: what the rate limit counts) */
  const keyless: Allowance = { limit: requestsPerMinute, remaining: requestsPerMinute };
  const operatorDigest = operatorToken === null ? null : digest(operatorToken);
  const guesses = guessCounter(clock);

  const operatorWith = async (key: string): Promise<OperatorCaller> => {
    const { org, keyId, scopes } = await authenticator.authenticate(key);
    if (org !== house)
      throw new DomainError(
        'invalid_key',
        'This is not the key of an operator. Check that you copied all of it.',
      );
    return { kind: 'operator', id: keyId, scopes: scopes.filter(isOperatorScope) };
  };

  /** A key is no guess: it can't be tried out, because it has 256 random bits. */
  const operatorOf = async (authorization: string | undefined, address: string): Promise<OperatorCaller> => {
    const token = bearerOf(authorization, 'the operator token', '<OPERATOR_TOKEN>');
    if (isOperatorKeyShaped(token)) return operatorWith(token);
    guesses.assertAllowed(address);
    if (operatorDigest !== null && timingSafeEqual(digest(token), operatorDigest))
      return { kind: 'operator', id: 'root', scopes: null };
    if (!isKeyShaped(token)) guesses.wrong(address);
    throw new DomainError(
      'invalid_key',
      isKeyShaped(token)
        ? 'API keys work below /api/v1. This path is for those who run the service, with the operator token.'
        : 'This is not the operator token. The service keeps the token in a file of its own; customers send an API key, to paths below /api/v1.',
    );
  };

  /**
   * Throws `missing_key`, `malformed_key`, `invalid_key`, `revoked_key`, and TooManyGuesses where the
   * operator is wanted. `address` is the socket's.
   */
  const identify = async (
    access: Access,
    authorization: string | undefined,
    address: string,
  ): Promise<Caller> => {
    if (access.kind === 'hook' || access.kind === 'page' || access.kind === 'public') return { kind: 'none' };
    if (access.kind === 'operator') return operatorOf(authorization, address);
    const token = bearerOf(authorization);
    if (!isKeyShaped(token))
      throw new DomainError(
        'malformed_key',
        'This is not an API key of this service: a key is `hck_` followed by 43 characters.',
      );
    return { kind: 'key', ...(await authenticator.authenticate(token)) };
  };

  /** Counts a request of the caller in the minute of `now`. `remaining` is −1 if it is over the limit. */
  const count = async (caller: Caller, now: Milliseconds): Promise<Allowance> => {
    if (caller.kind !== 'key') return keyless;
    const limit = caller.requestsPerMinute ?? requestsPerMinute;
    const hits = await rateLimiter.hit(`key:${caller.keyId}`, now);
    return { limit, remaining: Math.max(-1, limit - hits) };
  };

  return {
    keyless,
    identify,
    count,
    failed: (address: string) => isOneTooMany({ rateLimiter, clock }, address),
  };
};
