import { networkInterfaces } from 'node:os';
import type { SenderOptions } from '../../adapters/webhook-sender/sender.js';
import { defaultFreshAttempts } from '../../application/webhooks/deliver-webhooks.js';
import type { Clock } from '../../application/ports/system.js';
import type { WebhookSender } from '../../application/ports/webhook-sender.js';
import type { Milliseconds } from '../../domain/ids.js';
import { hostSet, type WebhookUrlRules } from '../../domain/webhook-url.js';

/** The addresses of a listener: all of this machine's, if it listens on all of them. */
const addressesOf = (hostname: string): readonly string[] => {
  if (hostname !== '0.0.0.0' && hostname !== '[::]') return [hostname];
  const all = Object.values(networkInterfaces()).flatMap((of = []) => of.map(({ address }) => address));
  return [hostname, ...all.map((address) => address.replace(/%.*$/, ''))];
};

const ownAddresses = (listening: readonly string[]): ReadonlySet<string> =>
  new Set(
    listening.flatMap((url) => {
      const { hostname, port } = new URL(url);
      return [...hostSet(addressesOf(hostname))].map((host) => `${host}:${port}`);
    }),
  );

/**
 * The rules for a webhook's URL. The service's own host follows BASE_URL, or the port that is known only once
 * the service listens. (decision 56: no webhook may point to the service itself)
 */
export const urlRules = (
  allowedPorts: readonly number[] | null,
  baseUrl: () => string,
  listening: () => readonly string[],
): (() => WebhookUrlRules) => {
  const ports = allowedPorts === null ? null : new Set(allowedPorts);
  let known: { readonly key: string; readonly rules: WebhookUrlRules } | null = null;
  return () => {
    const key = [baseUrl(), ...listening()].join();
    if (known?.key !== key) {
      const ownHosts = hostSet([new URL(baseUrl()).hostname]);
      known = { key, rules: { ownHosts, ports, ownAddresses: ownAddresses(listening()) } };
    }
    return known.rules;
  };
};

/**
 * The sender of webhooks, loaded when there is something to send or a URL to check: loading its HTTP client
 * at once would take a seventh of the start.
 */
export const senderOnDemand = (options: SenderOptions): WebhookSender => {
  let loading: Promise<WebhookSender> | null = null;
  const load = (): Promise<WebhookSender> =>
    (loading ??= import('../../adapters/webhook-sender/sender.js').then(
      ({ UndiciWebhookSender }) => new UndiciWebhookSender(options),
    ));
  return {
    vet: async (url, org) => (await load()).vet(url, org),
    send: async (outgoing, signal) => (await load()).send(outgoing, signal),
    close: async () => (await loading)?.close(),
  };
};

/** Sends nothing, not even test events: for a sender while deliveries wait. */
export const sendsNothing: WebhookSender['send'] = async () => ({
  httpStatus: null,
  error: 'nothing is sent: WEBHOOK_DELIVERY is off',
  body: null,
  duration: 0,
});

const measureInterval: Milliseconds = 100;
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
    if (elapsed >= measureInterval) {
      const now = begun();
      const busy = ((now - seen.begun) * measureInterval) / elapsed > manyRequests;
      seen = { at, begun: now, busy };
    }
    return seen.busy ? freshBesideRequests : defaultFreshAttempts;
  };
};
