import { z } from 'zod';
import { account } from '../../../domain/account.js';
import { apiKey } from '../../../domain/api-key.js';
import { card } from '../../../domain/card.js';
import { collectionCard, handwriting } from '../../../domain/catalogue.js';
import { audit } from '../../../domain/audit.js';
import { purchase } from '../../../domain/purchase.js';
import { contact } from '../../../domain/contact.js';
import { ledger } from '../../../domain/credits.js';
import { doNotMail } from '../../../domain/do-not-mail.js';
import { Actor } from '../../../domain/events.js';
import { hook } from '../../../domain/hook.js';
import type { Category } from '../../../domain/ids.js';
import { members } from '../../../domain/members.js';
import { organization } from '../../../domain/organization.js';
import { webhookEndpoints } from '../../../domain/webhook-endpoints.js';
import { withMeanings } from './event-fields.js';

type Node = Readonly<Record<string, unknown>>;

interface PublishedAggregate {
  readonly category: Category;
  readonly schemas: Readonly<Record<string, z.ZodObject>>;
}

const aggregates: readonly PublishedAggregate[] = [
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
  purchase,
  audit,
  account,
  members,
];

export const eventTypes: readonly string[] = aggregates.flatMap(({ schemas }) => Object.keys(schemas));

/** The meaning of each event, in a sentence. */
const meanings: Readonly<Record<string, string>> = {
  CardScheduled: 'A card was accepted and paid for.',
  CardHeld:
    'A card waits for a person. With an order, it is the first event of a card, for which nothing was charged; without one, a scheduled card was held and its credit comes back.',
  CardReleased: 'A held card was released and paid for.',
  CardQueued: 'A card was queued for production.',
  StepStarted: 'A production step was started.',
  StepCompleted: 'A production step was completed.',
  StepFailed: 'A production step failed. It can be started again.',
  CardCancelled: 'A card was cancelled before production.',
  CardFailed: 'A card failed in production and will not be mailed.',
  CardErased: 'The personal data of a card was erased: erase what you keep of it, too.',
  CardAbandoned: 'A send that was interrupted was closed: there is no card, and its credit comes back.',
  ReleaseAbandoned:
    'A release that was interrupted was closed: the card stays held, and its credit comes back.',
  CreditsPurchased: 'Credits were added.',
  CreditsWithdrawn: 'Credits were taken back.',
  PurchaseOrdered: 'A purchase of credits was ordered under a reference, which buys once.',
  HeadGivenUp:
    'An older copy of the log was put back: the head that was signed last is given up, and with it what came after the copy.',
  KeysLost:
    "Keys of personal data were lost and given up: events up to that time can't be read, though nothing erased them.",
  AuditExported: 'Events were exported, with proofs that a third party can verify.',
  CreditSpent: 'A card was paid for.',
  CreditReturned: 'A credit came back.',
  OperatorKeyIssued: 'An operator got a key.',
  ContactCreated: 'A contact was created.',
  ContactReplaced: 'Every field of a contact was replaced.',
  ContactErased: 'The details of a contact were erased: erase what you keep of them, too.',
  ContactDeleted: 'A contact was deleted: delete what you keep of it, too.',
  OrganizationCreated: 'An organization was created.',
  OrganizationRenamed: 'An organization got another name.',
  OrganizationSuspended:
    'An organization was suspended: its keys and hooks are refused, and its webhooks wait.',
  OrganizationReinstated: 'The suspension of an organization ended.',
  HouseHandChosen: 'An organization chose another house hand.',
  DesignSaved: 'An organization saved a design.',
  DesignRenamed: 'A saved design got another name.',
  DesignArchived: 'A saved design was archived.',
  DesignErased: 'The picture of a design was erased, and the design archived.',
  DesignWithdrawn: 'The house took a design out of use.',
  WithdrawalCarriedOut: 'The cards of a withdrawn or erased design that were not in production are held.',
  DesignReinstated: 'The house put a withdrawn design back into use.',
  ApiKeyIssued: 'An API key was created.',
  ApiKeyRevoked: 'An API key was revoked.',
  DoNotMailAdded: 'An e-mail address was added to the do-not-mail list.',
  DoNotMailRemoved:
    'An e-mail address was removed from the do-not-mail list: erase what you keep of it, too.',
  HookCreated: 'An inbound hook was created.',
  HookChanged: 'Settings of an inbound hook were changed; these are all of them.',
  HookPaused: 'An inbound hook was paused.',
  HookResumed: 'An inbound hook was resumed.',
  HookDeleted: 'An inbound hook was deleted.',
  EndpointRegistered: 'A webhook endpoint was registered.',
  EndpointDisabled: 'A webhook endpoint was disabled after too many failures in a row.',
  EndpointChanged: 'The subscription or the description of a webhook endpoint was changed.',
  EndpointEnabled: 'A webhook endpoint was enabled again.',
  EndpointDeleted: 'A webhook endpoint was deleted.',
  SecretRotated: 'A webhook endpoint got a new signing secret.',
  CollectionCardPublished: 'A card of the public collection was published, or got another title or picture.',
  CollectionCardWithdrawn: 'A card of the public collection was withdrawn.',
  HandwritingOffered: 'A handwriting was put on offer.',
  HandwritingWithdrawn: 'A handwriting was withdrawn.',
  AccountOpened: 'A person got an account to sign in with.',
  OrganizationJoined: 'An account became a member of an organization.',
  PasswordChanged: 'The password of an account was changed.',
  SignedOutEverywhere: 'Every session of an account was ended.',
  MemberInvited: 'A person was invited into an organization, or invited again.',
  InvitationAccepted: 'An invitation was accepted.',
  RoleChanged: 'A member got another role.',
  MemberRemoved: 'A member was removed, or an invitation withdrawn.',
};

