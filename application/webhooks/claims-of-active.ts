import type { Milliseconds, OrganizationId, Uuid } from '../../domain/ids.js';
import type { DeliveryClaims, EndpointClaims } from '../ports/delivery-claims.js';
import type { Suspensions } from '../organizations/suspensions.js';

/** How often to look whether a suspension has ended. */
const lookAgainAfter: Milliseconds = 10_000;

/**
 * The same claims, without suspended organizations: their deliveries wait, and go out once the suspension has
 * ended.
 */
export const claimsOfActive = (
  claims: DeliveryClaims,
  suspensions: Pick<Suspensions, 'isSuspended'>,
): DeliveryClaims => {
  /** A failed check doesn't stop a delivery. */
  const isSuspended = (org: OrganizationId): Promise<boolean> =>
    suspensions.isSuspended(org).catch(() => false);

  const withoutSuspended = async (found: EndpointClaims, now: Milliseconds): Promise<EndpointClaims> => {
    const [first] = found.claimed;
    if (first === undefined || !(await isSuspended(first.endpoint.org))) return found;
    for (const claim of found.claimed) await claims.release(claim);
    return { claimed: [], next: now + lookAgainAfter };
  };

  return {
    dueTimes: () => claims.dueTimes(),
    hasten: (now, latest) => claims.hasten(now, latest),
    claim: async (limits, now) => {
      const found = await claims.claim(limits, now);
      const left = new Map<Uuid, EndpointClaims>();
      for (const [endpoint, claimed] of found) left.set(endpoint, await withoutSuspended(claimed, now));
      return left;
    },
    mayStart: (claim) => claims.mayStart(claim),
    release: (claim) => claims.release(claim),
    record: (claim, attempt, outcome, disableAfter) => claims.record(claim, attempt, outcome, disableAfter),
  };
};
