import { isPlainObject } from '../../../domain/plain-object.js';

type Node = Readonly<Record<string, unknown>>;

/** A description, null where the field's name is enough, and an example. */
type Words = readonly [description: string | null, example?: unknown];

const uuid = '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91';
const org = '9b2d6c3a-51f4-4f0e-8c8a-2f7d3e1b0a64';
const code = 'HC-7K3M9QX';
const time = '2026-03-02T15:04:05.678+00:00';
const delivery = 'dlv_8e1c7a52b0d94f6c9a3b5d7f1e2c4a60';
const event = 'evt_2c5d4f6a8b1e4d0f9a7c3b5e6d8f0a12';
const request = 'req_01JNBSW5A4Q7M2';
const secret = 'whsec_5dH2qk0v8mQ4xW7sYt1oRz3uLb6nEc9jFa2gKi5pTd0=';
const hookToken = '0pR7sT2uVx5yZa8bCd1eFg4hIj7kLm0nOp3qRs6tUvA';
const orderPage = `https://cards.example/cards/${code}`;

/**
 * Meanings and examples of the schemas and fields of requests and responses, by the end of their path: the
 * longest match counts. A path begins with the name of a schema, or of the operation. The schema's own
 * description wins over this table. (the document says of every field what it means)
 */
const words: Readonly<Record<string, Words>> = {
  // Schemas
  Account: ['The key of a request, and whose it is.'],
  Actor: ['Who did it.'],
  AllCardsRow: ['A card in the list of all organizations.'],
  ArrivalWindow: [null],
  CancelledCard: ['A card that was cancelled.'],
  Card: ['A card.'],
  CardRow: ['A card in a list.'],
  CollectionCard: ['A card of the public collection, whose front can be chosen as a design.'],
  Contact: ['A contact of the address book.'],
  ContactRecord: ['A complete contact: what is left out is empty afterwards.'],
  CreditBalance: ['The credits that are left.'],
  CreditMovement: ['A movement of the credits of an organization.'],
  Delivery: ['An event on its way to an endpoint, with its attempts.'],
  Design: ['A saved design: the printed front of a card.'],
  Handwriting: ['A handwriting on offer.'],
  Hook: ['An inbound hook.'],
  HookCall: ['A call of an inbound hook.'],
  InboundHook: ['Says that a hook can be called, and with what.'],
  ListedHook: ['An inbound hook in a list.'],
  ListedWebhookEndpoint: ['A webhook endpoint, with how its deliveries fare.'],
  NewCard: ['A card to be sent.'],
  NewHook: ['A hook to be made.'],
  NewPreview: ['A message to be shown.'],
  NewRecipient: ['To whom the card is mailed: one address in the US.'],
  NewWebhookEndpoint: ['An endpoint to be registered.'],
  OperatorsCard: ['A card, as operators see it.'],
  OperatorsCardRow: ['A card in a list of operators.'],
  Preview: ['A message as it would be written.'],
  Reconciliation: ['The credits of an organization, added up.'],
  Request: ['A request that was answered, and what it wrote.'],
  SentCard: ['A card that was accepted.'],
  WebhookEndpoint: ['A webhook endpoint.'],
  WebhookEndpointChange: ['What changes of an endpoint; what is left out stays.'],
  WebhookEndpointThen: ['A webhook endpoint as it was.'],
  WebhookEvent: ['What happened to a card.'],

  // Lists
  object: ['The kind of this object.'],
  has_more: [null, false],
  next_cursor: [null, null],
  data: ['The rows of this page.'],
  limit: [null, 20],
  starting_after: ['The `next_cursor` of the page before.', uuid],
  'listCards.starting_after': [null, code],
  'listAllCards.starting_after': [null, code],
  'listEvents.starting_after': [null, event],
  'listCreditMovements.starting_after': [null, '3'],
  'listMovements.starting_after': [null, '3'],
  'listCollection.starting_after': [null, 'card:thank-you-botanical'],
  'listWholeCollection.starting_after': [null, 'thank-you-botanical'],
  'listAllHandwritings.starting_after': [null, 'Everyday'],
  'listOwnDeliveries.starting_after': [null, delivery],
  'listDeliveries.starting_after': [null, delivery],
  'listOrganizations.name': ['Part of the name of the organization.', 'Acme'],
  as_of: ['The last event that the response is made of.'],
  'as_of.position': [null, '1042'],
  'as_of.revision': ['Its place in its stream, from 0.', '3'],

  // Cards
  card: ['The code of the card.', code],
  card_code: ['The code of the card.', code],
  earliest: ['The first day on which the card may arrive.', '2030-06-10'],
  latest: ['The last day on which the card should arrive.', '2030-06-14'],
  held_reason: ['Why the card needs a person; null unless it is held.', null],
  recipient: ['To whom the card is mailed.'],
  reference: ['What the sender calls it; null if there is none.', 'order-1001'],
  url: ['Its address.', orderPage],
  'SentCard.note': [
    null,
    'The card is scheduled and one credit was spent. It can be cancelled until a machine starts on it.',
  ],
  'CancelledCard.note': ['What happened, for people.', 'The card is cancelled and its credit was returned.'],
  'CancelledCard.status': ['Always `cancelled`.'],
  cancelled: ['Always true.'],
  credits_refunded: [null, 1],
  status: ['Where it is.'],
  'Card.status': ['Where the card is.'],
  'CardRow.status': ['Where the card is.'],
  'OperatorsCard.status': ['Where the card is.'],
  'OperatorsCardRow.status': ['Where the card is.'],
  handwriting: ['The name of the handwriting.', 'Everyday'],
  step: ['The step of production.'],
  'steps.status': ['How far the step is.'],
  'reportStep.status': ['What happened to the step.'],
  machine: ['The machine that does the step.', 'pen-3'],
  message: ['The message, as the pen writes it; null once it was erased.', 'Thank you for everything, Ada.'],
  design_id: ['The design of the card, as it is sent.', 'card:thank-you-botanical'],
  'OperatorsCard.design_id': ['The design of the card.', uuid],
  source: ['Through what the card was sent.'],
  organization: ['The organization, by its id.', org],
  reason: ['The reason that was given; null if there was none.', 'The address needs a look.'],

  // People and addresses
  name: ['The name.', 'Ada Lovelace'],
  line1: ['The first line of the street address.', '12 Analytical Way'],
  line2: ['The second line of the street address.', 'Apt 4'],
  city: ['The city.', 'Springfield'],
  state: ['The state, as two letters.', 'IL'],
  zip: ['The postal code.', '62701'],
  country: ['The country: cards are mailed inside the US only.', 'US'],
  address1: [null, '12 Analytical Way'],
  address2: [null, 'Apt 4'],
  postal_code: [null, '62701'],
  first_name: ['The first name.', 'Ada'],
  last_name: ['The last name.', 'Lovelace'],
  company: ['Where the contact works.', 'Analytical Engines'],
  job_title: ['What the contact does there.', 'Mathematician'],
  email: ['The e-mail address.', 'ada@example.com'],
  phone: ['The telephone number. It is stored and never used.', '+1 217 555 0100'],
  external_id: ['What you call the contact.', 'crm-1001'],
  address: ['The postal address.'],
  birthday: [null, '12-10'],
  work_anniversary: ['The day on which the contact began to work there; the year counts.', '2020-02-29'],

  // Account
  'Account.organization': ['The organization to which the key belongs.'],
  'Account.organization.id': ['The id of the organization.', org],
  'Account.organization.name': ['The name of the organization.', 'Acme'],
  label: ['What it is called; null if it has no label.', 'Shop'],
  scopes: ['What the key may do.'],
  balance: ['The credits that are left.', 41],
  change: [null, -1],
  kind: ['What kind it is.'],
  'CreditMovement.kind': ['What kind of movement it is.'],
  'CreditMovement.reason': ['The reason that was given; else null.', 'refund'],
  'CreditMovement.reference': [
    'What the buyer calls the purchase, such as the number of an invoice; null if there is none.',
    'invoice-2026-03',
  ],
  actor: ['Who did it.'],
  'actor.kind': ['The kind of actor.', 'key'],
  'actor.id': ['The key, the hook, the account or the operator; null if it is not told.', uuid],
  'actor.label': [null, 'Shop'],
  last_movement: ['The newest movement; null if there is none.'],
  revision: ['Its place in its stream, from 0.', '3'],
  'Design.name': ['The name of the design.', 'Thank you'],
  collection_slug: [
    'The card of the public collection of which the design is a copy.',
    'thank-you-botanical',
  ],
  'CollectionCard.url': [null, 'https://cards.example/collection/thank-you-botanical'],
  title: ['The title of the card.', 'Thank you, botanical'],
  slug: ['The name of the card in the collection.', 'thank-you-botanical'],
  'Handwriting.name': [null, 'Everyday'],
  'Handwriting.house_hand': [null, true],
  house_hand: [
    'The handwriting of cards for which none is chosen; null for the one of the service.',
    'Everyday',
  ],
  size_pt: [null, 14],
  lines: [null, ['Thank you for everything, Ada.']],
  not_drawn: [null, []],
  svg: [null, '<svg xmlns="http://www.w3.org/2000/svg"></svg>'],

  // Hooks
  token: ['The token of the hook, which is its credential.', hookToken],
  'InboundHook.ready': ['Always true.'],
  'InboundHook.message': [
    'What to do next, for people.',
    'Ready. POST a recipient and a message as JSON to this URL.',
  ],
  'InboundHook.example': ['An address that may be sent.'],
  template: [
    'The message for payloads without one; null if each payload brings its own.',
    'Thank you for your order, {{name}}!',
  ],
  signed_by: ['The value of the variable {{sender_name}}.', 'The team at Acme'],
  fire_count: ['How many cards the hook has sent.', 12],
  paused: ['True if the hook is paused: calls are refused.', false],
  'Hook.url': [null, `https://cards.example/api/v1/hooks/${hookToken}`],
  'createHook.url': [
    'The address to which forms and shops post.',
    `https://cards.example/api/v1/hooks/${hookToken}`,
  ],
  'createHook.token': ['The token in the address. It is shown only this once.', hookToken],
  'HookCall.status': ['The status of the response; 0 if the outcome was unknown.', 201],
  'HookCall.code': ['The code of the error; null if there was none.', null],
  'HookCall.card': ['The code of the card that was made; null if there is none.', code],
  request_id: ['The `x-request-id` of the request.', request],

  // Webhooks
  'ListedWebhookEndpoint.url': [null, 'https://shop.example/webhooks/cards'],
  'WebhookEndpoint.events': [null, ['card.created', 'card.mailed']],
  'ListedWebhookEndpoint.events': [null, ['card.created', 'card.mailed']],
  'WebhookEndpointThen.events': [null, ['card.created', 'card.mailed']],
  'WebhookEndpoint.url': [null, 'https://shop.example/webhooks/cards'],
  'WebhookEndpointThen.url': [null, 'https://shop.example/webhooks/cards'],
  signing_secret: ['The new signing secret. Keep it: it is shown only this once.', secret],
  'WebhookEndpoint.signing_secret': [null, null],
  'ListedWebhookEndpoint.signing_secret': [null, null],
  'WebhookEndpointThen.signing_secret': [null, null],
  description: ['What the owner calls the endpoint; null if it has no description.', 'CRM'],
  failure_count: ['How many attempts have failed.', 0],
  consecutive_failures: ['How many attempts have failed since the last that succeeded.', 0],
  disabled_reason: [null, null],
  deleted: ['Always true.'],
  'Delivery.id': [null, delivery],
  'getOwnDelivery.id': ['The id of the delivery.', delivery],
  'getDelivery.id': ['The id of the delivery.', delivery],
  'retryOwnDelivery.id': ['The id of the delivery.', delivery],
  'retryDelivery.id': ['The id of the delivery.', delivery],
  event: ['The id of the event.', event],
  type: ['The type of the event.', 'card.created'],
  endpoint: ['The id of the endpoint.', uuid],
  attempts: ['What was tried, oldest first.'],
  http_status: ['The status of the response; null if there was none.', 204],
  error: ['Why there was no response, in plain words; null if there was one.', null],
  duration_ms: ['How long the attempt took, in milliseconds.', 87],
  body: [null, ''],
  drop_reason: [null, null],
  from: ['Where it begins: a position of the log or an ISO 8601 time.', '2026-03-02T00:00:00Z'],
  to: ['Where it ends: a position of the log or an ISO 8601 time.', '2026-03-03T00:00:00Z'],
  deliveries: ['How many deliveries are due now.', 3],
  'WebhookEvent.data': ['The card that it is about.'],
  'data.recipient': [null, 'Ada Lovelace'],
  'data.heldReason': [null, null],
  'webhook-timestamp': [null, '1772463845'],

  // Errors
  'Error.error': ['What went wrong.'],
  'error.code': [null, 'invalid_recipient'],
  'error.message': [
    null,
    '`recipient.zip` must be a string such as "62701" (a number loses its leading zeros).',
  ],
  'error.docs': [null, 'https://cards.example/docs/errors/invalid_recipient'],
  'error.param': [null, 'recipient.zip'],
  'error.request_id': [null, request],

  // Health
  'getHealth.status': ['Always `ok`.'],
  'getReadiness.status': ['Whether every part is ready.'],
  parts: ['What must be ready.'],
  'parts.name': ['The engine or the projection.', 'event store'],
  version: ['The version of the service.', '1.0.0'],
  'parts.ready': ['Whether it is ready.', true],
  detail: [null, null],

  // The office
  org: [null, org],
  id: ['Its id.', uuid],
  created_at: ['When it was made.', time],
  suspended: ['True suspends the organization: its keys and hooks are refused. False ends that.', false],
  cards: ['Cards, by their codes.', [code]],
  contacts: ['Contacts, by their ids.', [uuid]],
  'OrganizationList.data.name': ['The name of the organization.', 'Acme'],
  'createOrganization.name': ['The name of the organization.', 'Acme'],
  'getOrganization.name': ['The name of the organization.', 'Acme'],
  'updateOrganization.name': ['The name of the organization.', 'Acme'],
  'cards.pending': ['Cards that wait for their day.', 3],
  'cards.blocked': ['Cards that need a person.', 1],
  'cards.queued': ['Cards that wait for a machine.', 2],
  'cards.in_production': ['Cards that are being made.', 1],
  'cards.written': ['Cards that the pen has finished.', 0],
  'cards.packed': ['Cards that are in their envelope.', 0],
  'cards.posted': ['Cards that the carrier has.', 120],
  'cards.cancelled': ['Cards that were cancelled.', 2],
  'cards.failed': ['Cards that failed in production.', 0],
  amount: ['How many credits.', 100],
  'addCredits.reason': ['Why, in your words.', 'Invoice 2026-03'],
  'addCredits.balance': ['The balance that this purchase leaves.', 141],
  'withdrawCredits.reason': ['Why, in your words.', 'Refund of invoice 2026-03'],
  'withdrawCredits.balance': ['The balance that is left.', 41],
  'createKey.id': ['The id of the key.', uuid],
  'createKey.key': [null, 'hck_0pR7sT2uVx5yZa8bCd1eFg4hIj7kLm0nOp3qRs6tUvA'],
  'createOperatorKey.key': [null, 'hco_0pR7sT2uVx5yZa8bCd1eFg4hIj7kLm0nOp3qRs6tUvA'],
  'createKey.label': ['What the key is called.', 'Shop'],
  'createOperatorKey.label': ['What the key is called.', 'Audit'],
  'revokeKey.id': ['The id of the key.', uuid],
  'revokeOperatorKey.id': ['The id of the key.', uuid],
  revoked: ['Always true.'],
  requests_per_minute: [
    'How many requests it may send in a minute; omit it for the default of the service.',
    120,
  ],
  'saveDesign.name': ['The name of the design.', 'Thank you'],
  'archiveDesign.id': ['The id of the design.', uuid],
  archived: ['Always true.'],
  do_not_mail: ['Whether the address is on the list.'],
  active: ['Whether it is on offer.', true],
  'putHandwriting.name': ['The name of the handwriting.', 'Spidery'],
  'AllHandwritings.data.name': ['The name of the handwriting.', 'Everyday'],
  'deleteHook.id': ['The id of the hook.', uuid],
  'updateHook.id': ['The id of the hook.', uuid],
  'listHookCalls.id': ['The id of the hook.', uuid],
  'Hook.id': ['The id of the hook.', uuid],
  'ListedHook.id': ['The id of the hook.', uuid],
  'HookCall.id': ['The id of the call.', uuid],
  'WebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'ListedWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'WebhookEndpointThen.id': ['The id of the endpoint.', uuid],
  'deleteWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'getWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'updateWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'testOwnWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'enableOwnWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'rotateOwnWebhookSecret.id': ['The id of the endpoint.', uuid],
  'replayOwnEvents.id': ['The id of the endpoint.', uuid],
  'testWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'enableWebhookEndpoint.id': ['The id of the endpoint.', uuid],
  'rotateWebhookSecret.id': ['The id of the endpoint.', uuid],
  'replayEvents.id': ['The id of the endpoint.', uuid],
  'changeRole.id': ['The id of the member.', uuid],
  'removeMember.id': ['The id of the member.', uuid],
  'resetPassword.id': ['The id of the member.', uuid],
  removed: ['Always true.'],
  role: ['What the member may do.'],
  'inviteMember.url': [null, 'https://cards.example/console/join/0pR7sT2uVx5yZa8b'],
  'resetPassword.url': [null, 'https://cards.example/console/reset/0pR7sT2uVx5yZa8b'],
  'makeConsoleLink.url': [null, 'https://cards.example/console/enter/0pR7sT2uVx5yZa8b'],
  'erase.cards': ['The codes of the cards that are erased.', [code]],
  'erase.contacts': ['The ids of the contacts that are erased.', [uuid]],
  'findSubjects.cards': ['Cards to that person, newest first.'],
  'findSubjects.contacts': ['Contacts of that person, newest first.'],
  'findSubjects.cards.id': ['The code of the card.', code],
  'findSubjects.cards.status': ['Where the card is.', 'posted'],
  'findSubjects.contacts.id': ['The id of the contact.', uuid],

  // The log
  position: ['The place in the log.', '1042'],
  stream: ['The stream of the event.', `card-${code}`],
  hash: [
    'The hash that chains the event to the one before it.',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ],
  log: [null, '6b0d3f0e-2a37-4b8c-9d7e-5f1a2c3b4d5e'],
  root: [null, 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I='],
  tree_size: [null, 1043],
  checkpoint: [
    null,
    'cards.example/log\n1043\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n— cards.example/log AAAA\n',
  ],
  'CardHistory.data.id': [null, uuid],
  'CardHistory.data.type': ['The type of the event.', 'CardScheduled'],
  'CardHistory.data.data': ['What happened.', {}],
  types: [null, 'CardScheduled,CardHeld'],
  until: [null, 'head'],
  since: [null, '1042'],
  'followEvents.from': [null, '1042'],
  'rebuildProjection.name': ['The name of the projection, as in `/readyz`.', 'cards'],

  // Requests
  'Request.id': ['The `x-request-id` of the request.', request],
  'Request.method': ['The method.', 'POST'],
  route: [null, '/api/v1/cards'],
  'RequestRow.method': ['The method.', 'GET'],
  'RequestRow.status': [null, 200],
  'RequestRow.code': [null, null],
  'RequestRow.address': [null, '192.0.2.7'],
  'Request.status': [null, 201],
  'Request.code': [null, null],
  ms: ['How long it took, in milliseconds.', 12.5],
  'Request.organization': ['The organization whose key it was; null if there was none.', org],
  'Request.address': [null, '192.0.2.7'],
  idempotency_key: [
    'The keyed hash of the Idempotency-Key, as the event of a card has it in `order.request`; null if no key was sent.',
    'qN5zZ0rXb8n1ZbJ9eQ2gF3tM5xkq7Vt0c4mW8yHs1aE',
  ],
  events: ['The events.'],
  subjects: [null, ['HC-7K3M9QX']],
  wrote: [null, ['1042']],
  'events.type': ['The type of the event.', 'CardScheduled'],

  // Reconciliation
  'Reconciliation.from': [null, null],
  'Reconciliation.to': [null, null],
  opening: [null, 0],
  closing: [null, 41],
  purchased: ['Credits that were added.', 50],
  withdrawn: ['Credits that were taken back.', 5],
  spent: ['Credits that were spent.', 6],
  returned: ['Credits that came back.', 2],
  'Reconciliation.cards': ['What the credits were spent on, and why they came back.'],
  'cards.paid': [null, 6],
  'Reconciliation.cards.cancelled': [null, 1],
  'Reconciliation.cards.failed': [null, 0],
  'cards.held': [null, 1],
  'cards.void': [null, 0],
  purchases: ['Every purchase of the period.'],
  withdrawals: ['Every withdrawal of the period.'],
  'open.kind': ['What is under way.'],
  'open.amount': ['How many credits it is about.', 1],
  subject: ['What it is about: a card, a purchase or a place in the ledger.', code],
  'findings.code': ['What is wrong.'],
  'findings.message': ['What is wrong, in plain words.', 'The balance is 41, and the movements make 40.'],
};

/** The words for the field at a path, the longest end of the path first. */
const wordsAt = (path: readonly string[]): readonly Words[] =>
  path.flatMap((_, at) => {
    const found = words[path.slice(at).join('.')];
    return found === undefined ? [] : [found];
  });

const isNode = (value: unknown): value is Node => isPlainObject(value);

/** Whether a schema shows no value: neither an example, nor all there are, nor fields that do. */
const showsNothing = (schema: Node): boolean => {
  const { anyOf, items } = schema;
  if (['examples', 'const', 'enum', 'default', 'properties', '$ref'].some((name) => name in schema))
    return false;
  if (Array.isArray(anyOf)) return anyOf.every((each) => isNode(each) && showsNothing(each));
  return !isNode(items) || showsNothing(items);
};

/** The keywords below which there are schemas of the same field. */
const nested: ReadonlySet<string> = new Set(['items', 'anyOf']);

/**
 * A JSON Schema with the meaning and an example of each field, unless the schema has its own. The path is the
 * name of the schema or the operation, and of the fields around it.
 */
export const explained = (schema: Node, path: readonly string[]): Node => {
  const found = wordsAt(path);
  const description = found.map(([text]) => text).find((text) => text !== null);
  const example = found.find((each) => each.length > 1);
  return {
    ...withFields(schema, path),
    ...(!('description' in schema) && description !== undefined && { description }),
    ...(example !== undefined && showsNothing(schema) && { examples: [example[1]] }),
  };
};

const withFields = (schema: Node, path: readonly string[]): Node => {
  const inside = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(inside) : isNode(value) ? withFields(value, path) : value;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) =>
      keyword === 'properties' && isNode(value)
        ? [
            keyword,
            Object.fromEntries(
              Object.entries(value).map(([name, field]) => [
                name,
                isNode(field) ? explained(field, [...path, name]) : field,
              ]),
            ),
          ]
        : [keyword, nested.has(keyword) ? inside(value) : value],
    ),
  );
};