/**
 * The data of an event as it is stored. The schema is open: consumers must ignore fields that they don't
 * know.
 */
const dataSchema = (schema: z.ZodObject): Node => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' });
  return rest;
};

const typed =
  (facts: Node) =>
  (description: string): Node => ({ ...facts, description });
const text = typed({ type: 'string' });
const textOrNull = typed({ type: ['string', 'null'] });
const instant = typed({ type: 'string', format: 'date-time' });
const counter = typed({ type: 'string', pattern: '^[0-9]+$' });
const number = typed({ type: 'integer' });

/** An object, of whose fields some may be absent. */
const object = (properties: Node, ...optional: readonly string[]): Node => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

const metadata = object(
  {
    org: textOrNull('The organization to which the event belongs; null for the catalogue.'),
    actor: { ...withMeanings(dataSchema(Actor), ['actor']), description: 'Who caused the event.' },
    requestId: textOrNull('The `x-request-id` of the call that caused the event; null if there was none.'),
    traceparent: text(
      'The place of that call in a trace (W3C Trace Context): as its client sent it, or begun here. Absent if there was no call, and in what an import does.',
    ),
    correlationId: text(
      'The same in all events that one call caused: its `x-request-id`, or else the command.',
    ),
    causationId: text('The command that recorded the event.'),
    schemaVersion: number('The version of the schema of `data`.'),
    occurredAt: instant('When the event occurred, by the clock of the service.'),
    subject: textOrNull('Whose personal data `data.personal` holds.'),
    keyId: textOrNull('The key that the personal data is sealed with in the log. Readers get it opened.'),
    chain: number('The version of the hash chain.'),
    personal: {
      type: ['object', 'null'],
      required: ['digest'],
      properties: {
        digest: text('Hex SHA-256 of the stored text.'),
      },
      description: 'Takes the place of personal data in the hash.',
    },
    hash: text('Chains the event to the one before it in its stream. (SHA-256)'),
    mac: text('Proves to a holder of the event key that the service wrote the event.'),
  },
  'traceparent',
  'chain',
  'mac',
);

/** On the exchange. (CloudEvents 1.0, AMQP binding) */
const cloudEventHeaders: Node = {
  type: 'object',
  description:
    'On RabbitMQ alone: the message is a CloudEvent in binary mode. Over HTTP, `format=cloudevents` makes CloudEvents in JSON.',
  properties: {
    'cloudEvents:specversion': text('Always `1.0`.'),
    'cloudEvents:id': text('The id of the event.'),
    'cloudEvents:source': text('The log: `urn:uuid:` and its id.'),
    'cloudEvents:type': text('The routing key, such as `card.CardScheduled`.'),
    'cloudEvents:subject': text('The stream of the event.'),
    'cloudEvents:time': instant('When the event occurred.'),
  },
};

/** The routing key of an event type, which is also the name of its channel. */
const routingKey = (category: Category, type: string): string => `${category}.${type}`;

const payload = (category: Category, type: string, schema: z.ZodObject): Node =>
  object({
    log: textOrNull('The id of the log. If it changes, your positions belong to another log: begin again.'),
    position: counter(
      'The place in the log of all streams: an integer of up to 64 bits. Later events have greater positions.',
    ),
    stream: { type: 'string', pattern: `^${category}-`, description: 'The stream of the event.' },
    revision: counter('The place in the stream, from 0.'),
    id: { type: 'string', format: 'uuid', description: 'The same however often the event is delivered.' },
    type: { const: type, description: 'The type of the event.' },
    at: instant('When the event occurred.'),
    data: { ...withMeanings(dataSchema(schema), [type]), description: 'What happened.' },
    metadata: { $ref: '#/components/schemas/Metadata' },
  });

const exchange = {
  is: 'routingKey',
  exchange: { name: 'cards.events', type: 'topic', durable: true, autoDelete: false },
  bindingVersion: '0.3.0',
};

