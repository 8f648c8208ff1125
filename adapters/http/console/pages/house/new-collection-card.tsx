import { saveFront, uploadFront } from '../../../../../application/organizations/fronts.js';
import { house } from '../../../../../domain/members.js';
import { collectionCards } from '../../../../../projections/catalogue.js';
import { slugAndTitle } from '../../../operator/catalogue.js';
import { parseValues } from '../../../schema/read.js';
import { Field, Form } from '../../../web/form.js';
import { Cover, Panel } from '../../../web/parts.js';
import { existing } from '../../admit.js';
import { loadFront, PictureField, uploading, WaitingFront } from '../../front-parts.js';
import { go, type KnownContext, page } from '../../page.js';

/** For a new card of the collection, and for another picture of one. */
export const newCollectionCardPage = page({
  path: 'newCollectionCard',
  may: 'catalogue.write',
  query: ['slug'],
  load: async ({ deps, query }) => {
    const slug = query('slug');
    return slug === '' ? null : existing(await deps.readModels.get(collectionCards, slug)).document;
  },
  title: (card) => card?.title ?? 'New card',
  heading: (card, { url }) => ({
    above: ['Catalogue', url('catalogue')],
    below: card?.title ?? 'New',
  }),
  view: (card) => (
    <div class="grid">
      <section class="panel" aria-label="A picture">
        <Form action="upload" hasFile button="Upload">
          <Field name="title" label="Title" value={card?.title ?? ''} />
          <Field name="slug" label="Slug" hint="As in card:thank-you-botanical." value={card?.slug ?? ''} />
          <PictureField />
        </Form>
      </section>
      {card === null ? null : (
        <Panel id="now" title="Now">
          <Cover title={card.title} artwork={card.artwork} size="preview" />
          <p class="quiet">Copies of organizations keep their picture, and so do cards that were sent.</p>
        </Panel>
      )}
    </div>
  ),
  actions: {
    upload: uploading(async ({ deps, url }: KnownContext, sent, file) => {
      const { slug, title } = parseValues(slugAndTitle, { slug: sent('slug'), title: sent('title') });
      return url('newCollectionFront', { picture: await uploadFront(deps, house, title, file, slug) });
    }),
  },
});

export const newCollectionFrontPage = page({
  path: 'newCollectionFront',
  may: 'catalogue.write',
  load: (context) => loadFront(context, house),
  title: ({ name }) => name,
  heading: (_, { url }) => ({ above: ['Catalogue', url('catalogue')] }),
  view: ({ fronts }) => <WaitingFront fronts={fronts} save="Publish the card" />,
  actions: {
    save: async ({ deps, by, params, url }, sent) => {
      await saveFront(deps, by, house, params['picture'] ?? '', sent('fit'));
      return go(url('catalogue', {}, { done: 'catalogueChanged' }));
    },
  },
});
