import { findFront, pictureLimit, type UploadedFront } from '../../../application/organizations/fronts.js';
import { bleed, card, count, fits, master, printFault, type Fit } from '../../../domain/artwork.js';
import { DomainError } from '../../../domain/errors.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { FileField, Form, Group } from '../web/form.js';
import { pathOfPicture, type Url } from '../web/paths.js';
import { useVisit } from '../web/visit.js';
import type { Upload } from '../server/upload.js';
import { existing } from './admit.js';
import { go, type Action, type Context, type Sent } from './page.js';

const noPicture = (): DomainError => new DomainError('invalid_body', 'Choose a picture.', 'file');

/** The form with a new picture, which `keep` keeps until it is saved; it leads to the picture's page. */
export const uploading = <C extends Context>(
  keep: (context: C, sent: Sent, file: Upload['file']) => Promise<Url>,
): Action<C> => ({
  once: false,
  // Browsers send it with its file.
  run: () => Promise.reject(noPicture()),
  fileLimit: pictureLimit,
  upload: async (context, sent, { file, fileName }) => {
    if (fileName === '') throw noPicture();
    return go(await keep(context, sent, file));
  },
});

export const PictureField = () => (
  <FileField
    name="file"
    label="Picture"
    accept="image/png,image/jpeg,image/webp"
    hint={`PNG, JPEG or WebP, ${pictureLimit.bytes / 1_000_000} MB at most, upright. ${count(master.width)} × ${count(master.height)} dots or more print well. Next you see it on the card; nothing is saved yet.`}
  />
);

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

const Way = ({ fit, fronts }: { readonly fit: Fit } & Pick<UploadedFront, 'fronts'>) => {
  const { url } = useVisit();
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

/** The picture of the address, until it is saved. Throws `not_found`. */
export const loadFront = async (
  { deps, params }: Pick<Context, 'deps' | 'params'>,
  org: OrganizationId,
): Promise<UploadedFront> => existing(await findFront(deps, org, params['picture'] ?? ''));

/** A picture that was uploaded as it would be printed, in each way, to be saved by one button. */
export const WaitingFront = ({ fronts, save }: Pick<UploadedFront, 'fronts'> & { readonly save: string }) => (
  <>
    <Form action="save" button={save}>
      <Group name="fit" legend="The front, as it will be printed" hint="What is dark is cut off.">
        <ul class="covers">
          {fits.map((fit) => (
            <Way fit={fit} fronts={fronts} />
          ))}
        </ul>
      </Group>
    </Form>
    <p class="quiet">The picture is kept for 30 minutes unless you save it.</p>
  </>
);
