import { Call, Code, excerpt } from './code.js';
import type { Context, DocsPage } from './page.js';
import { operatorPlace, recordedPlace } from './places.js';
import { part, text, tiles } from './text.js';

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
      <Code
        language="js"
        title="examples/consumer.mjs"
        source={excerpt('consumer.mjs', 'const connection = await', '});')}
      />,
      '[The AsyncAPI document](/asyncapi.json) is the same for machines.',
    ),
  ],
});
