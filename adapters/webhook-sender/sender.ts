import { isIP, type LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import type { AttemptResult, WebhookRequest, WebhookSender } from '../../application/ports/webhook-sender.js';
import { settledOrAborted } from '../../application/timing/settled-or-aborted.js';
import { withTimeout } from '../../application/timing/with-timeout.js';
import { DomainError, messageOf } from '../../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import {
  checkTarget,
  hostOf,
  isOwnAddress,
  isPrivateName,
  portOf,
  type WebhookUrl,
  type WebhookUrlRules,
} from '../../domain/webhook-url.js';
import { addressRule, type AddressRule } from './addresses.js';
import type { ResolvedAddress } from './hosts-file.js';
import { Names, TooManyLookups, type NamesOptions } from './names.js';
import { inPlainWords, NotSent } from './plain-words.js';
import {
  bytesRead,
  ResponseCollector,
  textOf,
  withheld,
  type CollectedResponse,
  type NoResponse,
} from './response-collector.js';
import { Wire } from './wire.js';

export interface SenderOptions extends NamesOptions {
  readonly rules: () => WebhookUrlRules;
  /** CIDRs that are allowed although they are not public. */
  readonly allowNetworks: readonly string[];
  /** From the beginning of the connection to the last byte of the response. */
  readonly timeout: Milliseconds;
  /** Certificates (PEM) that are trusted besides the system's: for tests. */
  readonly extraCertificates?: readonly string[] | undefined;
}

/** How long registration waits for a name server. */
const vettingTimeout: Milliseconds = 2_000;

/** How long an attempt waits until its name can be looked up. */
const lookupPatience: Milliseconds = 5_000;

/** After this time without a connection the next address of a name is tried: long enough for a second SYN. */
const nextAddressAfter: Milliseconds = 1_500;

const withoutResponse = (error: string | null, duration: Milliseconds = 0): AttemptResult => ({
  httpStatus: null,
  error,
  body: null,
  duration,
});

/**
 * Posts with undici. Connections are pooled per origin, and every address is checked before a socket may be
 * used. (docs/engines.md#outbound-http-undici)
 */
export class UndiciWebhookSender implements WebhookSender {
  readonly #isAllowed: AddressRule;
  readonly #names: Names;
  readonly #agent: Agent;
  /** Opens a connection for each request. */
  readonly #fresh: Agent;

  constructor(private readonly options: SenderOptions) {
    this.#isAllowed = addressRule(options.allowNetworks);
    this.#names = new Names(options);
    const agent = {
      connect: this.#connector(),
      connections: null,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: bytesRead,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
    };
    this.#agent = new Agent({ ...agent, pipelining: 1 });
    this.#fresh = new Agent({ ...agent, pipelining: 0 });
  }

