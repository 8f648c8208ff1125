import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';

export interface WebhookRequest {
  /** The owner of the endpoint: name lookups are shared fairly between organizations. */
  readonly org: OrganizationId;
  readonly url: WebhookUrl;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as these characters in UTF-8. */
  readonly body: string;
  /** Called right before the first byte is written to a connection, for each one; false stops the attempt. */
  readonly mayStart: () => boolean;
}

/**
 * The result of one attempt. `httpStatus`: of the response, however the rest of it came; null without a
 * status line. `error`: the failure in plain words. `body`: the first 1 KiB of the response as text.
 */
export interface AttemptResult {
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly body: string | null;
  /** From the moment at which the address was known. */
  readonly duration: Milliseconds;
}

/** The host name didn't resolve: nothing was sent. Asking again soon would be in vain. */
export interface Unresolved extends AttemptResult {
  readonly unresolved: true;
}

/** Any 2xx; a redirect is a failure. (decision 60: what an attempt reads) */
export const isSuccess = ({ httpStatus }: Pick<AttemptResult, 'httpStatus'>): boolean =>
  httpStatus !== null && httpStatus >= 200 && httpStatus < 300;

/**
 * Sends requests to the receivers. Never follows a redirect, always verifies TLS, connects only to addresses
 * that webhooks may reach, and ends within its timeout. (decision 56: which URLs; decision 60: the limits)
 */
export interface WebhookSender {
  /**
   * Throws `invalid_url` if the host is, or resolves to, an address that webhooks may not reach. A name that
   * doesn't resolve yet passes, because addresses are checked again at every connect.
   */
  vet(url: WebhookUrl, org: OrganizationId): Promise<void>;
  /**
   * Never rejects. `withheld`: `mayStart` returned false, `signal` aborted before the response was complete,
   * or there were too many name lookups. Then there is nothing to record.
   */
  send(request: WebhookRequest, signal?: AbortSignal): Promise<AttemptResult | Unresolved | 'withheld'>;
  close(): Promise<void>;
}
