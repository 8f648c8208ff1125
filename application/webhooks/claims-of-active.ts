import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { DeliveryClaims, EndpointClaims } from '../ports/delivery-claims.js';
import type { Clock } from '../ports/system.js';
import type { Suspensions } from '../organizations/suspensions.js';
import { withTimeout } from '../timing/with-timeout.js';

const checkTimeout: Milliseconds = 300;
/** How often to look whether a suspension has ended. */
const lookAgainAfter: Milliseconds = 10_000;

/**
 * The same claims, without suspended organizations: their deliveries wait, and go out once the suspension has
 * ended.
 */
export const claimsOfActive = (
  claims: DeliveryClaims,
  suspensions: Pick<Suspensions, 'isSuspended' | 'wasSuspended'>,
  clock: Clock,
): DeliveryClaims => {
  /** A check that fails or hangs doesn't stop a delivery: a claim has to start soon. */
  const isSuspended = async (org: OrganizationId): Promise<boolean> => {
    const known = () => suspensions.wasSuspended(org);
    return withTimeout(clock, checkTimeout, suspensions.isSuspended(org).catch(known), known);
  };

  const withoutSuspended = async (found: EndpointClaims, now: Milliseconds): Promise<EndpointClaims> => {
    const [first] = found.claimed;
    if (first === undefined || !(await isSuspended(first.endpoint.org))) return found;
    // One that can't be released now is free for others once it ends, and stops none of the rest.
    await Promise.allSettled(found.claimed.map((claim) => claims.release(claim)));
    return { claimed: [], next: now + lookAgainAfter };
  };

  return {
    dueTimes: () => claims.dueTimes(),
    hasten: (now, latest) => claims.hasten(now, latest),
    claim: async (limits, now) => {
      const found = await claims.claim(limits, now);
      return new Map<Uuid, EndpointClaims>(
        await Promise.all(
          [...found].map(
            async ([endpoint, claimed]) => [endpoint, await withoutSuspended(claimed, now)] as const,
          ),
        ),
      );
    },
    mayStart: (claim) => claims.mayStart(claim),
    release: (claim) => claims.release(claim),
    record: (claim, attempt, outcome, disableAfter) => claims.record(claim, attempt, outcome, disableAfter),
  };
};