  async vet(url: WebhookUrl, org: OrganizationId): Promise<void> {
    const host = hostOf(new URL(url));
    if (this.options.allowNetworks.length === 0 && isPrivateName(host))
      throw notPublic(`${host} is not a name`);
    const addresses = await this.#addressesInTime(host, org);
    const port = portOf(new URL(url));
    const forbidden = addresses.find(({ address }) => !this.#mayReach(address, port));
    if (forbidden === undefined) return;
    const isLiteral = forbidden.address === withoutBrackets(host);
    throw notPublic(isLiteral ? `${host} is not` : `${host} resolves to an address that is not`);
  }

  readonly send: WebhookSender['send'] = async ({ org, url, headers, body, mayStart }, signal) => {
    const { clock, rules } = this.options;
    const target = new URL(url);
    try {
      checkTarget(target, rules());
    } catch (error) {
      return withoutResponse(messageOf(error));
    }
    const unresolved = await this.#resolve(target, org, signal);
    if (unresolved === 'withheld') return unresolved;
    if (unresolved !== null) return { ...withoutResponse(unresolved), unresolved: true };
    const began = clock.monotonic();
    const result = await this.#post(target, headers, body, mayStart, signal);
    const duration = clock.monotonic() - began;
    const words = result.error && inPlainWords(result.error);
    if (!('status' in result))
      return result.error === withheld ? 'withheld' : withoutResponse(words, duration);
    const { status } = result;
    const redirected = status >= 300 && status < 400 ? 'redirects are not followed' : null;
    return { httpStatus: status, error: redirected ?? words, body: textOf(result), duration };
  };

  /** Resolves the name in time of our own. Returns why it can't be resolved, or null if it is. */
  async #resolve(target: URL, org: OrganizationId, signal?: AbortSignal): Promise<string | null> {
    const { hostname } = target;
    if (isIP(withoutBrackets(hostname)) !== 0) return null;
    const resolved = this.#names.addressesOf(hostname, org, lookupPatience).then(
      () => null,
      (error: unknown) => (error instanceof TooManyLookups ? 'withheld' : messageOf(error)),
    );
    if (signal !== undefined) await settledOrAborted(resolved, signal);
    return signal?.aborted === true ? 'withheld' : resolved;
  }

  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#fresh.destroy()]);
  }

  /**
   * One time limit covers the whole attempt, from the connection to the last byte. A receiver may close an
   * idle connection while a request is on its way: the request is then made once more on a fresh one.
   */
  #post(
    target: URL,
    headers: WebhookRequest['headers'],
    body: string,
    mayStart: () => boolean,
    signal?: AbortSignal,
  ): Promise<CollectedResponse | NoResponse> {
    const ended = new AbortController();
    const { origin, pathname, search } = target;
    const request = { origin, path: `${pathname}${search}`, method: 'POST', headers, body } as const;
    return new Promise((resolve) => {
      const settle = (result: CollectedResponse | NoResponse): void => {
        ended.abort(withheld);
        resolve(result);
      };
      const again = new ResponseCollector(() => !ended.signal.aborted && mayStart(), settle);
      let collector = new ResponseCollector(mayStart, (result) => {
        if (!('isStale' in result) || !result.isStale || ended.signal.aborted) return settle(result);
        collector = again;
        dispatch(this.#fresh);
      });
      const dispatch = (agent: Agent): void => {
        try {
          agent.dispatch(request, collector);
        } catch (error) {
          collector.stop(error instanceof Error ? error : new Error('the request could not be made'));
        }
      };
      signal?.addEventListener('abort', () => collector.stop(withheld), { once: true, signal: ended.signal });
      const { clock, timeout } = this.options;
      void clock.sleep(timeout, ended.signal).then(() => {
        if (!ended.signal.aborted)
          collector.stop(new Error(`no complete response within ${timeout / 1000} s`));
      });
      dispatch(this.#agent);
    });
  }

  /**
   * undici calls no `lookup` for an address that is written out in the URL, so that address is checked here.
   * The address of the open socket is checked once more.
   */
  #connector(): buildConnector.connector {
    const { extraCertificates = [], timeout } = this.options;
    const connect = buildConnector({
      timeout,
      autoSelectFamilyAttemptTimeout: nextAddressAfter,
      rejectUnauthorized: true,
      lookup: (hostname, options, callback) => this.#lookUp(hostname, options.all === true, callback),
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
        if (remoteAddress !== undefined && this.#mayReach(remoteAddress, Number(options.port || 443)))
          return callback(null, Wire.watch(socket));
        socket.destroy();
        callback(notAllowed(remoteAddress ?? 'the other end of the connection'), null);
      });
    };
  }

  #mayReach(address: string, port: number): boolean {
    return this.#isAllowed(address) && !isOwnAddress(this.options.rules(), hostOfAddress(address), port);
  }

  /** Node's `lookup`, for a name that was resolved right before. */
  #lookUp(hostname: string, all: boolean, callback: Parameters<LookupFunction>[2]): void {
    const [first, ...others] = this.#names.lastAddressesOf(hostname);
    const forbidden = [first, ...others].find(
      (found) => found !== undefined && !this.#isAllowed(found.address),
    );
    if (first === undefined) callback(new NotSent('the host name does not resolve'), '', 0);
    else if (forbidden !== undefined) callback(notAllowed(forbidden.address), '', 0);
    else if (all) callback(null, [first, ...others]);
    else callback(null, first.address, first.family);
  }

  /** No addresses if the name can't be resolved, or not in time. */
  async #addressesInTime(host: string, org: OrganizationId): Promise<readonly ResolvedAddress[]> {
    const literal = withoutBrackets(host);
    const family = isIP(literal);
    if (family !== 0) return [{ address: literal, family }];
    // Not the cached address: it may have been changed for the registration.
    this.#names.forget(host);
    const found = this.#names.addressesOf(host, org, vettingTimeout).catch(() => []);
    const addresses = await withTimeout(this.options.clock, vettingTimeout, found, () => []);
    this.#names.forget(host);
    return addresses;
  }
}

const hostOfAddress = (address: string): string =>
  hostOf(new URL(`https://${address.includes(':') ? `[${address.replace(/%.*$/, '')}]` : address}`));

const notPublic = (what: string): DomainError =>
  new DomainError('invalid_url', `${what} on the public internet. Use a public address.`, 'url');

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

const notAllowed = (address: string): NotSent =>
  new NotSent(`webhooks may not go to ${address}: it is not on the public internet`);
