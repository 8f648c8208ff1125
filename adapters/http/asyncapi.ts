import { z } from 'zod';
import { apiKey } from '../../domain/api-key.js';
import { card } from '../../domain/card.js';
import { collectionCard, handwriting } from '../../domain/catalogue.js';
import { contact } from '../../domain/contact.js';
import { ledger } from '../../domain/credits.js';
import { doNotMail } from '../../domain/do-not-mail.js';
import { Actor } from '../../domain/events.js';
import { hook } from '../../domain/hook.js';
import type { Category } from '../../domain/ids.js';
import { organization } from '../../domain/organization.js';
import { webhookEndpoints } from '../../domain/webhook-endpoints.js';

type Node = Readonly<Record<string, unknown>>;

interface Published {
  readonly category: Category;
  readonly schemas: Readonly<Record<string, z.ZodObject>>;
}

const aggregates: readonly Published[] = [
  card,
  ledger,
  contact,
  organization,
  apiKey,
  doNotMail,
  hook,
  webhookEndpoints,
  collectionCard,
  handwriting,
];

/** What an event says, in a sentence. */
const meanings: Readonly<Record<string, string>> = {
  CardScheduled: 'A card was accepted and paid for.',
  CardHeld:
    'A card waits for a person. The first event of a card that nothing was charged for, with its order; or, without one, the hold of a scheduled card.',
  CardReleased: 'A held card was let go and paid for.',
  CardQueued: 'A card went to the floor.',
  StepStarted: 'A step of production began.',
  StepCompleted: 'A step of production is done.',
  StepFailed: 'A step of production went wrong and is to be repeated.',
  CardCancelled: 'A card was cancelled before it was made.',
  CardFailed: 'A card will not be made.',
  CardAbandoned: 'A send that died half-way was closed: there is no card, and its credit comes back.',
  ReleaseAbandoned:
    'A release that died half-way was closed: the card stays held, and its credit comes back.',
  CreditsPurchased: 'Credits were added.',
  CreditSpent: 'A card was paid for.',
  CreditReturned: 'A credit came back.',
  ContactCreated: 'A contact was saved for the first time.',
  ContactReplaced: 'A contact was saved again, as a whole.',
  OrganizationCreated: 'A customer is there.',
  HouseHandChosen: 'An organization has another handwriting by default.',
  DesignSaved: 'An organization saved a design.',
  DesignArchived: 'A design can no longer be chosen.',
  ApiKeyIssued: 'An API key was made.',
  ApiKeyRevoked: 'An API key is no longer accepted.',
  DoNotMailAdded: 'An address must not be mailed.',
  DoNotMailRemoved: 'An address may be mailed again.',
  HookCreated: 'An inbound hook was made.',
  HookPaused: 'An inbound hook takes nothing for the time being.',
  HookResumed: 'An inbound hook works again.',
  HookDeleted: 'An inbound hook is gone.',
  EndpointRegistered: 'A webhook endpoint was registered.',
  EndpointDisabled: 'A webhook endpoint was switched off after failures.',
  EndpointEnabled: 'A webhook endpoint was switched on again.',
  EndpointDeleted: 'A webhook endpoint is gone.',
  SecretRotated: 'A webhook endpoint has another signing secret.',
  CollectionCardPublished: 'A card of the public collection is offered, or has another title.',
  CollectionCardWithdrawn: 'A card of the public collection is no longer offered.',
  HandwritingOffered: 'A handwriting is offered.',
  HandwritingWithdrawn: 'A handwriting is no longer offered.',
};

/** The data of an event as it is stored. Open: a consumer is to ignore what it does not know. */
const dataSchema = (schema: z.ZodObject): Node => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
  return rest;
};

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const instant = { type: 'string', format: 'date-time' };
const counter = (description: string): Node => ({ type: 'string', pattern: '^[0-9]+$', description });

