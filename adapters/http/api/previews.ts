import { z } from 'zod';
import { render } from 'preact-render-to-string';
import { previewLetter } from '../../../application/cards/preview.js';
import type { WriteDeps } from '../../../application/writing/execute.js';
import { newCard } from './card-fields.js';
import { objectKind, shownNumber, shownText } from '../schema/shown.js';
import { whole } from '../schema/read.js';
import { route, type Route } from '../server/route.js';
import { Sheet } from '../web/letter.js';

const newPreview = newCard
  .pick({ message: true, handwriting: true })
  .meta({ id: 'PreviewInput', description: 'A message to be shown.' });

const preview = z
  .object({
    object: objectKind('preview'),
    handwriting: shownText('The name of the handwriting; the house hand if none was sent.', 'Everyday'),
    fits: z.boolean().describe('False if the card would be held, because the message takes too many lines.'),
    lines: z.array(z.string()).meta({
      description: 'The message as it is broken into lines.',
      examples: [['Thank you for everything, Ada.']],
    }),
    size_pt: shownNumber('The size of the writing in points: the largest in which the message fits.', 14),
    not_drawn: z.array(z.string()).meta({
      description: 'Characters that the typeface of the preview lacks. The pen may well write them.',
      examples: [[]],
    }),
    svg: shownText(
      'An SVG image of the inside of the card, with a typeface that resembles the handwriting where it is installed.',
      '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
    ),
  })
  .meta({ id: 'Preview', description: 'A message as it would be written.' });

/** Any valid key may call these. */
export const previewRoutes = (deps: Pick<WriteDeps, 'streams'>): readonly Route[] => [
  route('POST /api/v1/previews', {
    id: 'previewLetter',
    summary: 'See a message as it would be written',
    access: { kind: 'key', scope: null },
    rehearses: true,
    body: whole(newPreview),
    description: 'Lays a message out on the card. Nothing is sent, spent or kept.',
    tags: ['cards'],
    responses: { 200: { description: 'The message on the card.', schema: preview } },
    errors: ['missing_message', 'message_too_long', 'broken_merge_field', 'unknown_handwriting'],
    handle: async ({ caller }, { message, handwriting }) => {
      const { hand, ...layout } = await previewLetter(deps, caller.org, message, handwriting);
      const { fits, lines, size, unknown } = layout;
      const svg = render(Sheet({ hand, layout }));
      return {
        status: 200,
        body: { object: 'preview', handwriting: hand, fits, lines, size_pt: size, not_drawn: unknown, svg },
      };
    },
  }),
];
