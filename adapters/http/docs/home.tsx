import { ButtonLink } from '../web/parts.js';
import type { Html } from '../web/prose.js';
import { Call, Excerpt, Json, SendCard } from './code.js';
import { firstResponse } from '../document/first-card.js';
import type { Group } from './groups.js';
import type { Context, DocsPage } from './page.js';
import {
  errorsPlace,
  eventsPlace,
  guideNames,
  guidePlace,
  homePlace,
  operatorPlace,
  recordedPlace,
} from './places.js';
import { part, text, tiles } from './text.js';

const operations = ({ path, routes }: Group): Html => (
  <ul class="operations">
    {routes.map(({ id, summary }) => (
      <li>
        <a href={`${path}#${id}`}>{summary}</a>
      </li>
    ))}
  </ul>
);

const forOperators = part(
  'event-stream',
  operatorPlace.title,
  `The people who run the service have [pages of their own](${operatorPlace.path}): their API, and how services of theirs follow every event on the RabbitMQ exchange \`cards.events\` or over HTTP. [The AsyncAPI document](/asyncapi.json) has the schema of each.`,
);

/** The home page: what the service does, one call, and where everything is. */
export const homePage = ({ baseUrl, customers, operators }: Context): DocsPage => ({
  ...homePlace,
  for: 'customers',
  shape: 'home',
  lead: (
    <div class="hero">
      <div>
        {text(
          'One request sends one card: a pen writes it, it goes into an envelope, and the carrier takes it. You follow it from the first step to the last, and pay one credit.',
          '**New here?** [The quick start](/docs/quick-start) takes a quarter of an hour, on your own machine, where nothing is mailed.',
        )}
        <p class="actions">
          <ButtonLink to="/docs/quick-start" words="Quick start" />
          <ButtonLink to={customers[0]?.path ?? '/docs'} kind="second" words="Reference" />
        </p>
      </div>
      <div>
        <SendCard name="send" baseUrl={baseUrl} idempotencyKey="first-card-1" />
        <Json title="201" value={firstResponse(baseUrl)} />
      </div>
    </div>
  ),
  parts: [
    part('guides', 'Guides', tiles(guideNames.map(guidePlace))),
    part(
      'reference',
      'Reference',
      'The same for machines is [the OpenAPI document](/api/openapi.json), from which generators make [clients in your language](/docs/clients).',
      tiles(customers, operations),
    ),
    part(
      'errors',
      errorsPlace.title,
      `Every error is a code that you can switch on, and a page about it: [all codes](${errorsPlace.path}). [Event types](${eventsPlace.path}) has what webhooks tell.`,
    ),
    ...(operators.length === 0 ? [] : [forOperators]),
  ],
});

export const operatorPage = ({ baseUrl, operators }: Context): DocsPage => ({
  ...operatorPlace,
  for: 'operators',
  shape: 'guide',
  lead: text(
    'These pages are about the operator API, with which organizations, keys, credits and hooks are made and production is reported. Customers need none of it.',
  ),
  parts: [
    part(
      'token',
      'The operator token',
      'Below `/operator/v1` a request needs the operator token, which the service wrote to `operator.token` in its folder for data (`DATA_DIR`), or a key of an operator, `hco_` and 43 characters, whose scopes say what it may do. The command line has a verb for each operation.',
      <Call name="organizations" url={`${baseUrl}/operator/v1/organizations`} credential="OPERATOR_TOKEN" />,
    ),
    part('operations', 'Operations', tiles(operators)),
    part(
      'event-stream',
      'Following every event',
      `Webhooks are for customers. Services of your own can follow every domain event: with \`GET /operator/v1/events?from={position}\`, and on the RabbitMQ topic exchange \`cards.events\` if the service runs with RabbitMQ. Both give the same JSON; [Recorded events](${recordedPlace.path}) lists every type and field.`,
      'The routing key is category and type, such as `card.CardScheduled`. Bind a durable queue of your own; events for which no queue is bound are not kept, but you can read earlier events over HTTP. Every event arrives at least once, and after a failure not always in order: remember the `id` of each event that you have handled, in the same transaction as its effect. The greatest `position` alone would lose events. Ignore types and fields that you do not know.',
      'Messages of the exchange are CloudEvents 1.0 in binary mode (headers `cloudEvents:type` and so on); over HTTP, `format=cloudevents` makes CloudEvents in JSON.',
      <Excerpt language="js" file="consumer.mjs" first="const connection = await" last="});" />,
      '[The AsyncAPI document](/asyncapi.json) is the same for machines.',
    ),
  ],
});
