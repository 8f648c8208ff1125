import { defaultFreshAttempts } from '../application/deliver-webhooks.js';
import type { Clock } from '../application/ports/system.js';
import type { Milliseconds } from '../domain/ids.js';
import { hostSet, type WebhookUrlRules } from '../domain/webhook-url.js';

/**
 * What a webhook's URL must obey. The service's own host follows BASE_URL, or the port that is known only
 * once the service listens. (decision 56: no webhook may point to the service itself)
 */
export const urlRules = (
  allowedPorts: readonly number[] | null,
  baseUrl: () => string,
): (() => WebhookUrlRules) => {
  const ports = allowedPorts === null ? null : new Set(allowedPorts);
  let known: { readonly baseUrl: string; readonly rules: WebhookUrlRules } | null = null;
  return () => {
    const current = baseUrl();
    if (known?.baseUrl !== current)
      known = { baseUrl: current, rules: { ownHosts: hostSet([new URL(current).hostname]), ports } };
    return known.rules;
  };
};

const measuredEvery: Milliseconds = 100;
const manyRequests = 50;
const freshBesideRequests = 32;

/**
 * How many deliveries may be in the first moments of an attempt: fewer while this process has many requests
 * to handle, because both share its thread. `begun` counts the requests since the start.
 */
export const politePace = (clock: Clock, begun: () => number): (() => number) => {
  let seen = { at: clock.monotonic(), begun: 0, busy: false };
  return () => {
    const at = clock.monotonic();
    const elapsed = at - seen.at;
    if (elapsed >= measuredEvery) {
      const now = begun();
      const busy = ((now - seen.begun) * measuredEvery) / elapsed > manyRequests;
      seen = { at, begun: now, busy };
    }
    return seen.busy ? freshBesideRequests : defaultFreshAttempts;
  };
};
