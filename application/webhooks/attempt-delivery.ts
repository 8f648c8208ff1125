import type { Milliseconds } from '../../domain/ids.js';
import { secretsAt, type DatedSecret } from '../../domain/webhook-endpoints.js';
import {
  deliveryHeaders,
  signingSecret,
  type MasterKeys,
  type Signable,
} from '../../domain/webhook-signing.js';
import type { Deliveries } from '../ports/deliveries.js';
import type { AttemptOutcome, DeliveryClaim, Recorded } from '../ports/delivery-claims.js';
import type { DeliveryAttempt } from '../ports/delivery-log.js';
import type { DeliveryQueue } from '../ports/delivery-queue.js';
import type { TrippedEndpoint } from '../ports/endpoint-gates.js';
import type { Clock } from '../ports/system.js';
import { noTracing, type Span, type Tracing } from '../ports/tracing.js';
import {
  isSuccess,
  type AttemptResult,
  type Unresolved,
  type WebhookSender,
} from '../ports/webhook-sender.js';
import type { DeliveryPolicy } from './public-deliveries.js';
import type { AttemptVerdict } from './schedule.js';

/** `sinceEvent`: the time from the event to the end of a first attempt that delivered it, otherwise null. */
export interface DeliveryMetrics {
  attempted(
    result: 'delivered' | 'retrying' | 'exhausted',
    duration: Milliseconds,
    sinceEvent: Milliseconds | null,
  ): void;
}

export interface AttemptDeps {
  readonly deliveries: Pick<Deliveries, 'claims'>;
  readonly queue: DeliveryQueue;
  readonly sender: WebhookSender;
  readonly clock: Clock;
  /** By which deliveries are due; by default `clock`. */
  readonly dueClock?: Pick<Clock, 'now'>;
  readonly keys: MasterKeys;
  readonly policy: DeliveryPolicy;
  readonly metrics: DeliveryMetrics;
  /** Nothing is traced if it is left out. */
  readonly tracing?: Tracing;
  readonly report: (error: unknown) => void;
}

/** `retryAt`: when the delivery is attempted again; null if it has ended. */
export interface Attempted {
  readonly verdict: AttemptVerdict;
  readonly retryAt: Milliseconds | null;
  readonly tripped: TrippedEndpoint | null;
}

const recordAgainAfter: Milliseconds = 1_000;
/** A response that takes longer shrinks the endpoint's share as a failure does. */
const quickWithin: Milliseconds = 2_000;

/** The headers of a request to an endpoint, signed with the secrets in force. Throws MissingMasterKey. */
export const signedHeaders = (
  keys: MasterKeys,
  endpoint: string,
  dated: readonly DatedSecret[],
  request: Omit<Signable, 'secrets'>,
): Readonly<Record<string, string>> => {
  const secrets = secretsAt(dated, request.at).map((secret) => signingSecret(keys, endpoint, secret));
  return deliveryHeaders({ ...request, secrets });
};

const outcomeOf = (
  { backoff }: DeliveryPolicy,
  { number, allowed }: DeliveryClaim,
  result: AttemptResult,
  now: Milliseconds,
): AttemptOutcome => {
  if (isSuccess(result)) return { status: 'delivered' };
  if (number >= allowed) return { status: 'exhausted' };
  const wait = backoff[Math.min(number, backoff.length) - 1] ?? 0;
  return { status: 'pending', due: now + wait };
};

const verdictOn = (result: AttemptResult | Unresolved): AttemptVerdict => {
  if ('unresolved' in result) return 'unresolved';
  if (!isSuccess(result)) return 'failed';
  return result.duration <= quickWithin ? 'quick' : 'slow';
};

const spanOf = (
  tracing: Tracing,
  { delivery, type, card, endpoint, number, traceparent }: DeliveryClaim,
): Span =>
  tracing.begin('delivery attempt', {
    kind: 'client',
    ...(traceparent !== undefined && { parent: { traceparent } }),
    attributes: {
      'cards.delivery': delivery,
      'cards.event_type': type,
      'cards.card': card,
      'cards.endpoint': endpoint.endpoint,
      'cards.attempt': number,
    },
  });

const endSpan = (span: Span, result: AttemptResult | Unresolved | 'withheld'): void => {
  if (result === 'withheld') return span.end({ attributes: { 'cards.withheld': true } });
  const { httpStatus, error } = result;
  span.end({
    ...(httpStatus !== null && { attributes: { 'http.response.status_code': httpStatus } }),
    ...(!isSuccess(result) && { error: error ?? `status ${httpStatus}` }),
  });
};

/**
 * Makes the attempt that a claim permits, and records it. None starts after `stopping` has aborted; one that
 * is under way is cut off when `ending` aborts. `withheld`: no attempt was made, and the claim was released.
 */
export const attemptDelivery = async (
  deps: AttemptDeps,
  claim: DeliveryClaim,
  { stopping, ending }: { readonly stopping: AbortSignal; readonly ending: AbortSignal },
): Promise<Attempted | 'withheld'> => {
  const { deliveries, sender, clock, dueClock = clock, policy, metrics, keys, tracing = noTracing } = deps;
  const { delivery, type, body, endpoint, number, occurredAt } = claim;
  const at = clock.now();
  const span = spanOf(tracing, claim);
  const traceparent = span.traceparent ?? claim.traceparent;
  let result: AttemptResult | Unresolved | 'withheld';
  try {
    const request = { delivery, type, body, at, traceparent };
    const headers = signedHeaders(keys, endpoint.endpoint, endpoint.secrets, request);
    const mayStart = () => !stopping.aborted && deliveries.claims.mayStart(claim);
    const { org, url } = endpoint;
    result = await span.within(() => sender.send({ org, url, headers, body, mayStart }, ending));
  } catch (error) {
    span.end({ error });
    await deliveries.claims.release(claim);
    throw error;
  }
  endSpan(span, result);
  if (result === 'withheld') {
    await deliveries.claims.release(claim);
    return result;
  }
  const now = clock.now();
  const outcome = outcomeOf(policy, claim, result, dueClock.now());
  const verdict = verdictOn(result);
  const { httpStatus, error, duration, body: response } = result;
  const attempt = { at, httpStatus, error, duration, body: response };
  const { recorded, tripped } = await record(deps, claim, attempt, outcome, ending);
  if (!recorded) return { verdict, retryAt: null, tripped };
  metrics.attempted(
    outcome.status === 'pending' ? 'retrying' : outcome.status,
    result.duration,
    outcome.status === 'delivered' && number === 1 ? now - occurredAt : null,
  );
  return { verdict, retryAt: outcome.status === 'pending' ? outcome.due : null, tripped };
};

/** Tries until it is recorded, because the receiver has had the request: it must not be made again. */
const record = async (
  { deliveries, clock, policy, queue, report }: AttemptDeps,
  claim: DeliveryClaim,
  attempt: DeliveryAttempt,
  outcome: AttemptOutcome,
  ending: AbortSignal,
): Promise<Recorded> => {
  for (;;) {
    try {
      const recorded = await deliveries.claims.record(claim, attempt, outcome, policy.disableAfter);
      if (recorded.recorded && outcome.status === 'pending') {
        const { delivery, endpoint, number } = claim;
        await queue.announce([
          { delivery, endpoint: endpoint.endpoint, attempt: number + 1, due: outcome.due },
        ]);
      }
      return recorded;
    } catch (error) {
      report(error);
      if (ending.aborted) return { recorded: false, tripped: null };
      await clock.sleep(recordAgainAfter, ending);
    }
  }
};
