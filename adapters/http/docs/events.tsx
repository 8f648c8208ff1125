import { penReason } from '../../../domain/pen.js';
import { publicEventTypes, type PublicEventType } from '../../../domain/public-events.js';
import { jsonSchemaOf } from '../schema/json-schema.js';
import { eventExample, webhookEvent } from '../schema/outbound.js';
import { Json } from './code.js';
import type { DocsPage } from './page.js';
import { eventsPlace } from './places.js';
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

const exampleOf = (type: PublicEventType): object => {
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
      part(type, type, meanings[type].join(' '), <Json value={exampleOf(type)} />),
    ),
  ],
});
