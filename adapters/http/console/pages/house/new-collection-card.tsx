import {
  findFront,
  pictureLimit,
  saveFront,
  uploadFront,
} from '../../../../../application/organizations/fronts.js';
import { house } from '../../../../../domain/members.js';
import { collectionCards } from '../../../../../projections/catalogue.js';
import { slugAndTitle } from '../../../operator/catalogue.js';
import { parseValues } from '../../../schema/read.js';
import { Cover } from '../../../web/cover.js';
import { Field, Form } from '../../../web/form.js';
import { PageHeading, Panel } from '../../../web/parts.js';
import { paths } from '../../../web/paths.js';
import { nothingHere } from '../../admit.js';
import { noPicture, PictureField, WaitingFront } from '../../front-parts.js';
import { go, page } from '../../page.js';

/** For a new card of the collection, and for another picture of one. */
export const newCollectionCardPage = page({
  path: paths.newCollectionCard,
  may: 'catalogue.write',
  query: ['slug'],
  load: async (context) => {
    const slug = context.query('slug');
    const row = slug === '' ? null : await context.deps.readModels.get(collectionCards, slug);
    if (slug !== '' && row === null) throw nothingHere();
    return row?.document ?? null;
  },
  title: (card) => card?.title ?? 'New card',
  view: (card, { url }) => (
    <>
      <PageHeading
        above={['Catalogue', url(paths.catalogue)]}
        here={card?.title ?? 'New'}
        title={card?.title ?? 'New card'}
      />
      <div class="grid">
        <section class="panel" aria-label="A picture">
          <Form action="upload" hasFile>
            <Field name="title" label="Title" value={card?.title ?? ''} />
            <Field name="slug" label="Slug" hint="As in card:thank-you-botanical." value={card?.slug ?? ''} />
            <PictureField />
            <button type="submit">Upload</button>
          </Form>
        </section>
        {card === null ? null : (
          <Panel id="now" title="Now">
            <Cover title={card.title} artwork={card.artwork} size="preview" />
            <p class="quiet">Copies of organizations keep their picture, and so do cards that were sent.</p>
          </Panel>
        )}
      </div>
    </>
  ),
  actions: {
    upload: {
      may: 'catalogue.write',
      once: false,
      // Browsers send it with its file.
      run: () => Promise.reject(noPicture()),
      fileLimit: pictureLimit,
      upload: async ({ deps, url }, sent, { file, fileName }) => {
        if (fileName === '') throw noPicture();
        const { slug, title } = parseValues(slugAndTitle, { slug: sent('slug'), title: sent('title') });
        const picture = await uploadFront(deps, house, title, file, slug);
        return go(url(paths.newCollectionFront, { picture }));
      },
    },
  },
});

export const newCollectionFrontPage = page({
  path: paths.newCollectionFront,
  may: 'catalogue.write',
  load: async (context) => {
    const found = await findFront(context.deps, house, context.params['picture'] ?? '');
    if (found === null) throw nothingHere();
    return found;
  },
  title: ({ name }) => name,
  view: ({ name, fronts }, { url }) => (
    <>
      <PageHeading above={['Catalogue', url(paths.catalogue)]} title={name} />
      <WaitingFront fronts={fronts} save="Publish the card" />
    </>
  ),
  actions: {
    save: {
      may: 'catalogue.write',
      run: async ({ deps, by, params, url }, sent) => {
        await saveFront(deps, by, house, params['picture'] ?? '', sent('fit'));
        return go(url(paths.catalogue, {}, { done: 'catalogueChanged' }));
      },
    },
  },
});
