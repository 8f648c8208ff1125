import { ButtonLink } from '../web/parts.js';
import type { Html } from '../web/prose.js';
import { Json, SendCard } from './code.js';
import { firstResponse } from '../document/first-card.js';
import type { Group } from './groups.js';
import type { Context, DocsPage } from './page.js';
import { errorsPlace, eventsPlace, guideNames, guidePlace, homePlace, operatorPlace } from './places.js';
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
