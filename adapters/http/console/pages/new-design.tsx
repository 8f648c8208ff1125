import {
  findFront,
  pictureLimit,
  saveFront,
  uploadFront,
} from '../../../../application/organizations/fronts.js';
import { newDesign } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form } from '../../web/form.js';
import { PageHeading } from '../../web/parts.js';
import { paths } from '../../web/paths.js';
import { nothingHere } from '../admit.js';
import { noPicture, PictureField, WaitingFront } from '../front-parts.js';
import { go, page } from '../page.js';

export const newDesignPage = page({
  path: paths.newDesign,
  may: 'designs.write',
  load: () => Promise.resolve(),
  title: () => 'New design',
  view: (_, { url, org }) => (
    <>
      <PageHeading above={['Designs', url(paths.designs, { org })]} here="New" title="New design" />
      <section class="panel" aria-label="A picture">
        <Form action="upload" hasFile>
          <Field
            name="name"
            label="Name"
            hint="It becomes the default: the design of cards that name none."
          />
          <PictureField />
          <button type="submit">Upload</button>
        </Form>
      </section>
    </>
  ),
  actions: {
    upload: {
      may: 'designs.write',
      once: false,
      // Browsers send it with its file.
      run: () => Promise.reject(noPicture()),
      fileLimit: pictureLimit,
      upload: async ({ deps, org, url }, sent, { file, fileName }) => {
        if (fileName === '') throw noPicture();
        const { name } = parseValues(newDesign, { name: sent('name') });
        const picture = await uploadFront(deps, org, name, file);
        return go(url(paths.newFront, { org, picture }));
      },
    },
  },
});

export const newFrontPage = page({
  path: paths.newFront,
  may: 'designs.write',
  load: async (context) => {
    const found = await findFront(context.deps, context.org, context.params['picture'] ?? '');
    if (found === null) throw nothingHere();
    return found;
  },
  title: ({ name }) => name,
  view: ({ name, fronts }, { url, org }) => (
    <>
      <PageHeading above={['Designs', url(paths.designs, { org })]} title={name} />
      <WaitingFront fronts={fronts} save="Save the design" />
    </>
  ),
  actions: {
    save: {
      may: 'designs.write',
      run: async ({ deps, by, org, params, url }, sent) => {
        await saveFront(deps, by, org, params['picture'] ?? '', sent('fit'));
        return go(url(paths.designs, { org }, { done: 'designSaved' }));
      },
    },
  },
});
