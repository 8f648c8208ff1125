import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { AttemptResult, WebhookRequest, WebhookSender } from '../../application/ports/webhook-sender.js';
import type { Clock } from '../../application/ports/system.js';
import { within } from '../../application/within.js';
import { DomainError, messageOf } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';
import { checkTarget, hostOf, type WebhookUrl, type WebhookUrlRules } from '../../domain/webhook-url.js';
import { addressRule, type AddressRule } from './addresses.js';

interface Resolved {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name; rejects where there are none. */
export type Resolve = (hostname: string) => Promise<readonly Resolved[]>;

export interface SenderOptions {
  readonly clock: Clock;
  readonly rules: () => WebhookUrlRules;
  /** CIDRs that may be reached although they are not public. */
  readonly allowNetworks: readonly string[];
  /** From the beginning of the attempt to the last byte of the answer. */
  readonly timeout: Milliseconds;
  /** Certificates (PEM) that are trusted beside the system's: for tests. */
  readonly extraCertificates?: readonly string[] | undefined;
  readonly resolve?: Resolve;
}

/** Of an answer is read at most this much, and kept this much. (decision 60) */
const readAtMost = 16 * 1024;
const keptAtMost = 1024;

/** How long registration waits for a name server. */
const vettingTime: Milliseconds = 2_000;

/** Why nothing was sent: in plain words, for the delivery log. */
class Refused extends Error {
  override readonly name = 'Refused';
}

const withheld = new Error('withheld');
const timedOut = new Error('timed out');

const resolveAll: Resolve = (hostname) => systemLookup(hostname, { all: true, verbatim: true });

/**
 * Asks once for a name while an answer is awaited: names are resolved by few threads, and a slow name must
 * not take them all.
 */
const sharing = (resolve: Resolve): Resolve => {
  const asked = new Map<string, Promise<readonly Resolved[]>>();
  return (hostname) => {
    const waiting = asked.get(hostname);
    if (waiting !== undefined) return waiting;
    const answer = resolve(hostname).finally(() => asked.delete(hostname));
    asked.set(hostname, answer);
    return answer;
  };
};

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

const codeOf = (error: Error): string | null =>
  'code' in error && typeof error.code === 'string' ? error.code : null;

const plainWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_SOCKET: 'connection closed before the answer was complete',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the name server does not answer',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted: it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted: its issuer is unknown',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted: its chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted: its issuer is unknown',
};

/** The failure in words that hold nothing of the request. */
const inWords = (error: Error): string => {
  if (error instanceof Refused) return error.message;
  if (error.name === 'HTTPParserError' && codeOf(error) !== 'HPE_HEADER_OVERFLOW')
    return 'the answer is not valid HTTP';
  const code = codeOf(error);
  if (code === null) return error.message === '' ? error.name : error.message;
  return plainWords[code] ?? `${error.message} (${code})`;
};

/**
 * Keeps the first bytes of an answer as text; bytes that are not UTF-8 become U+FFFD, a character that is cut
 * in two is left out.
 */
const text = (chunks: readonly Buffer[]): string =>
  new TextDecoder('utf-8').decode(Buffer.concat(chunks).subarray(0, keptAtMost), { stream: true });

type Failure = { readonly failed: Error };
type Answer = { readonly status: number; readonly chunks: readonly Buffer[] };

/**
 * Collects an answer up to 16 KiB. 1xx answers are skipped by undici; redirects are answers like any other.
 */
class Collector implements Dispatcher.DispatchHandler {
  #status = 0;
  #size = 0;
  readonly #chunks: Buffer[] = [];
  #abort: ((reason: Error) => void) | null = null;
  #stopped: Error | null = null;

