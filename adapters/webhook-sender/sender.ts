import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import type { AttemptResult, WebhookRequest, WebhookSender } from '../../application/ports/webhook-sender.js';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import { DomainError, messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import { checkTarget, hostOf, type WebhookUrl, type WebhookUrlRules } from '../../domain/webhook-url.js';
import { addressRule, type AddressRule } from './addresses.js';
import { inPlainWords, NotSent } from './plain-words.js';
import {
  bytesRead,
  ResponseCollector,
  textOf,
  withheld,
  type CollectedResponse,
  type NoResponse,
} from './response-collector.js';

interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. Rejects if there are none. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

export interface SenderOptions {
  readonly clock: Clock;
  readonly rules: () => WebhookUrlRules;
  /** CIDRs that are allowed although they are not public. */
  readonly allowNetworks: readonly string[];
  /** From the beginning of an attempt to the last byte of its response. */
  readonly timeout: Milliseconds;
  /** Certificates (PEM) that are trusted besides the system's: for tests. */
  readonly extraCertificates?: readonly string[] | undefined;
  readonly resolve?: Resolve;
}

/** How long registration waits for a name server. */
const vettingTime: Milliseconds = 2_000;

const timedOut = new Error('timed out');

/**
 * Posts with undici. Connections are pooled per origin, and every address is checked before a socket may be
 * used. (docs/engines.md#outbound-http-undici)
 */
export class UndiciWebhookSender implements WebhookSender {
  readonly #options: SenderOptions;
  readonly #isAllowed: AddressRule;
  readonly #resolve: Resolve;
  readonly #agent: Agent;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#isAllowed = addressRule(options.allowNetworks);
    this.#resolve = sharingLookups(options.resolve ?? resolveBySystem);
    this.#agent = new Agent({
      connect: this.#connector(),
      connections: null,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: bytesRead,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
    });
  }

  async vet(url: WebhookUrl): Promise<void> {
    const host = hostOf(new URL(url));
    const addresses = await this.#addressesInTime(host);
    const forbidden = addresses.find(({ address }) => !this.#isAllowed(address));
    if (forbidden === undefined) return;
    const what =
      forbidden.address === withoutBrackets(host)
        ? `${host} is not`
        : `${host} resolves to an address that is not`;
    throw new DomainError('invalid_url', `${what} on the public internet. Use a public address.`, 'url');
  }

  async send(
    { url, headers, body, mayStart }: WebhookRequest,
    signal?: AbortSignal,
  ): Promise<AttemptResult | 'withheld'> {
    const { clock, timeout, rules } = this.#options;
    const began = clock.monotonic();
    const withoutResponse = (error: string): AttemptResult => ({
      httpStatus: null,
      error,
      body: null,
      duration: clock.monotonic() - began,
    });
    const target = new URL(url);
    try {
      checkTarget(target, rules());
    } catch (error) {
      return withoutResponse(messageOf(error));
    }
    const result = await this.#post(target, headers, body, mayStart, signal);
    if ('status' in result) {
      const error = result.status >= 300 && result.status < 400 ? 'redirects are not followed' : null;
      return { httpStatus: result.status, error, body: textOf(result), duration: clock.monotonic() - began };
    }
    if (result.error === withheld) return 'withheld';
    return withoutResponse(
      result.error === timedOut
        ? `no complete response within ${timeout / 1000} s`
        : inPlainWords(result.error),
    );
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** One time limit covers the whole attempt, from the name lookup to the last byte. */
  #post(
    target: URL,
    headers: WebhookRequest['headers'],
    body: string,
    mayStart: () => boolean,
    signal?: AbortSignal,
  ): Promise<CollectedResponse | NoResponse> {
    const ended = new AbortController();
    return new Promise((resolve) => {
      const collector = new ResponseCollector(mayStart, (result) => {
        ended.abort(withheld);
        resolve(result);
      });
      signal?.addEventListener('abort', () => collector.stop(withheld), { once: true, signal: ended.signal });
      void this.#options.clock.sleep(this.#options.timeout, ended.signal).then(() => {
        if (!ended.signal.aborted) collector.stop(timedOut);
      });
      try {
        this.#agent.dispatch(
          {
            origin: target.origin,
            path: `${target.pathname}${target.search}`,
            method: 'POST',
            headers,
            body,
          },
          collector,
        );
      } catch (error) {
        collector.stop(error instanceof Error ? error : new Error('the request could not be made'));
      }
    });
  }

  /**
   * undici calls no `lookup` for an address that is written out in the URL, so that address is checked here.
   * The address of the open socket is checked once more.
   */
  #connector(): buildConnector.connector {
    const { extraCertificates = [], timeout } = this.#options;
    const connect = buildConnector({
      timeout,
      rejectUnauthorized: true,
      lookup: (hostname, options, callback) => void this.#lookUp(hostname, options.all === true, callback),
      secureContext: createSecureContext(
        extraCertificates.length === 0 ? {} : { ca: [...rootCertificates, ...extraCertificates] },
      ),
    });
    return (options, callback) => {
      const literal = withoutBrackets(options.hostname);
      if (isIP(literal) !== 0 && !this.#isAllowed(literal)) return callback(notAllowed(literal), null);
      connect(options, (...[error, socket]) => {
        if (error !== null) return callback(error, null);
        const { remoteAddress } = socket;
        if (remoteAddress !== undefined && this.#isAllowed(remoteAddress)) return callback(null, socket);
        socket.destroy();
        callback(notAllowed(remoteAddress ?? 'the other end of the connection'), null);
      });
    };
  }

  /** Node's `lookup`, which resolves only to addresses that are allowed. */
  async #lookUp(hostname: string, all: boolean, callback: Parameters<LookupFunction>[2]): Promise<void> {
    let addresses: readonly [ResolvedAddress, ...ResolvedAddress[]];
    try {
      addresses = await this.#allowedAddressesOf(hostname);
    } catch (error) {
      callback(error instanceof Error ? error : new NotSent('the host name does not resolve'), '', 0);
      return;
    }
    if (all) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  }

  /**
   * Every address of a name. Throws if any of them is not allowed: so the socket connects to one of exactly
   * these, or to none.
   */
  async #allowedAddressesOf(hostname: string): Promise<readonly [ResolvedAddress, ...ResolvedAddress[]]> {
    const [first, ...others] = await this.#resolve(hostname);
    if (first === undefined) throw new NotSent('the host name does not resolve');
    const forbidden = [first, ...others].find(({ address }) => !this.#isAllowed(address));
    if (forbidden !== undefined) throw notAllowed(forbidden.address);
    return [first, ...others];
  }

  /** No addresses if the name can't be resolved, or not in time. */
  #addressesInTime(host: string): Promise<readonly ResolvedAddress[]> {
    const found = this.#addressesOf(host).catch(() => []);
    return within(this.#options.clock, vettingTime, found, () => []);
  }

  async #addressesOf(host: string): Promise<readonly ResolvedAddress[]> {
    const literal = withoutBrackets(host);
    const family = isIP(literal);
    return family === 0 ? this.#resolve(host) : [{ address: literal, family }];
  }
}

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true, verbatim: true });

/**
 * Looks up each name once at a time; whoever asks meanwhile gets the same result. The system resolves names
 * in four threads, and a slow name must not take them all.
 */
const sharingLookups = (resolve: Resolve): Resolve => {
  const underWay = new Map<string, ReturnType<Resolve>>();
  return (hostname) => {
    const known = underWay.get(hostname);
    if (known !== undefined) return known;
    const lookup = resolve(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, lookup);
    return lookup;
  };
};

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

const notAllowed = (address: string): NotSent =>
  new NotSent(`webhooks may not go to ${address}: it is not on the public internet`);
