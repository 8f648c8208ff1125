import type { SenderOptions } from '../../adapters/webhook-sender/sender.js';
import type { WebhookSender } from '../../application/ports/webhook-sender.js';

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
