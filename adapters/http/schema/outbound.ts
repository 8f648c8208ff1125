import { publicEventTypes } from '../../../domain/public-events.js';
import * as shown from './shown.js';
import type { JsonSchema } from './json-schema.js';

/** The body of every webhook. (docs/contract.md#payload) */
export const webhookEvent = shown.component('WebhookEvent', 'What happened to a card.', {
  id: shown.text('Starts with `evt_`; the same for every endpoint.', shown.examples.event),
  // No enum: a minor version may add types, and a generated client must not stumble over one.
  type: shown.text(
    `${publicEventTypes.map((type) => `\`${type}\``).join(', ')}. More may come: ignore those that you do not know.`,
    ...publicEventTypes,
  ),
  created: shown.text('UTC with milliseconds.', '2026-03-02T15:04:05.678Z').meta({ format: 'date-time' }),
  data: shown.nested('The card that it is about.', {
    card: shown.cardCode,
    recipient: shown
      .text(
        "The recipient's name; null if the event is sent again after the data was erased.",
        'Ada Lovelace',
      )
      .nullable(),
    reference: shown
      .text('The reference sent with the card; null if there was none.', 'order-1001')
      .nullable(),
    heldReason: shown.nullText('Why the card is held; null unless it is.'),
  }),
});

export const eventExample = {
  id: shown.examples.event,
  type: 'card.created',
  created: '2026-03-02T15:04:05.678Z',
  data: { card: shown.examples.card, recipient: 'Ada Lovelace', reference: 'order-1001', heldReason: null },
};

/** `required`: false if the header is not on every webhook. */
const header = (name: string, description: string, facts: JsonSchema = {}, required = true) => ({
  required,
  name,
  description,
  schema: { type: 'string', ...facts },
});

/**
 * The headers of every webhook. (docs/contract.md#delivery-headers; decision 59: secrets, rotation, Standard
 * Webhooks)
 */
export const webhookHeaders = [
  header('user-agent', 'Always `Service-Webhooks/1`.', { const: 'Service-Webhooks/1' }),
  header('service-event', 'The event type.', { examples: publicEventTypes }),
  header('service-delivery', 'The delivery id: the same for every attempt.'),
  header(
    'service-signature',
    '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<raw body>`, keyed with the signing secret. Two `v1` for 24 hours after a rotation of the secret.',
  ),
  header('webhook-id', 'Standard Webhooks: the delivery id.'),
  header('webhook-timestamp', 'Standard Webhooks: Unix seconds.'),
  header('webhook-signature', 'Standard Webhooks: `v1,<base64>`, one per secret.'),
  header(
    'traceparent',
    'W3C Trace Context: the trace of the request that caused the event. Absent if none is known.',
    { examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
    false,
  ),
];
