import { collectionCards } from '../../../../projections/catalogue.js';
import { Cover, Panel } from '../../web/parts.js';
import { existing, nothingHere } from '../admit.js';
import { page } from '../page.js';

/** A public page: a card of the collection, and its name for sends. */
export const collectionCardPage = page({
  path: 'collectionCard',
  may: 'anyone',
  load: async ({ deps, params }) => {
    const { document } = existing(await deps.readModels.get(collectionCards, params['slug'] ?? ''));
    if (!document.active) throw nothingHere();
    return document;
  },
  title: ({ title }) => title,
  around: ({ artwork }) => ({
    linked: { description: 'A greeting card, written with a pen.', front: artwork },
  }),
  heading: (_, { url }) => ({ above: ['Collection', url('collection')] }),
  view: ({ slug, title, artwork }, { url, deps }) => (
    <div class="grid">
      <Cover title={title} artwork={artwork} size="preview" />
      <Panel id="send-it" title="Send it">
        <p>
          {deps.hasConsole ? (
            <>
              In the <a href={url('start')}>console</a> it is among the designs.{' '}
            </>
          ) : null}
          Over the API it goes by this name:
        </p>
        <p class="secret">
          <code>card:{slug}</code>
        </p>
        <p class="quiet small">The first card that you send with it saves a copy among your designs.</p>
      </Panel>
    </div>
  ),
});
