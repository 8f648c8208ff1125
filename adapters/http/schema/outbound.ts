import { z } from 'zod';
import { publicEventTypes } from '../../../domain/public-events.js';
import { cardCode, examples, nullText, shownText } from './shown.js';
import type { JsonSchema } from './json-schema.js';

/** The body of every webhook. (docs/contract.md#payload) */
export const webhookEvent = z
  .object({
    id: shownText('Starts with `evt_`; the same for every endpoint.', examples.event),
    // No enum: a minor version may add types, and a generated client must not stumble over one.
    type: shownText(
      `${publicEventTypes.map((type) => `\`${type}\``).join(', ')}. More may come: ignore those that you do not know.`,
      ...publicEventTypes,
    ),
    created: shownText('UTC with milliseconds.', '2026-03-02T15:04:05.678Z').meta({ format: 'date-time' }),
    data: z
      .object({
        card: cardCode,
        recipient: shownText(
          "The recipient's name; null if the event is sent again after the data was erased.",
          'Ada Lovelace',
        ).nullable(),
        reference: shownText(
          'The reference sent with the card; null if there was none.',
          'order-1001',
        ).nullable(),
        heldReason: nullText('Why the card is held; null unless it is.'),
      })
      .describe('The card that it is about.'),
  })
  .meta({ id: 'WebhookEvent', description: 'What happened to a card.' });

export const eventExample = {
  id: examples.event,
  type: 'card.created',
  created: '2026-03-02T15:04:05.678Z',
  data: { card: examples.card, recipient: 'Ada Lovelace', reference: 'order-1001', heldReason: null },
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
