import type { VNode } from 'preact';
import { z } from 'zod';
import { render } from 'preact-render-to-string';
import { previewCard } from '../../../application/cards/preview.js';
import type { WriteDeps } from '../../../application/writing/execute.js';
import { addressLines, doesNotFit } from '../../../domain/recipient.js';
import { unwrap } from '../../../domain/errors.js';
import { design, previewOf } from './account.js';
import { exampleMessage, exampleRecipient, newCard, readCardFields } from './card-fields.js';
import * as shown from '../schema/shown.js';
import type { JsonObject } from '../schema/read.js';
import { route, type Route } from '../server/route.js';
import { Envelope, Sheet } from '../web/letter.js';

const newPreview = newCard
  .omit({ arrive_on: true, reference: true })
  .partial({ recipient: true })
  .meta({
    id: 'PreviewInput',
    description:
      'A message to be shown. With a `recipient` the whole card is shown: its front and its envelope, too; with a `design_id` alone, its front.',
    examples: [{ recipient: exampleRecipient, message: exampleMessage }],
  });

/** Read as the fields of a card. The design is left out where nothing asks for it. */
const readPreview = (sent: JsonObject) => {
  const { recipient, message, handwriting, designId } = readCardFields(sent);
  const shown = {
    recipient: (sent['recipient'] ?? null) === null ? null : unwrap(recipient),
    message: unwrap(message),
    handwriting: unwrap(handwriting),
  };
  const wanted = unwrap(designId);
  return { ...shown, ...((shown.recipient !== null || wanted !== null) && { designId: wanted }) };
};

const preview = shown.component('Preview', 'A card as it would look.', {
  object: shown.objectKind('preview'),
  handwriting: shown.text('The name of the handwriting; the house hand if none was sent.', 'Everyday'),
  fits: shown.boolean('False if the card would be held because the message or the address does not fit.'),
  lines: shown.texts('The message as it is broken into lines.', 'Thank you for everything, Ada.'),
  size_pt: shown.number('The size of the writing in points: the largest in which the message fits.', 14),
  not_drawn: shown.texts('Characters that the typeface of the preview lacks. The pen may well write them.'),
  svg: shown.text(
    'An SVG image of the inside of the card, with a typeface that resembles the handwriting where it is installed.',
    '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
  ),
  design: design
    .pick({ id: true, name: true, collection_slug: true, preview_url: true })
    .optional()
    .describe(
      'The front of the card; absent unless a `recipient` or a `design_id` was sent. The `id` is that of the saved design, or `card:<slug>` of a card of which the first send makes a copy.',
    ),
  envelope: z
    .object({
      lines: shown.texts(
        'The address as it is written.',
        'Ada Lovelace',
        '12 Analytical Way',
        'Springfield IL 62701',
      ),
      svg: shown.text('An SVG image of the envelope.', '<svg xmlns="http://www.w3.org/2000/svg"></svg>'),
    })
    .optional()
    .describe('The envelope of the card; absent unless a `recipient` was sent.'),
});

/** Of a drawing as XML, in which no text may have the end of a CDATA section. */
const svgOf = (drawing: VNode): string => render(drawing).replaceAll(']]>', ']]&gt;');

/** Any valid key may call these. */
export const previewRoutes = (
  deps: Pick<WriteDeps, 'streams'> & { readonly baseUrl: () => string },
): readonly Route[] => [
  route('POST /api/v1/previews', {
    id: 'previewLetter',
    summary: 'See a card as it would look',
    access: { kind: 'key', scope: null },
    rehearses: true,
    body: { schema: newPreview, read: readPreview },
    description: 'Lays a message out on the card. Nothing is sent, spent or kept.',
    tags: ['cards'],
    answers: { 200: ['The card.', preview] },
    handle: async ({ caller: { org } }, { recipient, message, handwriting, designId }) => {
      const { hand, layout, design } = await previewCard(deps, org, message, handwriting, designId);
      const lines = recipient === null ? null : addressLines(recipient);
      return {
        body: {
          object: 'preview',
          handwriting: hand,
          fits: layout.fits && (recipient === null || doesNotFit(recipient) === null),
          lines: layout.lines,
          size_pt: layout.size,
          not_drawn: layout.unknown,
          svg: svgOf(Sheet({ hand, layout })),
          ...(design !== null && {
            design: {
              id: design.isNew ? `card:${design.slug}` : design.id,
              name: design.name,
              collection_slug: design.slug,
              preview_url: previewOf(deps, design.artwork),
            },
          }),
          ...(lines !== null && { envelope: { lines, svg: svgOf(Envelope({ hand, lines })) } }),
        },
      };
    },
  }),
];
