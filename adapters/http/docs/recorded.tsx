import { asyncApiDocument } from '../document/asyncapi.js';
import type { JsonSchema } from '../schema/json-schema.js';
import { exampleOf } from '../document/samples.js';
import { Json } from './code.js';
import type { DocsPage, Part } from './page.js';
import { recordedPlace } from './places.js';
import { Fields, fieldsOf } from './schema-fields.js';
import { part, text } from './text.js';

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