const description = [
  'Every domain event of the service, on the RabbitMQ topic exchange `cards.events`, with the routing key `category.Type` such as `card.CardScheduled`. Bind a queue of your own: `card.*` for everything about cards, `#` for everything. Events for which no queue is bound are not kept: read earlier events with `GET /operator/v1/events?from={position}`, where they have the same form.',
  'Every event arrives at least once. After a failure events are repeated, and a consumer that takes several messages at a time may get them out of order. Remember the `id` of every event that you have handled, in the same transaction as its effect; or handle events strictly one after the other and store the `position` beside the effect. The greatest position alone loses events. `stream` says what the event is about: `card-HC-…` is that card. Ignore types and fields that you do not know: new ones may come.',
  'Messages are persistent JSON; `messageId` is the `id` and `type` the type of the event. Events hold personal data: this exchange is for services of your own.',
].join('\n\n');

/** Where the events are. The HTTP one answers at the address at which this document is read. */
const serversAt = (baseUrl: string): Node => {
  const { protocol, host, pathname } = new URL(baseUrl);
  return {
    rabbitmq: {
      host: '{host}',
      protocol: 'amqp',
      title: 'RabbitMQ',
      description: 'The server that the setting `RABBITMQ_URL` of the service names.',
      variables: {
        host: {
          description: 'The name of the server, and its port.',
          default: 'localhost:5672',
          examples: ['rabbitmq.internal:5672'],
        },
      },
      security: [{ $ref: '#/components/securitySchemes/rabbitmqUser' }],
    },
    http: {
      host,
      protocol: protocol.slice(0, -1),
      ...(pathname === '/' ? {} : { pathname }),
      title: 'The operator API',
      description:
        'The listener of the operator API: the public one, unless the operator has a listener of their own.',
      security: [{ $ref: '#/components/securitySchemes/operatorToken' }],
    },
  };
};

const securitySchemes: Node = {
  rabbitmqUser: {
    type: 'userPassword',
    description: 'A user of RabbitMQ who may bind a queue to the exchange and read it.',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The operator token, or the key of an operator with the scope `operator:events`.',
  },
};

/** The channel of the log over HTTP. */
const feed = 'log';

const feedQuery: Node = {
  type: 'object',
  properties: {
    from: {
      type: 'string',
      pattern: '^[0-9]+$',
      description: 'Events after this position. Omit it to start at the beginning.',
      examples: ['1042'],
    },
  },
};

/**
 * The AsyncAPI 3 document of the public event stream: one channel per event type, and one for all of them
 * over HTTP. (docs/architecture.md#following-the-events)
 */
export const asyncApiDocument = (baseUrl: string): Node => {
  const events = aggregates.flatMap(({ category, schemas }) =>
    Object.entries(schemas).map(([type, schema]) => ({ category, type, schema })),
  );
  const entries = <T>(
    of: (event: (typeof events)[number]) => readonly [string, T],
  ): Readonly<Record<string, T>> => Object.fromEntries(events.map(of));
  return {
    asyncapi: '3.1.0',
    info: {
      title: 'Handwritten Card Service: events',
      version: '1',
      description,
      contact: { name: 'The people who run this service', url: `${baseUrl}/docs` },
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
      tags: [{ name: 'events', description: 'What happened, for services of your own.' }],
    },
    servers: serversAt(baseUrl),
    defaultContentType: 'application/json',
    channels: {
      ...entries(({ category, type }) => [
        routingKey(category, type),
        {
          address: routingKey(category, type),
          title: type,
          description: meanings[type],
          servers: [{ $ref: '#/servers/rabbitmq' }],
          messages: { [type]: { $ref: `#/components/messages/${type}` } },
          bindings: { amqp: exchange },
        },
      ]),
      [feed]: {
        address: '/operator/v1/events',
        title: 'The log over HTTP',
        description:
          'All events in the order of the log, as server-sent events: each with its position as its id, its type, and the same JSON. `Last-Event-ID` goes on after a break.',
        servers: [{ $ref: '#/servers/http' }],
        messages: entries(({ type }) => [type, { $ref: `#/components/messages/${type}` }]),
      },
    },
    operations: {
      ...entries(({ category, type }) => [
        `publish${type}`,
        {
          action: 'send',
          channel: { $ref: `#/channels/${routingKey(category, type)}` },
          summary: `Publish ${type}`,
          description: meanings[type],
        },
      ]),
      followEvents: {
        action: 'send',
        channel: { $ref: `#/channels/${feed}` },
        summary: 'Follow the log over HTTP',
        description:
          'Sends the events after a position, and then each as it happens, until the client leaves. `/operator/openapi.json` describes the request.',
        bindings: { http: { method: 'GET', query: feedQuery, bindingVersion: '0.3.0' } },
      },
    },
    components: {
      messages: entries(({ category, type, schema }) => [
        type,
        {
          name: type,
          title: type,
          summary: meanings[type],
          headers: { $ref: '#/components/schemas/CloudEventHeaders' },
          payload: payload(category, type, schema),
          bindings: { amqp: { messageType: type, bindingVersion: '0.3.0' } },
        },
      ]),
      schemas: { Metadata: metadata, CloudEventHeaders: cloudEventHeaders },
      securitySchemes,
    },
  };
};