  constructor(
    readonly mayStart: () => boolean,
    readonly settle: (result: Answer | Failure) => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#abort = (reason) => controller.abort(reason);
    if (this.#stopped !== null) return controller.abort(this.#stopped);
    if (this.mayStart()) return;
    this.settle({ failed: withheld });
    // Thrown, it ends the request alone. `abort` would end the connection too: where opening one takes longer
    // than a claim may wait, no attempt would ever start.
    throw withheld;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#size < keptAtMost) this.#chunks.push(Buffer.from(chunk.subarray(0, keptAtMost - this.#size)));
    this.#size += chunk.length;
    if (this.#size < readAtMost) return;
    this.settle({ status: this.#status, chunks: this.#chunks });
    controller.abort(new Error('read enough'));
  }

  onResponseEnd(): void {
    this.settle({ status: this.#status, chunks: this.#chunks });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.settle({ failed: error });
  }

  /** Ends the exchange now; where no connection is open yet, as soon as there is one. */
  stop(reason: Error): void {
    this.#stopped = reason;
    this.settle({ failed: reason });
    this.#abort?.(reason);
  }
}

/**
 * Posts with undici: connections are pooled per origin, and every address is checked before a socket may be
 * used.
 */
export class UndiciWebhookSender implements WebhookSender {
  readonly #options: SenderOptions;
  readonly #mayReach: AddressRule;
  readonly #resolve: Resolve;
  readonly #agent: Agent;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#mayReach = addressRule(options.allowNetworks);
    this.#resolve = sharing(options.resolve ?? resolveAll);
    this.#agent = new Agent({
      connect: this.#connector(),
      connections: null,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: readAtMost,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
    });
  }

  async vet(url: WebhookUrl): Promise<void> {
    const host = hostOf(new URL(url));
    const addresses = await this.#addressesInTime(host);
    const refused = addresses.find(({ address }) => !this.#mayReach(address));
    if (refused === undefined) return;
    const what =
      refused.address === withoutBrackets(host) ? 'This address' : 'This name leads to an address that';
    throw new DomainError(
      'invalid_url',
      `${what} can't be reached from here: it is not on the public internet. Use a public address.`,
      'url',
    );
  }

  async send(
    { url, headers, body, mayStart }: WebhookRequest,
    signal?: AbortSignal,
  ): Promise<AttemptResult | 'withheld'> {
    const { clock, timeout, rules } = this.#options;
    const began = clock.monotonic();
    const failed = (error: string): AttemptResult => ({
      httpStatus: null,
      error,
      body: null,
      duration: clock.monotonic() - began,
    });
    const target = new URL(url);
    try {
      checkTarget(target, rules());
    } catch (error) {
      return failed(messageOf(error));
    }
    const result = await this.#exchange(target, headers, body, mayStart, signal);
    if ('status' in result) {
      const error = result.status >= 300 && result.status < 400 ? 'redirects are not followed' : null;
      return {
        httpStatus: result.status,
        error,
        body: text(result.chunks),
        duration: clock.monotonic() - began,
      };
    }
    if (result.failed === withheld) return 'withheld';
    return failed(
      result.failed === timedOut ? `no complete answer within ${timeout / 1000} s` : inWords(result.failed),
    );
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #exchange(
    target: URL,
    headers: WebhookRequest['headers'],
    body: string,
    mayStart: () => boolean,
    signal?: AbortSignal,
  ): Promise<Answer | Failure> {
    const ended = new AbortController();
    return new Promise<Answer | Failure>((resolve) => {
      const collector = new Collector(mayStart, (result) => {
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

  async #addressesOf(host: string): Promise<readonly Resolved[]> {
    const literal = withoutBrackets(host);
    const family = isIP(literal);
    return family === 0 ? this.#resolve(host) : [{ address: literal, family }];
  }

  /** None if the name can't be resolved, or not in time. */
  #addressesInTime(host: string): Promise<readonly Resolved[]> {
    const found = this.#addressesOf(host).catch(() => []);
    return within(this.#options.clock, vettingTime, found, () => []);
  }

  /**
   * Every address of the name. Throws where any of them may not be reached: the socket then connects to one
   * of exactly these, or to none.
   */
  async #vetted(hostname: string): Promise<readonly [Resolved, ...Resolved[]]> {
    const [first, ...others] = await this.#resolve(hostname);
    if (first === undefined) throw new Refused('the host name does not resolve');
    const refused = [first, ...others].find(({ address }) => !this.#mayReach(address));
    if (refused !== undefined) throw new Refused(refusalOf(refused.address));
    return [first, ...others];
  }

  async #answerLookup(
    hostname: string,
    all: boolean,
    callback: Parameters<LookupFunction>[2],
  ): Promise<void> {
    let addresses: readonly [Resolved, ...Resolved[]];
    try {
      addresses = await this.#vetted(hostname);
    } catch (error) {
      callback(error instanceof Error ? error : new Refused('the host name does not resolve'), '', 0);
      return;
    }
    if (all) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  }

  /**
   * undici asks no `lookup` for an address that is written out, so it is checked here; and the address of the
   * open socket once more.
   */
  #connector(): buildConnector.connector {
    const { extraCertificates = [], timeout } = this.#options;
    const connect = buildConnector({
      timeout,
      rejectUnauthorized: true,
      lookup: (hostname, options, callback) =>
        void this.#answerLookup(hostname, options.all === true, callback),
      secureContext: createSecureContext(
        extraCertificates.length === 0 ? {} : { ca: [...rootCertificates, ...extraCertificates] },
      ),
    });
    return (options, callback) => {
      const literal = withoutBrackets(options.hostname);
      if (isIP(literal) !== 0 && !this.#mayReach(literal))
        return callback(new Refused(refusalOf(literal)), null);
      connect(options, (...[error, socket]) => {
        if (error !== null) return callback(error, null);
        const { remoteAddress } = socket;
        if (remoteAddress !== undefined && this.#mayReach(remoteAddress)) return callback(null, socket);
        socket.destroy();
        callback(new Refused(refusalOf(remoteAddress ?? 'the other side')), null);
      });
    };
  }
}

const refusalOf = (address: string): string =>
  `${address} may not be reached: it is not on the public internet`;
