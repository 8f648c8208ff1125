import { asyncApiDocument } from '../document/asyncapi.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import type { JsonSchema } from '../schema/json-schema.js';
import { exampleOf } from '../document/samples.js';
import { Json } from './code.js';
import type { DocsPage, Part } from './page.js';
import { recordedPlace } from './places.js';
import { Fields, fieldsOf } from './schema-fields.js';
import { text } from './text.js';

interface Recorded {
  readonly type: string;
  readonly summary: string;
  readonly payload: JsonSchema;
}

const inside = (node: unknown, ...names: readonly string[]): unknown =>
  names.reduce((at: unknown, name) => (isPlainObject(at) ? at[name] : undefined), node);

interface Message {
  readonly summary: string;
  readonly payload: JsonSchema;
}

const recordedIn = (document: unknown): readonly Recorded[] =>
  Object.entries(inside(document, 'components', 'messages') as Readonly<Record<string, Message>>).map(
    ([type, { summary, payload }]) => ({ type, summary, payload }),
  );

const partOf = ({ type, summary, payload }: Recorded): Part => {
  const data = payload.properties?.['data'] ?? {};
  const fields = fieldsOf(data);
  return {
    id: type,
    title: type,
    words: summary,
    body: (
      <>
        {text(summary)}
        {fields.length === 0 ? (
          text('It has no fields of its own.')
        ) : (
          <details>
            <summary>
              Fields and an example<span class="hidden"> of {type}</span>
            </summary>
            <Fields fields={fields} are="returned" />
            <Json value={exampleOf(data)} />
          </details>
        )}
      </>
    ),
  };
};

/** Every domain event, as the AsyncAPI document has it. */
export const recordedPage = (baseUrl: string): DocsPage => {
  const document = asyncApiDocument(baseUrl);
  const events = recordedIn(document);
  const [first] = events;
  const envelope = Object.entries(first?.payload.properties ?? {}).filter(
    ([name]) => !['data', 'metadata'].includes(name),
  );
  const metadata = {
    ...(inside(document, 'components', 'schemas', 'Metadata') as JsonSchema),
    description: 'Who caused the event, what it belongs to, and what proves it.',
  };
  return {
    ...recordedPlace,
    for: 'operators',
    shape: 'guide',
    lead: text('[How to follow them](/docs/operator#event-stream) stands on a page of its own.'),
    parts: [
      {
        id: 'envelope',
        title: 'Fields of every event',
        body: (
          <Fields
            fields={[
              ...envelope
                .filter(([name]) => name !== 'type')
                .map(([name, schema]) => ({ name, schema, required: true })),
              ...fieldsOf({ properties: { metadata } }),
            ]}
            are="returned"
          />
        ),
      },
      ...events.map(partOf),
    ],
  };
};
