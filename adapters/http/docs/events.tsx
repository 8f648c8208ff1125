import { penReason } from '../../../domain/pen.js';
import { publicEventTypes, type PublicEventType } from '../../../domain/public-events.js';
import { asyncApiDocument } from '../document/asyncapi.js';
import { exampleOf } from '../document/samples.js';
import { jsonSchemaOf, type JsonSchema } from '../schema/json-schema.js';
import { eventExample, webhookEvent } from '../schema/outbound.js';
import { Json } from './code.js';
import type { DocsPage, Part } from './page.js';
import { eventsPlace, recordedPlace } from './places.js';
import { Fields, fieldsOf } from './schema-fields.js';
import { grid, part, text } from './text.js';

const meanings: Readonly<Record<PublicEventType, readonly [when: string, of: string]>> = {
  'card.created': [
    'The card was accepted and paid for. Nothing physical exists yet.',
    'Cards sent through the API or a hook.',
  ],
  'card.held': [
    'A person has to look at the card; `heldReason` says why. Nothing is charged.',
    'Cards sent through the API or a hook.',
  ],
  'card.written': ['The pen has finished the card and its envelope.', 'Every card of your organization.'],
  'card.mailed': [
    'The carrier has the card. The last event of a card; delivery is not reported.',
    'Every card of your organization.',
  ],
  'card.cancelled': ['The card was stopped before it was made.', 'Cards cancelled through the API.'],
};

const exampleOfType = (type: PublicEventType): object => {
  const heldReason = type === 'card.held' ? penReason(['🎉'], 'message') : null;
  return { ...eventExample, type, data: { ...eventExample.data, heldReason } };
};

export const eventsPage = (): DocsPage => ({
  ...eventsPlace,
  for: 'customers',
  shape: 'guide',
  lead: text(
    'Every event has the same fields, so that one receiver handles all of them. An endpoint without a subscription gets new types, too: ignore those that you do not know. [Webhooks and signatures](/docs/webhooks) shows how to receive them, [Events and feeds](/docs/feeds) how to ask.',
    grid(
      'Event types',
      ['Type', 'When', 'For'],
      publicEventTypes.map((type) => [`[\`${type}\`](#${type})`, ...meanings[type]]),
    ),
  ),
  parts: [
    part(
      'fields',
      'Fields of every event',
      <Fields fields={fieldsOf(jsonSchemaOf(webhookEvent))} are="returned" />,
    ),
    ...publicEventTypes.map((type) =>
      part(type, type, meanings[type].join(' '), <Json value={exampleOfType(type)} />),
    ),
  ],
});

interface Message {
  readonly summary: string;
  readonly payload: JsonSchema;
}

interface Components {
  readonly messages: Readonly<Record<string, Message>>;
  readonly schemas: { readonly Metadata: JsonSchema };
}

const partOf = ([type, { summary, payload }]: readonly [string, Message]): Part => {
  const data = payload.properties?.['data'] ?? {};
  const fields = fieldsOf(data);
  const details =
    fields.length === 0 ? (
      'It has no fields of its own.'
    ) : (
      <details>
        <summary>
          Fields and an example<span class="hidden"> of {type}</span>
        </summary>
        <Fields fields={fields} are="returned" />
        <Json value={exampleOf(data)} />
      </details>
    );
  return { ...part(type, type, summary, details), words: summary };
};

/** Every domain event, as the AsyncAPI document has it. */
export const recordedPage = (baseUrl: string): DocsPage => {
  const { components } = asyncApiDocument(baseUrl) as { readonly components: Components };
  const messages = Object.entries(components.messages);
  const envelope = Object.entries(messages[0]?.[1].payload.properties ?? {}).filter(
    ([name]) => !['type', 'data', 'metadata'].includes(name),
  );
  const metadata = {
    ...components.schemas.Metadata,
    description: 'Who caused the event, what it belongs to, and what proves it.',
  };
  const fields = [
    ...envelope.map(([name, schema]) => ({ name, schema, required: true })),
    ...fieldsOf({ properties: { metadata } }),
  ];
  return {
    ...recordedPlace,
    for: 'operators',
    shape: 'guide',
    lead: text('[How to follow them](/docs/operator#event-stream) stands on a page of its own.'),
    parts: [
      part('envelope', 'Fields of every event', <Fields fields={fields} are="returned" />),
      ...messages.map(partOf),
    ],
  };
};
