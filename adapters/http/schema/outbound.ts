import { z } from 'zod';
import { publicEventTypes } from '../../../domain/public-events.js';
import type { JsonSchema } from './json-schema.js';

/** The body of every webhook. (docs/contract.md#payload) */
export const webhookEvent = z
  .object({
    id: z.string().meta({
      description: 'Starts with `evt_`; the same for every endpoint.',
      examples: ['evt_2c5d4f6a8b1e4d0f9a7c3b5e6d8f0a12'],
    }),
    // No enum: a minor version may add types, and a generated client must not stumble over one.
    type: z.string().meta({
      description: `${publicEventTypes.map((type) => `\`${type}\``).join(', ')}. More may come: ignore those that you do not know.`,
      examples: [...publicEventTypes],
    }),
    created: z.string().meta({
      format: 'date-time',
      description: 'UTC with milliseconds.',
      examples: ['2026-03-02T15:04:05.678Z'],
    }),
    data: z.object({
      card: z.string().describe('The card code.'),
      recipient: z
        .string()
        .nullable()
        .describe("The recipient's name; null if the event is sent again after the data was erased."),
      reference: z.string().nullable().describe('The reference sent with the card; null if there was none.'),
      heldReason: z.string().nullable().describe('Why the card is held; null unless it is.'),
    }),
  })
  .meta({ id: 'WebhookEvent' });

interface SentHeader {
  readonly name: string;
  readonly description: string;
  /** False if the header is not on every webhook; left out, it is. */
  readonly required?: false;
  readonly schema: JsonSchema;
}

/**
 * The headers of every webhook. (docs/contract.md#delivery-headers; decision 59: secrets, rotation, Standard
 * Webhooks)
 */
export const webhookHeaders: readonly SentHeader[] = [
  {
    name: 'user-agent',
    description: 'Always `Service-Webhooks/1`.',
    schema: { const: 'Service-Webhooks/1' },
  },
  {
    name: 'service-event',
    description: 'The event type.',
    schema: { type: 'string', examples: publicEventTypes },
  },
  {
    name: 'service-delivery',
    description: 'The delivery id: the same for every attempt.',
    schema: { type: 'string' },
  },
  {
    name: 'service-signature',
    description:
      '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<raw body>`, keyed with the signing secret. Two `v1` for 24 hours after a rotation of the secret.',
    schema: { type: 'string' },
  },
  { name: 'webhook-id', description: 'Standard Webhooks: the delivery id.', schema: { type: 'string' } },
  { name: 'webhook-timestamp', description: 'Standard Webhooks: Unix seconds.', schema: { type: 'string' } },
  {
    name: 'webhook-signature',
    description: 'Standard Webhooks: `v1,<base64>`, one per secret.',
    schema: { type: 'string' },
  },
  {
    name: 'traceparent',
    description:
      'W3C Trace Context: the trace of the request that caused the event. Absent if none is known.',
    required: false,
    schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
  },
];
