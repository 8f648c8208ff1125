import { z } from 'zod';
import { render } from 'preact-render-to-string';
import { previewLetter } from '../../../application/cards/preview.js';
import type { WriteDeps } from '../../../application/writing/execute.js';
import { newCard } from './card-fields.js';
import { whole } from '../schema/read.js';
import { route, type Route } from '../server/route.js';
import { Sheet } from '../web/letter.js';

const newPreview = newCard.pick({ message: true, handwriting: true }).meta({ id: 'NewPreview' });

const preview = z
  .object({
    object: z.literal('preview'),
    handwriting: z.string().describe('The name of the handwriting; the house hand if none was sent.'),
    fits: z.boolean().describe('False if the card would be held, because the message takes too many lines.'),
    lines: z.array(z.string()).describe('The message as it is broken into lines.'),
    size_pt: z.int().describe('The size of the writing in points: the largest in which the message fits.'),
    not_drawn: z
      .array(z.string())
      .describe('Characters that the typeface of the preview lacks. The pen may well write them.'),
    svg: z
      .string()
      .describe(
        'An SVG image of the inside of the card, with a typeface that resembles the handwriting where it is installed.',
      ),
  })
  .meta({ id: 'Preview' });

/** Any valid key may call these. */
export const previewRoutes = (deps: Pick<WriteDeps, 'streams'>): readonly Route[] => [
  route('POST /api/v1/previews', {
    id: 'previewLetter',
    summary: 'See a message as it would be written',
    access: { kind: 'key', scope: null },
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
