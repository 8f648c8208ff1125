import type { Milliseconds } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';

export interface WebhookRequest {
  readonly url: WebhookUrl;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as these characters in UTF-8. */
  readonly body: string;
  /**
   * Asked once, at the last moment before the first byte is written on an open connection: false stops the
   * attempt there.
   */
  readonly mayStart: () => boolean;
}

/**
 * What came of one attempt. `httpStatus` is that of an answer that ended in time, or was cut off at 16 KiB;
 * null where there was none, and `error` then says why in plain words. `body`: the first 1 KiB of the answer
 * as text. Delivered: `isSuccess`.
 */
export interface AttemptResult {
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly body: string | null;
  readonly duration: Milliseconds;
}

/** Any 2xx; a redirect is a failure. (spec: Retries; decision 60) */
export const isSuccess = ({ httpStatus }: Pick<AttemptResult, 'httpStatus'>): boolean =>
  httpStatus !== null && httpStatus >= 200 && httpStatus < 300;

/**
 * Posts to the receivers. Follows no redirect, verifies TLS always, reaches only addresses that may be
 * reached, ends within its timeout. (decisions 56, 60)
 */
export interface WebhookSender {
  /**
   * Throws `invalid_url` where the host is, or resolves to, an address that may not be reached. A name that
   * doesn't resolve yet passes: addresses are checked again at every connect.
   */
  vet(url: WebhookUrl): Promise<void>;
  /**
   * Never rejects. `withheld`: `mayStart` said no, or `signal` aborted before the answer was complete. There
   * is nothing to record then.
   */
  send(outgoing: WebhookRequest, signal?: AbortSignal): Promise<AttemptResult | 'withheld'>;
  /** Closes every connection. */
  close(): Promise<void>;
}
