import { saveFront, uploadFront } from '../../../../application/organizations/fronts.js';
import { newDesign } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Field, Form } from '../../web/form.js';
import { loadFront, PictureField, uploading, WaitingFront } from '../front-parts.js';
import { go, type OrgContext, page } from '../page.js';

export const newDesignPage = page({
  path: 'newDesign',
  may: 'designs.write',
  load: () => Promise.resolve(),
  title: () => 'New design',
  heading: (_, { url }) => ({ above: ['Designs', url('designs')], below: 'New' }),
  view: () => (
    <section class="panel" aria-label="A picture">
      <Form action="upload" hasFile button="Upload">
        <Field name="name" label="Name" hint="It becomes the default: the design of cards that name none." />
        <PictureField />
      </Form>
    </section>
  ),
  actions: {
    upload: uploading(async ({ deps, org, url }: OrgContext, sent, file) => {
      const { name } = parseValues(newDesign, { name: sent('name') });
      return url('newFront', { picture: await uploadFront(deps, org, name, file) });
    }),
  },
});

export const newFrontPage = page({
  path: 'newFront',
  may: 'designs.write',
  load: (context) => loadFront(context, context.org),
  title: ({ name }) => name,
  heading: (_, { url }) => ({ above: ['Designs', url('designs')] }),
  view: ({ fronts }) => <WaitingFront fronts={fronts} save="Save the design" />,
  actions: {
    save: async ({ deps, by, org, params, url }, sent) => {
      const isSaved = await saveFront(deps, by, org, params['picture'] ?? '', sent('fit'));
      return go(url('designs', {}, isSaved ? { done: 'designSaved' } : {}));
    },
  },
});