/** EventMetadata. */
const metadata: Node = {
  type: 'object',
  required: [
    'org',
    'actor',
    'requestId',
    'correlationId',
    'causationId',
    'schemaVersion',
    'occurredAt',
    'subject',
    'keyId',
    'personal',
    'hash',
  ],
  properties: {
    org: { ...textOrNull, description: 'The organization that it belongs to; null for the catalogue.' },
    actor: { ...dataSchema(Actor), description: 'Who did it.' },
    requestId: { ...textOrNull, description: 'The `x-request-id` of the call that led to it.' },
    correlationId: text,
    causationId: text,
    schemaVersion: { type: 'integer', description: 'The version of the shape of `data`.' },
    occurredAt: instant,
    subject: { ...textOrNull, description: 'Whose personal data `data.personal` holds.' },
    keyId: { ...textOrNull, description: 'The key that `data.personal` is encrypted with; null: none.' },
    personal: {
      type: ['object', 'null'],
      required: ['salt', 'digest'],
      properties: { salt: text, digest: text },
      description: 'Stands for `data.personal` in the hash.',
    },
    hash: { ...text, description: 'Chains the event to the one before it in its stream.' },
  },
};

/** The routing key of an event type, which is also the name of its channel. */
const routingKey = (category: Category, type: string): string => `${category}.${type}`;

const payload = (category: Category, type: string, schema: z.ZodObject): Node => ({
  type: 'object',
  required: ['position', 'stream', 'revision', 'id', 'type', 'at', 'data', 'metadata'],
  properties: {
    position: counter(
      'The place in the log of all streams: an integer of up to 64 bits. Later events have greater ones.',
    ),
    stream: { type: 'string', pattern: `^${category}-`, description: 'The stream that it stands in.' },
    revision: counter('The place in its stream, from 0.'),
    id: { type: 'string', format: 'uuid', description: 'The same however often the event is delivered.' },
    type: { const: type },
    at: { ...instant, description: 'When it happened.' },
    data: dataSchema(schema),
    metadata: { $ref: '#/components/schemas/Metadata' },
  },
});

const exchange = {
  is: 'routingKey',
  exchange: { name: 'cards.events', type: 'topic', durable: true, autoDelete: false },
  bindingVersion: '0.3.0',
};

const description = [
  'Every domain event of the service, on the RabbitMQ topic exchange `cards.events`, with the routing key `category.Type` such as `card.CardScheduled`. Bind a queue of your own: `card.*` for everything about cards, `#` for everything. What no queue is bound for is not kept: read earlier events with `GET /operator/v1/events?from={position}`, where they have the same form.',
  'Every event arrives at least once. After a failure events are repeated, and a consumer that takes several messages at a time may get them out of order. Remember the `id` of every event that you have handled, in the same transaction as its effect; or handle events strictly one after the other and store the `position` beside the effect. The greatest position alone loses events. `stream` says what the event is about: `card-HC-…` is that card. Ignore types and fields that you do not know: new ones may come.',
  'Messages are persistent JSON; `messageId` is the `id` and `type` the type of the event. Events hold personal data: this exchange is for services of your own.',
].join('\n\n');

/**
 * The AsyncAPI 3 document of the public event stream: one channel per event type. (architecture.md,
 * Downstream services)
 */
export const asyncApiDocument = (): Node => {
  const events = aggregates.flatMap(({ category, schemas }) =>
    Object.entries(schemas).map(([type, schema]) => ({ category, type, schema })),
  );
  const entries = <T>(
    of: (event: (typeof events)[number]) => readonly [string, T],
  ): Readonly<Record<string, T>> => Object.fromEntries(events.map(of));
  return {
    asyncapi: '3.0.0',
    info: { title: 'Handwritten Card Service: events', version: '1', description },
    defaultContentType: 'application/json',
    channels: entries(({ category, type }) => [
      routingKey(category, type),
      {
        address: routingKey(category, type),
        messages: { [type]: { $ref: `#/components/messages/${type}` } },
        bindings: { amqp: exchange },
      },
    ]),
    operations: entries(({ category, type }) => [
      `publish${type}`,
      { action: 'send', channel: { $ref: `#/channels/${routingKey(category, type)}` } },
    ]),
    components: {
      messages: entries(({ category, type, schema }) => [
        type,
        {
          name: type,
          summary: meanings[type],
          payload: payload(category, type, schema),
          bindings: { amqp: { messageType: type, bindingVersion: '0.3.0' } },
        },
      ]),
      schemas: { Metadata: metadata },
    },
  };
};
