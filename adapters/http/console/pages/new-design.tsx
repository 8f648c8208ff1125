import {
  findFront,
  maxPictureBytes,
  saveFront,
  uploadFront,
  type UploadedFront,
} from '../../../../application/organizations/fronts.js';
import { bleed, card, count, fits, master, printFault, type Fit } from '../../../../domain/artwork.js';
import { DomainError } from '../../../../domain/errors.js';
import { newDesign } from '../../operator/customers.js';
import { parseValues } from '../../schema/read.js';
import { Field, FileField, Form, Group, Refusal } from '../../web/form.js';
import { PageHeading } from '../../web/parts.js';
import { paths } from '../../web/paths.js';
import { pathOfPicture } from '../../web/pictures.js';
import { nothingHere } from '../admit.js';
import { newForm } from '../answer.js';
import { go, page, type OrgContext } from '../page.js';

const Crumbs = ({ url, org, to }: Pick<OrgContext, 'url' | 'org'> & { readonly to: string }) => (
  <p class="crumbs">
    <a href={url(paths.designs, { org })}>Designs</a> › {to}
  </p>
);

export const newDesignPage = page({
  path: paths.newDesign,
  may: 'designs.write',
  load: (context) => Promise.resolve(newForm(context)),
  title: () => 'New design',
  view: (form, { url, org }, refused) => (
    <>
      <Crumbs url={url} org={org} to="New" />
      <PageHeading title="New design" />
      <Refusal refused={refused} />
      <section class="panel" aria-label="A picture">
        <Form action="upload" id={form} hasFile>
          <Field
            name="name"
            label="Name"
            hint="It becomes the default: the design of cards that name none."
            value={refused?.sent('name') ?? ''}
          />
          <FileField
            name="file"
            label="Picture"
            accept="image/png,image/jpeg,image/webp"
            hint={`PNG, JPEG or WebP, ${maxPictureBytes / 1_000_000} MB at most, upright. ${count(master.width)} × ${count(master.height)} dots or more print well. Next you see it on the card; nothing is saved yet.`}
          />
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
      run: () => Promise.reject(new DomainError('invalid_body', 'Choose a picture.', 'file')),
      upload: async ({ deps, org, url }, sent, { file, fileName }) => {
        if (fileName === '') throw new DomainError('invalid_body', 'Choose a picture.', 'file');
        const { name } = parseValues(newDesign, { name: sent('name') });
        const picture = await uploadFront(deps, org, name, file);
        return go(url(paths.newFront, { org, picture }));
      },
    },
  },
});

const ways: Readonly<Record<Fit, string>> = {
  fill: 'It fills the card, and is cut at the edges.',
  fit: 'All of it is on the card, with a white border.',
};

/** The print master, with what is cut off shaded. */
const Printed = ({ picture, label }: { readonly picture: string; readonly label: string }) => {
  const { width, height } = master;
  const cut = `M${bleed} ${bleed}h${card.width}v${card.height}h-${card.width}z`;
  return (
    <svg class="cover" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <image href={picture} width={width} height={height} />
      <path
        d={`M0 0h${width}v${height}h-${width}z${cut}`}
        fill="#000"
        fill-opacity="0.45"
        fill-rule="evenodd"
      />
      <path d={cut} fill="none" stroke="#fff" stroke-width="6" stroke-dasharray="30 20" />
    </svg>
  );
};

const Way = ({
  fit,
  fronts,
  url,
}: { readonly fit: Fit } & Pick<UploadedFront, 'fronts'> & Pick<OrgContext, 'url'>) => {
  const [size] = fronts;
  const front = fronts.find((each) => each.fit === fit);
  const fault = size === undefined ? null : printFault(size, fit);
  return (
    <li class="panel">
      <label class="check">
        <input
          type="radio"
          name="fit"
          value={fit}
          checked={front !== undefined && front === size}
          disabled={front === undefined}
        />
        <span>{ways[fit]}</span>
      </label>
      {front === undefined ? null : (
        <Printed picture={url(pathOfPicture(front, 'master'))} label={ways[fit]} />
      )}
      {fault === null ? null : <p class="alert">{fault.text}</p>}
    </li>
  );
};

export const newFrontPage = page({
  path: paths.newFront,
  may: 'designs.write',
  load: async (context) => {
    const found = await findFront(context.deps, context.org, context.params['picture'] ?? '');
    if (found === null) throw nothingHere();
    return { ...found, form: newForm(context) };
  },
  title: ({ name }) => name,
  view: ({ name, fronts, form }, { url, org }, refused) => (
    <>
      <Crumbs url={url} org={org} to={name} />
      <PageHeading title={name} />
      <Refusal refused={refused} />
      <Form action="save" id={form}>
        <Group name="fit" legend="The front, as it will be printed" hint="What is dark is cut off.">
          <ul class="covers">
            {fits.map((fit) => (
              <Way fit={fit} fronts={fronts} url={url} />
            ))}
          </ul>
        </Group>
        <button type="submit">Save the design</button>
      </Form>
      <p class="quiet">The picture is kept for 30 minutes unless you save it.</p>
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
