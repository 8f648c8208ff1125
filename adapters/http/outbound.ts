import { publicEventTypes } from '../../domain/public-events.js';
import { component, nullable, object, oneOf, text, type JsonSchema } from './schema.js';

/** The body of every webhook. (spec: Events, Payload) */
export const webhookEvent = component(
  'WebhookEvent',
  object({
    id: text({ description: 'Starts with `evt_`; the same for every endpoint.', examples: ['evt_2c5d4f6a'] }),
    type: oneOf(publicEventTypes),
    created: text({
      format: 'date-time',
      description: 'UTC with milliseconds.',
      examples: ['2026-03-02T15:04:05.678Z'],
    }),
    data: object({
      card: text({ description: 'The card code.' }),
      recipient: text({ description: "The recipient's name." }),
      reference: nullable(text({ description: 'The reference sent with the card.' })),
      heldReason: nullable(text({ description: 'Why the card is held.' })),
    }),
  }),
);

interface SentHeader {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** The headers of every webhook. (spec: Events, Delivery headers; decision 59) */
export const webhookHeaders: readonly SentHeader[] = [
  {
    name: 'user-agent',
    description: 'Always `Service-Webhooks/1`.',
    schema: { const: 'Service-Webhooks/1' },
  },
  {
    name: 'service-event',
    description: 'The event type.',
    schema: { type: 'string', enum: publicEventTypes },
  },
  {
    name: 'service-delivery',
    description: 'Delivery id: the same on every attempt of the same event.',
    schema: { type: 'string' },
  },
  {
    name: 'service-signature',
    description:
      '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<raw body>`, keyed with the signing secret. Two `v1` for 24 hours after a rotation.',
    schema: { type: 'string' },
  },
  { name: 'webhook-id', description: 'Standard Webhooks: the delivery id.', schema: { type: 'string' } },
  { name: 'webhook-timestamp', description: 'Standard Webhooks: Unix seconds.', schema: { type: 'string' } },
  {
    name: 'webhook-signature',
    description: 'Standard Webhooks: `v1,<base64>`, one per secret.',
    schema: { type: 'string' },
  },
];
