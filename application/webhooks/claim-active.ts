import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { DeliveryClaims, EndpointClaims } from '../ports/delivery-claims.js';
import type { Clock } from '../ports/system.js';
import type { Suspensions } from '../organizations/suspensions.js';
import { withTimeout } from '../timing/with-timeout.js';

export interface ClaimActiveDeps {
  readonly deliveries: { readonly claims: DeliveryClaims };
  readonly clock: Clock;
  readonly suspensions: Pick<Suspensions, 'isSuspended' | 'wasSuspended'>;
}

const checkTimeout: Milliseconds = 300;
/** How often to look whether a suspension has ended. */
const lookAgainAfter: Milliseconds = 10_000;

/**
 * Claims deliveries, but those of suspended organizations wait, and go out once the suspension has ended.
 */
export const claimActive = async (
  { deliveries: { claims }, clock, suspensions }: ClaimActiveDeps,
  limits: ReadonlyMap<Uuid, number>,
  now: Milliseconds,
): Promise<ReadonlyMap<Uuid, EndpointClaims>> => {
  const all = await claims.claim(limits, now);
  /** A check that fails or hangs doesn't stop a delivery: a claim has to start soon. */
  const isSuspended = async (org: OrganizationId): Promise<boolean> => {
    const known = () => suspensions.wasSuspended(org);
    return withTimeout(clock, checkTimeout, suspensions.isSuspended(org).catch(known), known);
  };
  const ofActive = async (found: EndpointClaims): Promise<EndpointClaims> => {
    const [first] = found.claimed;
    if (first === undefined || !(await isSuspended(first.endpoint.org))) return found;
    // One that can't be released now is free for others once it ends, and stops none of the rest.
    await Promise.allSettled(found.claimed.map((claim) => claims.release(claim)));
    return { claimed: [], next: now + lookAgainAfter };
  };
  return new Map(
    await Promise.all([...all].map(async ([endpoint, found]) => [endpoint, await ofActive(found)] as const)),
  );
};
